"""The command as a user runs it: what it prints where, and how it exits."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from rltel_lint.cli import main
from rltel_lint.progress import progress

PROJECT = {
    "pyproject.toml": "",
    "pkg/a.py": "x = 1\ny = 'DRIFT'\n",
    "pkg/b.py": "z = 'DRIFT'  # noqa: RLT101\n",
    "pkg/clean.py": "",
    "README.md": "# Spans\n\nDRIFT\n",
    "tests/test_x.py": "DRIFT",
}
BROKEN = {"pyproject.toml": "", "pkg/a.py": b"\0", "pkg/b.py": "x = 1\n"}


@pytest.fixture
def run(analysis, capsys):
    def run_command(*arguments):
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_command


def _places(report):
    return re.findall(r"^(\S+): RLT", report, flags=re.MULTILINE)


def test_findings_are_sorted_and_suppressed_ones_are_gone(run, write):
    write(PROJECT)
    code, out, err = run()
    assert code == 1
    assert re.fullmatch(
        "README.md:3:1: RLT102 they disagree\n"
        "    named here: README.md:1\n"
        "pkg/a.py:2:6: RLT101 they disagree\n"
        "    named here: pkg/a.py:1\n"
        "\n"
        r"2 findings in 3 files, 1 span, no dispatches; \d+\.\d s" + "\n",
        out,
    )
    assert err == ""


def test_a_clean_project_exits_with_0(run, write):
    write({"pkg/a.py": "x = 1\n"})
    code, out, err = run()
    assert code == 0
    assert out.startswith("no findings in 1 file, ")
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "places"),
    [
        ([], ["README.md:3:1", "pkg/a.py:2:6"]),
        (["check"], ["README.md:3:1", "pkg/a.py:2:6"]),
        (["pkg"], ["pkg/a.py:2:6"]),
        (["check", "pkg/"], ["pkg/a.py:2:6"]),
        (["check", "./pkg/../pkg/a.py"], ["pkg/a.py:2:6"]),
        (["pkg/a.py", "README.md"], ["README.md:3:1", "pkg/a.py:2:6"]),
        (["pkg/clean.py"], []),
        (["."], ["README.md:3:1", "pkg/a.py:2:6"]),
        (["--select", "RLT101"], ["pkg/a.py:2:6"]),
        (["--select", "RLT101,RLT102"], ["README.md:3:1", "pkg/a.py:2:6"]),
        (["--select", "RLT2"], []),
        (["--ignore", "RLT101"], ["README.md:3:1"]),
        (["--ignore", "RLT101", "--ignore", "rlt102"], []),
        (["--select", "RLT2", "--extend-select", "RLT102"], ["README.md:3:1"]),
    ],
)
def test_paths_and_codes_restrict_what_is_shown(run, write, arguments, places):
    write(PROJECT)
    code, out, _ = run(*arguments)
    assert _places(out) == places
    assert code == (1 if places else 0)


def test_a_folder_is_not_taken_for_one_whose_name_begins_alike(run, write):
    write({**PROJECT, "pkg_two/a.py": "DRIFT", "pkg.py": "DRIFT"})
    assert _places(run("pkg")[1]) == ["pkg/a.py:2:6"]


def test_the_project_is_found_from_a_folder_below(run, write, monkeypatch):
    root = write(PROJECT)
    monkeypatch.chdir(root / "pkg")
    assert _places(run()[1]) == ["README.md:3:1", "pkg/a.py:2:6"]
    assert _places(run("a.py")[1]) == ["pkg/a.py:2:6"]


def test_the_project_can_be_named(run, write, monkeypatch, tmp_path):
    root = write(PROJECT)
    monkeypatch.chdir(tmp_path)
    assert _places(run("--root", str(root))[1]) == ["README.md:3:1", "pkg/a.py:2:6"]
    assert _places(run("--root", "project/pkg")[1]) == ["a.py:2:6"]
    assert run("project/pkg")[0] == 1, "no project marker up here: the current folder is the root"


def test_a_path_that_is_not_checked_is_said(run, write):
    write(PROJECT)
    code, out, err = run("tests/test_x.py")
    assert (code, _places(out)) == (0, [])
    assert (
        err == "rltel-lint: note: tests/test_x.py holds no file of this check; it may be excluded\n"
    )


def test_a_project_without_python_files_is_said(run, write):
    write({"README.md": ""})
    code, _, err = run()
    assert code == 0
    assert err.startswith("rltel-lint: note: no Python file to check in ")


def test_the_configuration_is_used(run, write):
    table = '[tool.rltel-lint]\nignore = ["RLT102"]\nper-file-ignores = {"pkg/a.py" = ["RLT1"]}\n'
    write({**PROJECT, "pyproject.toml": table, "other.toml": "[tool.rltel-lint]\n"})
    assert run()[0] == 0
    assert _places(run("--config", "other.toml")[1]) == ["README.md:3:1", "pkg/a.py:2:6"]


def test_an_unreadable_file_is_reported_whatever_is_selected(run, write):
    write(BROKEN)
    code, out, _ = run("--select", "RLT2")
    assert code == 1
    assert out.startswith("pkg/a.py:1:1: RLT000 file contains a NUL character;")
    assert run("--ignore", "RLT000")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--selct", "RLT1"], "No such option '--selct'"),
        (["--format", "xml"], "'xml' is not one of 'text', 'json'"),
        (["--select", "RLT9"], "--select: unknown code 'RLT9'"),
        (["--ignore", "E501"], "--ignore: unknown code 'E501'"),
        (["--root", "nowhere"], "--root nowhere is not a folder"),
        (["--config", "none.toml"], "none.toml: cannot be read"),
        (["nowhere.py"], "no such file, folder or command: nowhere.py"),
        ([".."], "is outside the project"),
        (["explain"], "Missing argument 'CODE'"),
        (["explain", "RLT109"], "no rule 'RLT109'; did you mean RLT1"),
        (["explain", "undocumented-spam"], "did you mean undocumented-span?"),
        (["rules", "--format", "xml"], "is not one of"),
    ],
)
def test_wrong_usage_is_one_line_and_exits_with_2(run, write, arguments, said):
    write(PROJECT)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("rltel-lint: error: ")
    assert said in err
    assert err.count("\n") == 1


def test_a_wrong_configuration_exits_with_2(run, write):
    write({**PROJECT, "pyproject.toml": "[tool.rltel-lint]\nselct = []\n"})
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err == (
        "rltel-lint: error: pyproject.toml: [tool.rltel-lint] "
        'unknown key "selct"; did you mean "select"?\n'
    )


def test_a_defect_of_the_tool_is_one_line_that_asks_for_a_report(run, write, monkeypatch):
    write({"pkg/a.py": "CRASH"})
    monkeypatch.delenv("RLTEL_LINT_DEBUG", raising=False)
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err.startswith("rltel-lint: internal error: KeyError: 'planted'; please report it")
    assert err.count("\n") == 1
    monkeypatch.setenv("RLTEL_LINT_DEBUG", "1")
    with pytest.raises(KeyError, match="planted"):
        run()


def test_an_interrupt_is_quiet(run, write, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    write(PROJECT)
    monkeypatch.setattr(sys.modules["rltel_lint.engine"], "analyse", interrupt)
    code, out, err = run()
    assert (code, out, err.strip()) == (130, "", "")


def test_a_missing_extra_is_said(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delitem(sys.modules, "rltel_lint.commands", raising=False)
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err == "rltel-lint: error: click is missing; pip install 'rl-telemetry[lint]'\n"


def test_json_is_the_only_thing_on_stdout(run, write):
    write({**PROJECT, **BROKEN})
    code, out, _ = run("--format", "json", "tests", "pkg")
    report = json.loads(out)
    assert code == 1
    assert [(one["path"], one["code"]) for one in report["findings"]] == [("pkg/a.py", "RLT000")]
    assert report["summary"]["inspected"] == {"file": 2, "span": 1, "dispatch": 0}


def test_statistics(run, write):
    write(PROJECT)
    assert (
        "\n\n1  RLT101  undocumented-span\n1  RLT102  stale-row\n\n2 find" in run("--statistics")[1]
    )


@pytest.mark.parametrize("wanted", ["RLT101", "rlt101", "undocumented-span"])
def test_explain(run, wanted):
    assert run("explain", wanted) == (0, "# RLT101 undocumented-span\n\nBad and good.\n", "")


def test_rules(run):
    code, out, _ = run("rules")
    assert code == 0
    assert "  RLT105  unresolved-name    opt-in   span emitted, not documented\n" in out
    listed = json.loads(run("rules", "--format", "json")[1])["rules"]
    assert [one["code"] for one in listed] == ["RLT101", "RLT102", "RLT105", "RLT201"]
    assert listed[2] == {
        "code": "RLT105",
        "name": "unresolved-name",
        "summary": "span emitted, not documented",
        "default": False,
    }


def test_inventory(run, write):
    write(BROKEN)
    code, out, err = run("inventory")
    assert (code, out) == (0, "spans (1)\n  name    opened at\n  rl.job  pkg/a.py:1\n")
    assert err.startswith("rltel-lint: note: pkg/a.py:1: file contains a NUL character")
    out = run("inventory", "--format", "json")[1]
    assert json.loads(out) == {"version": 1, "inventory": {"spans": [{"name": "rl.job"}]}}


@pytest.mark.parametrize(
    ("wanted", "coloured"), [("auto", False), ("always", True), ("never", False)]
)
def test_colour_in_a_pipe(run, write, monkeypatch, wanted, coloured):
    write(PROJECT)
    monkeypatch.setenv("NO_COLOR", "1" if coloured else "")
    assert ("\x1b[" in run("--color", wanted)[1]) is coloured


# The command as a process of its own, with the real analysis. A file that cannot be read is
# a finding that needs no rule.


def test_as_a_process(write, command):
    write(BROKEN)
    done = command()
    assert done.returncode == 1
    assert done.stdout.startswith(b"pkg/a.py:1:1: RLT000 file contains a NUL character;")
    assert re.search(rb"\n1 finding in .*; \d+\.\d s\n\Z", done.stdout)
    assert done.stderr == b""


def test_a_clean_process(write, command):
    write({"pkg/b.py": "x = 1\n"})
    done = command("check")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\nno findings in 1 file, no spans" in done.stdout
    assert done.stdout.startswith(b"no span was recognised")


def test_an_empty_project(write, command):
    write({})
    done = command()
    assert done.returncode == 0
    assert done.stderr.startswith(b"rltel-lint: note: no Python file to check in ")


def test_version_and_help_need_no_parser(command):
    done = command("--version", PYTHONPROFILEIMPORTTIME="1")
    assert re.match(rb"rltel-lint \d+\.\d+", done.stdout)
    for heavy in (b"libcst", b"markdown_it", b"docutils", b"pathspec"):
        assert heavy not in done.stderr
    assert b"click" in done.stderr, "the imports were listed"
    assert command("--help").stdout.startswith(b"Usage: rltel-lint ")


def test_output_survives_an_ascii_pipe(write, command):
    write({"pkg/caf\xe9.py": b"\0"})
    done = command(PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 1
    assert done.stdout.startswith(b"pkg/caf\\xe9.py:1:1: RLT000 ")
    assert done.stderr == b""


def test_a_file_name_that_is_no_text_survives(write, command):
    root = write({"pyproject.toml": ""})
    with open(os.fsencode(root) + b"/caf\xe9.py", "wb") as file:
        file.write(b"\0")
    done = command(PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"caf\\udce9.py:1:1: RLT000 ")


def _piped(shell_command):
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {shell_command}"],
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.usefixtures("environment")
def test_a_reader_that_leaves_early_sees_no_traceback(write, style):
    write({f"pkg/file_{number}_{'x' * 60}.py": b"\0" for number in range(2000)})
    done = _piped(f'"$PYTHON" -m rltel_lint --format {style} | head -1')
    assert done.returncode == 1
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


@pytest.mark.usefixtures("environment")
def test_a_reader_that_has_left_before_is_no_error(write):
    write(BROKEN)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "rltel_lint"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.usefixtures("environment")
def test_a_full_disk_is_said(write):
    write(BROKEN)
    done = _piped('"$PYTHON" -m rltel_lint > /dev/full')
    assert done.returncode == 2
    assert done.stderr == (b"rltel-lint: error: cannot write the report: No space left on device\n")


@pytest.mark.usefixtures("environment")
def test_without_any_output_the_exit_code_still_tells(write):
    write(BROKEN)
    assert _piped('"$PYTHON" -m rltel_lint >&- 2>&-').returncode == 1


def _on_terminal(code, *, interrupt_at=None, variables=None):
    """Runs Python code on a pseudo-terminal; returns its output and exit code."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", **(variables or {})},
    )
    os.close(follower)
    output = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                chunk = os.read(leader, 4096)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            output += chunk
        if interrupt_at is not None and interrupt_at in output:
            process.send_signal(signal.SIGINT)
            interrupt_at = None
    os.close(leader)
    return output, process.wait(timeout=30)


COMMAND = "import sys; from rltel_lint.cli import main; sys.exit(main([]))"


@pytest.mark.usefixtures("environment")
def test_colour_on_a_terminal(write):
    write(BROKEN)
    output, code = _on_terminal(COMMAND, variables={"NO_COLOR": ""})
    assert code == 1
    assert COLOUR.search(output)
    output, code = _on_terminal(COMMAND, variables={"NO_COLOR": "1"})
    assert code == 1
    assert b"RLT000" in output
    assert not COLOUR.search(output)


COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
WAITING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from rltel_lint import cli, progress
def run(arguments):
    with progress.progress("reading 3 files ...", patience=0.01):
        signal.pause()
cli._run = run
sys.exit(cli.main([]))
"""


@pytest.mark.usefixtures("environment")
def test_a_waiting_person_sees_progress_and_can_interrupt():
    output, code = _on_terminal(WAITING, interrupt_at=b"reading 3 files ...")
    assert code == 130
    assert output == b"reading 3 files ...\r\x1b[K"


def test_progress_is_silent_in_a_log(capsys):
    with progress("reading", patience=0):
        pass
    assert capsys.readouterr().err == ""
