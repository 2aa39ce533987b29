"""The examples of the guides run as they stand, each page from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.runtime.recording import Recording

GUIDES = Path(__file__).parents[2] / "docs" / "runtime"


def run_page(name: str) -> None:
    text = (GUIDES / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    scope = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, name, "exec"), scope)


@pytest.mark.usefixtures("own_registry")
def test_instrument_a_loop(recording: Recording, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("instrument.md")
    names = [span["name"] for span in recording.spans()]
    assert names[:2] == ["rl.setup.tokenizer", "rl.startup"]
    assert recording.named("rl.grpo.job")["parent_id"] is None
    assert names.count("rl.grpo.step") == 2
    buckets = [
        span["attributes"]["rl.bucket"]
        for span in recording.spans()
        if span["name"] == "rl.grpo.generation"
    ]
    assert buckets == ["productive", "productive", "overhead", "overhead"]
    assert "'op': 'put'" in capsys.readouterr().out


@pytest.mark.usefixtures("ray_cluster")
def test_keep_one_trace_across_ray(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ray.init", lambda: None)  # the cluster is up
    run_page("ray.md")
    assert capsys.readouterr().out.splitlines() == ["2", "[0, 1, 2]"]
    step = recording.named("rl.grpo.step")["span_id"]
    spans = [span for span in recording.spans() if span["name"] == "rl.grpo.generation"]
    assert [span["parent_id"] for span in spans][:3] == [step] * 3
    assert recording.warnings() == []
