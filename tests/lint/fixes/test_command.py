"""``check --fix``, ``--diff`` and ``--unsafe-fixes`` as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from rltel_lint.changes import Edit
from rltel_lint.findings import Place
from rltel_lint.fixes.edits import apply_edits

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Write = Callable[[Mapping[str, "str | bytes"]], Path]

CODE = (
    "from rl_telemetry.instrumentation import managed_span\r\n"
    "\r\n"
    'with managed_span("step", "rl.grpo.step"):  # caf\u00e9\r\n'
    "    ...\r\n"
)
FIXED = CODE.replace("managed_span", "umbrella_span")
PAGE = "| Span | Group |\n|---|---|\n| `rl.grpo.quux` | |\n| `rl.grpo.job` | *reserved* |\n"
ROW = "| `rl.grpo.step` | `step` |\n"
PROJECT = {
    "pyproject.toml": "",
    "train.py": b"\xef\xbb\xbf" + CODE.encode(),
    "docs/spans.md": PAGE,
}


def test_the_summary_says_what_can_be_fixed(write: Write, command: Run) -> None:
    write(PROJECT)
    done = command("check")
    assert done.returncode == 1
    assert (
        b"\n3 findings (2 fixable with --fix, 1 more with --unsafe-fixes) in 2 files" in done.stdout
    )
    assert b"(1 fixable with --fix) in" in command("--select", "RLT402").stdout
    assert b"(1 fixable with --fix --unsafe-fixes) in" in command("--select", "RLT102").stdout
    assert b"fixable" not in command("--select", "RLT404").stdout


def test_fix_writes_the_safe_fixes_and_reports_the_rest(
    write: Write, command: Run, program: Run
) -> None:
    root = write(PROJECT)
    (root / "train.py").chmod(0o755)
    done = program("check", "--fix")
    assert done.returncode == 1
    assert done.stdout.count(b"RLT102") == done.stdout.count(b"RLT") == 1
    assert b"rltel-lint: fixed 2 findings in 2 files" in done.stderr
    assert (root / "train.py").read_bytes() == b"\xef\xbb\xbf" + FIXED.encode()
    assert (root / "train.py").stat().st_mode & 0o777 == 0o755
    page = (root / "docs/spans.md").read_text()
    assert page == PAGE + ROW or ROW in page
    last = command("check", "--fix", "--unsafe-fixes")
    assert (last.returncode, last.stdout[:11]) == (0, b"no findings")
    assert (root / "docs/spans.md").read_text() == page.replace("| `rl.grpo.quux` | |\n", "")


def test_diff_writes_nothing_and_git_can_apply_it(
    write: Write, command: Run, git: Callable[..., str]
) -> None:
    root = write(PROJECT)
    git("init", "-q")
    before = {path: (root / path).read_bytes() for path in PROJECT}
    done = command("check", "--diff")
    assert done.returncode == 1
    assert done.stdout.startswith(b"--- a/docs/spans.md\n+++ b/docs/spans.md\n")
    assert b"would fix 2 findings in 2 files" in done.stderr
    assert {path: (root / path).read_bytes() for path in PROJECT} == before
    patch = root.parent / "fix.patch"
    patch.write_bytes(done.stdout)
    git("apply", str(patch))
    applied = (root / "train.py").read_bytes()
    (root / "train.py").write_bytes(before["train.py"])
    (root / "docs/spans.md").write_bytes(before["docs/spans.md"])
    command("check", "--fix")
    assert (root / "train.py").read_bytes() == applied
    assert command("check", "--diff").stdout == b""
    assert command("check", "--diff").returncode == 0


def test_paths_restrict_what_is_fixed(write: Write, command: Run) -> None:
    root = write(PROJECT)
    command("check", "--fix", "--unsafe-fixes", "docs")
    assert (root / "train.py").read_bytes() == PROJECT["train.py"]
    assert "quux" not in (root / "docs/spans.md").read_text()


def test_a_suppressed_finding_is_not_fixed(write: Write, command: Run) -> None:
    code = CODE.replace("# caf\u00e9", "# noqa: RLT101, RLT402")
    root = write({**PROJECT, "train.py": code})
    assert command("check", "--fix").returncode == 1
    assert (root / "train.py").read_bytes() == code.encode()
    assert (root / "docs/spans.md").read_text() == PAGE


def test_guesses_alone_are_a_mistake(write: Write, command: Run) -> None:
    write(PROJECT)
    done = command("check", "--unsafe-fixes")
    assert done.returncode == 2
    assert b"--unsafe-fixes goes with --fix or --diff" in done.stderr


def test_json_tells_the_edits_and_the_kept_outcome_does_so_too(write: Write, command: Run) -> None:
    root = write(PROJECT)
    first = command("check", "--format", "json").stdout
    assert command("check", "--format", "json").stdout == first
    report = json.loads(first)
    by_code = {finding["code"]: finding["fix"] for finding in report["findings"]}
    assert by_code["RLT402"]["message"] == "call umbrella_span with RLSpanGroup.U_STEP" or (
        by_code["RLT402"]["message"] == "call umbrella_span"
    )
    assert by_code["RLT102"]["safe"] is False
    text = CODE
    edits = [
        Edit(
            Place(*(one[key] for key in ("path", "line", "column", "end_line", "end_column"))),
            one["text"],
        )
        for one in by_code["RLT402"]["edits"]
    ]
    assert all(edit.place.path == "train.py" for edit in edits)
    changed = apply_edits(text, edits)
    assert 'with umbrella_span("step"' in changed
    assert "import managed_span, umbrella_span\r\n" in changed
    assert (root / "docs/spans.md").read_text() == PAGE


def test_a_fix_that_would_do_harm_is_named(write: Write, command: Run) -> None:
    guarded = CODE.replace("from rl", "try:\r\n    from rl").replace(
        "\r\n\r\n", "\r\nexcept ImportError:\r\n    from old import managed_span\r\n\r\n"
    )
    root = write({"pyproject.toml": "", "train.py": guarded})
    done = command("check", "--fix", "--select", "RLT402")
    assert done.returncode == 1
    assert b"train.py:6: the fix of RLT402 was left out: managed_span is imported in" in done.stderr
    assert (root / "train.py").read_bytes() == guarded.encode()


def test_a_link_is_written_through(write: Write, command: Run) -> None:
    root = write({**PROJECT, "real/train.py": CODE})
    (root / "train.py").unlink()
    os.symlink("real/train.py", root / "train.py")
    command("check", "--fix", "--select", "RLT402")
    assert (root / "train.py").is_symlink()
    assert (root / "real/train.py").read_bytes() == FIXED.encode()
