"""The page, as a browser shows it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.report import browser
from tests.report.otlp_files import line, report, small_run, span, step_spans

EVIL = (
    "\"'></title></text></style><script>document.title='owned'</script><img src=//evil.example/x>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_run(tmp_path / "run")


def page_of(folder: Path, *options: str) -> Path:
    page = folder / "page.html"
    result = report(folder, "--html", page, *options)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"page: {page}\n" in result.stdout
    return page


class Elements(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def foreign(text: str) -> list[str]:
    """Return what of a page runs or loads something."""
    found = [
        tag
        for tag, attributes in Elements(text).found
        if tag in {"script", "img", "link", "iframe", "object", "embed", "base", "form", "a"}
        or any(name in {"src", "href", "style"} or name.startswith("on") for name in attributes)
    ]
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    return found + re.findall(r"@import|url\(|expression", "".join(styles))


def drawn_steps(text: str) -> list[str]:
    return re.findall(r"<title>step (\S+): ", text)


def test_the_page_shows_every_step_lane_and_cause(folder: Path) -> None:
    text = browser.dom(page_of(folder))
    assert "<title>Where the time went</title>" in text
    assert drawn_steps(text) == ["0", "1", "2"]
    assert "<h1>Run 7</h1>" in text
    assert "<h2>Step 2</h2>" in text  # of 0.1, 0.3 and 0.2 s the median
    assert "idle/refit_bubble  (driver)" in text
    assert "idle/refit_event_wait  (policy 1)" in text


def test_the_step_to_draw_can_be_chosen(folder: Path) -> None:
    text = page_of(folder, "--step", "1").read_text()
    assert "<h2>Step 1</h2>" in text
    lanes = re.findall(r'class="lane"[^>]*>([^<]*)<', text)
    assert lanes == ["driver", "policy 0", "policy 1"]
    assert text.count("<title>rl.policy.forward_backward\n") == 2
    assert "<title>rl.policy.forward_backward\n" not in page_of(folder, "--step", "0").read_text()


def test_only_what_happened_during_the_step_is_drawn(folder: Path) -> None:
    early = span("rl.early", 0, 50, 1, "overhead")  # of the step, and before it
    late = span("rl.late", 120, 130, 9)  # during it, and of another
    (folder / "more.jsonl").write_text(line(early) + line(late, group="collector"))
    text = page_of(folder, "--step", "1").read_text()
    assert "in the 0.300 s of the step" in text
    assert "<title>rl.early" not in text
    assert re.search(
        r'class="span b-none elsewhere"><title>rl.late\n.*\n10.0 ms, from \+20.0', text
    )


_LAYOUT = """
const box = e => {
  const r = e.getBoundingClientRect();
  return [r.left, r.right, r.top, r.bottom];
};
const all = selector => [...document.querySelectorAll(selector)];
const named = (g, text) => g.querySelector("title")?.textContent.startsWith(text);
return {
  wide: document.documentElement.scrollWidth, seen: document.documentElement.clientWidth,
  bars: all("svg g").filter(g => named(g, "step ")).map(box),
  lanes: all("svg .band").map(box), spans: all("svg .span > rect").map(box),
  labels: all("svg .span").filter(g => g.querySelector("text")).map(
    g => [box(g.querySelector("text"))[1], box(g.querySelector("rect"))[1]]),
  fill: getComputedStyle(document.querySelector("rect.b-idle")).fill,
  page: getComputedStyle(document.body).backgroundColor,
};
"""


def test_the_page_is_drawn_to_scale(folder: Path) -> None:
    layout: dict[str, Any] = browser.measured(page_of(folder, "--step", "1"), _LAYOUT)
    heights = [bottom - top for _, _, top, bottom in layout["bars"]]
    assert heights == pytest.approx([heights[1] / 3, heights[1], heights[1] * 2 / 3], rel=0.02)
    assert heights[1] > 150
    assert layout["wide"] <= layout["seen"]  # nothing sticks out
    assert all(text <= rect for text, rect in layout["labels"])
    left, right = layout["lanes"][0][:2]
    assert all(left <= s[0] < s[1] <= right for s in layout["spans"])
    assert layout["fill"] != "rgb(0, 0, 0)"  # the style sheet came along


def test_light_and_dark_are_different_pictures(folder: Path) -> None:
    page = page_of(folder)
    light = browser.screenshot(page)
    dark = browser.screenshot(page, "--blink-settings=preferredColorScheme=0")
    assert light.startswith(b"\x89PNG")
    assert min(len(light), len(dark)) > 20_000
    assert light != dark


def test_strings_of_data_stay_text(folder: Path) -> None:
    spans = [span(EVIL, 50, 90, 0, EVIL, f"idle/{EVIL}"), *step_spans(0, 0)]
    (folder / "evil.jsonl").write_text(
        line(*spans, run=EVIL) + line(*spans[:1], group=EVIL, run=EVIL)
    )
    page = folder / "page.html"
    assert report(folder, "--run", EVIL, "--html", page).returncode == 0
    assert foreign(page.read_text()) == []
    seen = browser.dom(page)
    assert foreign(seen) == []
    assert "<title>Where the time went</title>" in seen
    assert seen.count("&lt;script&gt;") > 5


def test_a_page_that_escapes_nothing_would_be_noticed(folder: Path) -> None:
    page = page_of(folder)
    text = page.read_text()
    assert foreign(text) == []
    assert foreign(text.replace("<h1>", f"<h1>{EVIL}")) == ["script", "img"]
    planted = '<style>@import "x";</style><p style="x" onclick="y"></p>'
    assert foreign(text.replace("<h1>", planted)) == ["p", "@import"]


def test_a_page_of_many_steps_and_spans_stays_small(tmp_path: Path) -> None:
    steps = [s for number in range(3000) for s in step_spans(number, number * 100)]
    (tmp_path / "driver.jsonl").write_text(line(*steps))
    many = [span("rl.x", 150_000 + n % 90, 150_001 + n % 90, 1500) for n in range(100)]
    for rank in range(60):
        (tmp_path / f"{rank}.jsonl").write_text(line(*many, group="generation", rank=rank))
    text = page_of(tmp_path, "--step", "1500").read_text()
    assert len(text) < 2_000_000
    assert "each bar is the mean of 19 steps" in text
    assert len(drawn_steps(text)) <= 160
    assert re.search(r"Too many to draw: [\d,]+ spans \(the shortest\) and 13 processes", text)


def test_without_a_browser_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(folder)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(AssertionError, match="no browser: install the package `chromium`"):
        browser.dom(page)
