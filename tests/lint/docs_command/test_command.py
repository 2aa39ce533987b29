"""``docs`` and ``init`` as a user runs them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.lint.docs_command.support import CODE

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Write = Callable[[Mapping[str, "str | bytes"]], Path]

PAGE = "docs/observability/spans.md"


def test_from_nothing_to_documents_that_drift_and_are_written_again(
    write: Write, command: Run, program: Run
) -> None:
    root = write({"pyproject.toml": "", "train.py": CODE})
    done = program("init")
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == [
        "the defaults fit this project; no configuration is needed",
        f"wrote {PAGE}",
    ]
    assert (root / "pyproject.toml").read_text() == ""
    assert command("check").returncode == 0
    page = (root / PAGE).read_text()
    described = page.replace("`productive` | |", "`productive` | scores |", 1)
    (root / PAGE).write_bytes(b"\xef\xbb\xbf" + described.replace("\n", "\r\n").encode())
    (root / PAGE).chmod(0o640)

    done = command("docs", "--check")
    assert (done.returncode, done.stdout) == (0, b"3 tables up to date\n")
    (root / "train.py").write_text(CODE.replace("rl.grpo.step", "rl.ppo.turn"))
    done = program("docs", "--check")
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        f'{PAGE}:8: the table of spans is stale: "rl.ppo.turn" missing; '
        '"rl.grpo.step" not in the code',
        '1 table of 3 stale; run "rltel-lint docs --write"',
    ]
    done = program("docs", "--write")
    assert (done.returncode, done.stdout.count(b"wrote the table of spans")) == (0, 1)
    data = (root / PAGE).read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# Spans\r\n")
    assert b"\n" not in data.replace(b"\r\n", b"")
    assert b"| `productive` | scores |\r\n| `rl.ppo.turn`" in data
    assert (root / PAGE).stat().st_mode & 0o777 == 0o640
    assert command("docs", "--write").stdout == b"3 tables up to date\n"
    assert (root / PAGE).read_bytes() == data


def test_init_overwrites_nothing(write: Write, command: Run) -> None:
    files = {"pyproject.toml": "", "train.py": CODE, PAGE: "mine\n"}
    root = write(files)
    assert f"{PAGE} is there already; left as it is" in command("init").stdout.decode()
    assert {path: (root / path).read_text() for path in files} == files
    marked = "<!-- rltel: begin spans -->\n<!-- rltel: end -->\n"
    (root / PAGE).unlink()
    (root / "docs/other.md").write_text(marked)
    assert b"docs/other.md has generated tables already" in command("init").stdout
    assert not (root / PAGE).exists()


@pytest.mark.parametrize("existing", [None, '[project]\nname = "x"'])
def test_init_configures_what_the_defaults_do_not_fit(
    write: Write, command: Run, existing: str | None
) -> None:
    code = (
        "from nemo.lens.instrumentation import managed_span\n\n"
        'with managed_span("step", "app.step"):\n    ...\n'
    )
    root = write({"train.py": code, **({"pyproject.toml": existing} if existing else {})})
    done = command("init")
    table = '[tool.rltel-lint]\nprofile = "nemo_lens"\nnamespace = "app."\n'
    said = "added [tool.rltel-lint] to" if existing else "wrote pyproject.toml with"
    assert said in done.stdout.decode()
    expected = f"{existing}\n\n{table}" if existing else table
    assert (root / "pyproject.toml").read_text() == expected
    assert "| `app.step` | `step` | | |" in (root / PAGE).read_text()
    assert command("docs", "--check").returncode == 0
    assert command("check").returncode == 0
    again = command("init").stdout.decode()
    assert "pyproject.toml has its [tool.rltel-lint] table; left as it is" in again
    assert (root / "pyproject.toml").read_text() == expected


def test_without_spans_there_is_nothing_to_write(write: Write, command: Run) -> None:
    root = write({"pyproject.toml": "", "train.py": "STEPS = 3\n"})
    done = command("init")
    assert (done.returncode, b"no span was found" in done.stdout) == (0, True)
    assert not (root / "docs").exists()
    assert (root / "pyproject.toml").read_text() == ""


def test_a_folder_that_cannot_be_made_is_a_clear_error(write: Write, command: Run) -> None:
    write({"pyproject.toml": "", "train.py": CODE, "docs": "a file\n"})
    done = command("init")
    assert done.returncode == 2
    assert f"error: {PAGE} cannot be written" in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("options", [(), ("--check", "--write")])
def test_docs_takes_one_of_two_options(
    write: Write, command: Run, options: tuple[str, ...]
) -> None:
    write({"train.py": CODE})
    done = command("docs", *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"docs needs one of --check and --write" in done.stderr


def test_no_generated_table_does_not_look_like_a_current_one(write: Write, command: Run) -> None:
    write({"pyproject.toml": "", "train.py": CODE, "docs/a.md": "Nothing.\n"})
    done = command("docs", "--check")
    assert done.returncode == 0
    assert done.stdout.startswith(b"no generated table in the documents; put <!-- rltel: begin")


def test_a_marker_that_cannot_be_followed_fails(write: Write, command: Run) -> None:
    root = write({"pyproject.toml": "", "train.py": CODE, "docs/a.md": "<!-- rltel: end -->\n"})
    for option in ("--check", "--write"):
        done = command("docs", option)
        assert done.returncode == 1
        assert done.stdout.startswith(b'docs/a.md:1: this "end" has no "begin"')
    assert (root / "docs/a.md").read_text() == "<!-- rltel: end -->\n"


def test_the_hook_checks_the_tables(write: Write, command: Run) -> None:
    hooks = (Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text()
    hook = hooks.partition("- id: rltel-docs\n")[2].partition("- id:")[0]
    program, *arguments = hook.partition("entry: ")[2].splitlines()[0].split()
    assert program == "rltel-lint"
    assert "pass_filenames: false" in hook
    write({"pyproject.toml": "", "train.py": CODE, "docs/a.md": "<!-- rltel: end -->\n"})
    assert command(*arguments).returncode == 1
