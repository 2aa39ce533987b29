"""--baseline and --write-baseline, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lint.processes import CLEAN, TABLE, TRAIN, Tree

NEW = TRAIN.replace("rl.rollout", "rl.new_one")
OPTION = ("--baseline", "lint.json")


@pytest.fixture
def clean(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "project", CLEAN)


@pytest.fixture
def old(clean: Tree) -> Tree:
    """A project whose two findings have been accepted."""
    clean.write({"pkg/old.py": NEW, "pkg/older.py": TRAIN.replace("rl.rollout", "rl.older")})
    assert clean.run("check").out.count("RLT101") == 2
    done = clean.run("check", *OPTION, "--write-baseline")
    assert (done.code, done.out) == (
        0,
        "wrote 2 findings to lint.json: 2 added, none gone\n",
    ), done.err
    return clean


def test_accepted_findings_are_held_back_and_counted(old):
    done = old.process("check", *OPTION)
    assert done.code == 0
    assert done.out.startswith("no findings in ")
    assert "; 2 held back by the baseline; " in done.out
    assert old.process("check").code == 1


def test_the_file_is_sorted_json_that_people_can_read(old):
    assert old.text("lint.json") == (
        "{\n"
        '  "version": 1,\n'
        '  "findings": [\n'
        '    {"path": "pkg/old.py", "code": "RLT101", "message": '
        '"span \\"rl.new_one\\" is not in the documents", "count": 1},\n'
        '    {"path": "pkg/older.py", "code": "RLT101", "message": '
        '"span \\"rl.older\\" is not in the documents", "count": 1}\n'
        "  ]\n"
        "}\n"
    )


def test_moved_lines_stay_accepted(old):
    old.write({"pkg/old.py": f"STEPS = 3\n\n\n{NEW}", "docs/spans.md": f"# Spans\n\n{TABLE}"})
    assert old.run("check", *OPTION).code == 0


def test_what_is_new_is_reported(old):
    old.write({"pkg/third.py": TRAIN.replace("rl.rollout", "rl.third")})
    done = old.run("check", *OPTION)
    assert done.code == 1
    assert done.out.startswith('pkg/third.py:6:10: RLT101 span "rl.third"')
    assert done.out.count("RLT101") == 1


def test_one_more_of_the_same_is_reported(old):
    old.write({"pkg/old.py": NEW + NEW.partition("\n\n\n")[2].replace("rollout()", "again()")})
    done = old.run("check", *OPTION)
    assert done.code == 1
    assert done.out.startswith("pkg/old.py:9:10: RLT101 ")
    assert done.out.count("RLT101") == 1


def test_a_stale_entry_is_a_finding_until_the_baseline_is_written_again(old):
    old.write({"pkg/old.py": TRAIN})
    done = old.run("check", *OPTION)
    assert done.code == 1
    assert done.out.startswith(
        'lint.json:4:1: RLT002 RLT101 of pkg/old.py (span "rl.new_one" is not in the documents) '
        "is in the baseline and no longer found; run --write-baseline\n"
    )
    assert old.run("check", *OPTION, "--ignore", "RLT002").code == 0
    done = old.run("check", *OPTION, "--write-baseline")
    assert done.out == "wrote 1 finding to lint.json: none added, 1 gone\n"
    assert old.run("check", *OPTION).code == 0


def test_stale_entries_are_ignored_by_file_like_other_findings(old):
    settings = "[tool.rltel-lint.per-file-ignores]\n'lint.json' = ['RLT002']\n"
    old.write({"pkg/old.py": TRAIN, "pyproject.toml": settings})
    assert old.run("check", *OPTION).code == 0


def test_an_entry_that_counts_too_many_is_stale_too(old):
    text = old.text("lint.json")
    old.write({"lint.json": text.replace('"count": 1},', '"count": 3},')})
    done = old.run("check", *OPTION)
    assert "is 3 times in the baseline and found 1 times" in done.out


def test_what_the_run_did_not_look_at_is_not_stale_and_stays(old):
    before = old.text("lint.json")
    old.write({"pkg/old.py": TRAIN})
    assert old.run("check", *OPTION, "pkg/older.py").code == 0
    assert old.run("check", *OPTION, "--select", "RLT2,RLT002").code == 0
    old.run("check", *OPTION, "--write-baseline", "pkg/older.py")
    assert old.text("lint.json") == before
    old.run("check", *OPTION, "--write-baseline", "pkg/old.py")
    assert [entry["path"] for entry in json.loads(old.text("lint.json"))["findings"]] == [
        "pkg/older.py"
    ]


def test_a_file_that_cannot_be_parsed_makes_no_entry_stale(old):
    old.write({"pkg/old.py": "def broken(:\n"})
    done = old.run("check", *OPTION)
    assert done.code == 1
    assert "RLT000" in done.out
    assert "RLT002" not in done.out


def test_the_configured_baseline_is_found_from_a_sub_folder(old):
    old.write({"pyproject.toml": "[tool.rltel-lint]\nbaseline = 'lint.json'\n"})
    assert old.run("check", folder="pkg").code == 0
    old.write({"pkg/old.py": TRAIN})
    assert "lint.json:4:1: RLT002" in old.run("check", folder="pkg").out
    assert old.run("check", "--write-baseline", folder="pkg").out.startswith("wrote 1 finding")


def test_no_baseline_reports_everything(old):
    old.write({"pyproject.toml": "[tool.rltel-lint]\nbaseline = 'lint.json'\n"})
    assert old.run("check").code == 0
    assert old.run("check", "--no-baseline").out.count("RLT101") == 2


def test_fix_leaves_accepted_findings_alone_unless_told_otherwise(old):
    old.write({"pyproject.toml": "[tool.rltel-lint]\nbaseline = 'lint.json'\n"})
    assert old.run("check", "--fix").code == 0
    assert old.text("docs/spans.md") == TABLE
    assert old.run("check", "--fix", "--no-baseline").code == 0
    assert "rl.new_one" in old.text("docs/spans.md")


def test_flake8_holds_back_the_same(old):
    import os
    import subprocess
    import sys

    from tests.lint.processes import LINT

    command = [sys.executable, "-m", "flake8", "--select", "RLT", "pkg"]
    environment = {**os.environ, "PYTHONPATH": str(LINT)}

    def flake8() -> str:
        done = subprocess.run(
            command, cwd=old.root, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout

    assert flake8().count("RLT101") == 2
    old.write({"pyproject.toml": "[tool.rltel-lint]\nbaseline = 'lint.json'\n"})
    assert flake8() == ""


def test_a_suppressed_finding_needs_no_entry(clean):
    noqa = NEW.replace('one"):', 'one"):  # noqa: RLT101 for now')
    clean.write({"pkg/old.py": noqa})
    done = clean.run("check", *OPTION, "--write-baseline")
    assert done.out.startswith("wrote no findings to lint.json")
    assert json.loads(clean.text("lint.json")) == {"version": 1, "findings": []}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "the baseline lint.json is not valid JSON"),
        ("[]", "the baseline lint.json has not the form of one"),
        ('{"version": 1}', "the baseline lint.json has not the form of one"),
        ('{"version": true, "findings": []}', "has not the form of one"),
        ('{"version": 1, "findings": [{"path": "a"}]}', "has not the form of one"),
        ('{"version": 1, "findings": [3]}', "has not the form of one"),
        (
            '{"version": 1, "findings": [{"path": "a", "code": "b", "message": "c", "count": 0}]}',
            "has not the form of one",
        ),
        (
            '{"version": 2, "findings": []}',
            "the baseline lint.json has version 2 and this rltel-lint reads 1",
        ),
        (None, "the baseline lint.json does not exist; write it with --write-baseline"),
    ],
)
def test_a_broken_baseline_is_one_clear_error(clean, content, said):
    if content is not None:
        clean.write({"lint.json": content})
    done = clean.run("check", *OPTION)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "--write-baseline" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_baseline_broken_by_a_merge_is_written_anew(old):
    old.write({"lint.json": f"<<<<<<< ours\n{old.text('lint.json')}=======\n"})
    assert old.run("check", *OPTION).code == 2
    assert old.run("check", *OPTION, "--write-baseline", "pkg").code == 2
    assert old.run("check", *OPTION, "--write-baseline").code == 0
    assert old.run("check", *OPTION).code == 0


def test_no_other_file_is_overwritten(clean):
    done = clean.run("check", "--baseline", "pkg/train.py", "--write-baseline")
    assert done.code == 2
    assert "pkg/train.py is something else than a baseline" in done.err
    assert clean.text("pkg/train.py") == TRAIN


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--write-baseline",), "--write-baseline needs a file"),
        (("--no-baseline", *OPTION), "--no-baseline does not go with --baseline"),
        (("--no-baseline", "--write-baseline"), "--no-baseline does not go with"),
        (("--write-baseline", *OPTION, "--fix"), "does not go with --fix"),
        (("--write-baseline", "--baseline", "none/lint.json"), "none/lint.json cannot be written"),
        (("--write-baseline", "--baseline", "docs"), "something else"),
    ],
)
def test_wrong_usage(clean, arguments, said):
    done = clean.run("check", *arguments)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_json_counts_what_was_held_back(old):
    report = json.loads(old.run("check", *OPTION, "--format", "json").out)
    assert report["findings"] == []
    assert report["summary"]["held_back"] == 2
    assert "held_back" not in json.loads(old.run("check", "--format", "json").out)["summary"]
