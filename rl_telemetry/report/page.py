"""The report as one page of HTML: no scripts, and nothing loaded from anywhere."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from rl_telemetry.report import charts
from rl_telemetry.report.goodput import BUCKETS, Driver, Run, Step, rows
from rl_telemetry.report.markup import add
from rl_telemetry.report.terminal import shown_buckets
from rl_telemetry.report.text import counted, seconds, share
from rl_telemetry.report.waterfall import Waterfall

MAX_TABLE_ROWS: Final = 1000
#: Even if something slipped through the escaping, a browser would neither run nor load it.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass
class Section:
    """A run on the page.

    Attributes:
        run: The run.
        driver: Its driver.
        waterfall: The step to draw.
    """

    run: Run
    driver: Driver
    waterfall: Waterfall


def page(sections: Sequence[Section]) -> str:
    """Return the page.

    Args:
        sections: One for each driver.

    Returns:
        HTML.
    """
    html = ET.Element("html", {"lang": "en"})
    head = add(html, "head")
    ET.SubElement(head, "meta", {"charset": "utf-8"})
    ET.SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": _POLICY})
    ET.SubElement(
        head, "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}
    )
    add(head, "title", "Where the time went")
    add(head, "style", resources.files(__package__).joinpath("page.css").read_text("utf-8"))
    main = add(add(html, "body"), "main")
    for section in sections:
        _section(main, section)
    text = ET.tostring(html, encoding="unicode", method="html")
    return f"<!doctype html>\n{text}\n"


def _section(main: ET.Element, section: Section) -> None:
    run, driver = section.run, section.driver
    header = add(main, "header")
    add(header, "h1", f"Run {run.id}" if run.id else "A run without nemo.run.id")
    processes = f"{len(run.processes)} process" + ("es" if len(run.processes) != 1 else "")
    add(
        header,
        "p",
        f"{counted(len(driver.steps), 'step')} of driver {driver.process.label} · "
        f"{counted(run.spans, 'span')} of {processes}",
        class_="quiet",
    )
    _tiles(main, driver)
    _goodput(main, driver)
    _waterfall(main, section.waterfall, driver)
    _waits(main, run, driver)


def _tiles(main: ET.Element, driver: Driver) -> None:
    total = driver.total()
    tiles = add(main, "dl", class_="tiles")
    parts = [(BUCKETS[n], BUCKETS[n], total.buckets[n]) for n in shown_buckets(driver)]
    parts.append((charts.NO_BUCKET, "in no bucket", total.unbucketed))
    for kind, name, value in parts:
        tile = add(tiles, "div", class_=f"tile t-{kind}")
        add(tile, "dt", name)
        add(tile, "dd", share(value, total.wall))
        add(tile, "dd", f"{seconds(value)} of {seconds(total.wall)} s", class_="quiet")


def _goodput(main: ET.Element, driver: Driver) -> None:
    box = add(main, "section")
    add(box, "h2", "Goodput per step")
    add(
        box,
        "p",
        "Seconds of the driver by bucket; a bar is as high as the step was long. "
        "Point at a bar for its numbers.",
        class_="quiet",
    )
    charts.stacked_bars(add(box, "div", class_="drawing"), driver)
    if not all(step.is_whole for step in driver.steps.values()):
        add(box, "p", "* No end of the step was seen.", class_="quiet")
    details = add(box, "details")
    add(details, "summary", "The numbers")
    _table(add(details, "div", class_="drawing"), driver)


def _table(parent: ET.Element, driver: Driver) -> None:
    shown = shown_buckets(driver)
    table = add(parent, "table")
    header = add(add(table, "thead"), "tr")
    for name in ("step", "wall, s", *(BUCKETS[n] for n in shown), "in no bucket", "goodput"):
        add(header, "th", name)
    body = add(table, "tbody")

    def row(label: str, step: Step) -> None:
        line = add(body, "tr")
        add(line, "th", label)
        for value in (step.wall, *(step.buckets[n] for n in shown), step.unbucketed):
            add(line, "td", seconds(value))
        add(line, "td", share(step.buckets[0], step.wall))

    for item in rows(driver.steps, MAX_TABLE_ROWS):
        row(item.label, item.step)
    row("all", driver.total())


def _waterfall(main: ET.Element, waterfall: Waterfall, driver: Driver) -> None:
    box = add(main, "section")
    add(box, "h2", f"Step {waterfall.step}")
    add(
        box,
        "p",
        f"What each process did in the {seconds(waterfall.end - waterfall.start)} s of the step. "
        "Pale spans belong to another step or to none. Point at a span for more; --step N draws "
        f"another of the {len(driver.steps):,}.",
        class_="quiet",
    )
    left_out = []
    if waterfall.left_out:
        left_out.append(counted(waterfall.left_out, "span") + " (the shortest)")
    if waterfall.lanes_left_out:
        left_out.append(f"{waterfall.lanes_left_out:,} processes")
    if left_out:
        add(box, "p", f"Too many to draw: {' and '.join(left_out)}.", class_="quiet")
    if waterfall.lanes:
        _legend(box, shown_buckets(driver))
        charts.lanes(add(box, "div", class_="drawing"), waterfall)
    else:
        add(box, "p", "No spans overlap it.")


def _legend(parent: ET.Element, shown: list[int]) -> None:
    legend = add(parent, "p", class_="legend")
    for kind in (*(BUCKETS[n] for n in shown), charts.NO_BUCKET):
        add(
            legend, "span", "in no bucket" if kind == charts.NO_BUCKET else kind, class_=f"k-{kind}"
        )


def _waits(main: ET.Element, run: Run, driver: Driver) -> None:
    box = add(main, "section")
    add(box, "h2", "Idle time by cause")
    if not run.ranked_waits(driver):
        add(box, "p", "No span is a wait: none is idle, none has a category idle/….")
        return
    add(
        box,
        "p",
        "Waits of workers are pale: they overlap the driver's time, and each other on threads.",
        class_="quiet",
    )
    charts.ranked_waits(add(box, "div", class_="drawing"), run, driver)
