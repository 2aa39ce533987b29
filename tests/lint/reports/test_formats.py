"""The reports that machines read: SARIF against its schema, GitHub's commands, GitLab's JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from urllib.parse import unquote

import jsonschema
import pytest

from rltel_lint.changes import Edit, Fix
from rltel_lint.findings import Finding, Place, Related
from rltel_lint.inspected import blindness
from rltel_lint.report.render import Report, render
from rltel_lint.rules.catalogue import ALL_RULES
from tests.lint.processes import CLEAN, TRAIN, Tree

SCHEMA = json.loads((Path(__file__).parent / "data/sarif-schema-2.1.0.json").read_text("utf-8"))
VALIDATOR = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)

COUNTS = {"file": 2, "span": 5}
ROW = Finding(
    Place("docs/spans.md", 41, 3),
    "RLT102",
    "unemitted-span",
    'documented span "rl.a" is emitted nowhere; remove the row',
    severity="warning",
)
CALL = Finding(
    Place("pkg/a b,c:%.py", 88, 5, 90, 6),
    "RLT301",
    "carrier-missing",
    "100% of finish_step\nis dispatched without a carrier",
    related=(Related(Place("pkg/policy.py", 402, 9), "dispatched here"),),
    fix=Fix(
        "pass the carrier",
        (),
        edits=(
            Edit(Place("pkg/policy.py", 402, 20, 402, 20), ", **trace_context_kwargs()"),
            Edit(Place("pkg/policy.py", 3, 1, 3, 1), "import x\n"),
        ),
    ),
)
REPORT = Report((ROW, CALL), COUNTS)


def sarif(report: Report) -> dict:
    log = json.loads(render("sarif", report))
    VALIDATOR.validate(log)
    return log["runs"][0]


# -- SARIF ---------------------------------------------------------------------------------


def test_a_log_that_breaks_the_schema_is_noticed():
    log = json.loads(render("sarif", REPORT))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(log)


def test_sarif_says_where_and_what():
    row, call = sarif(REPORT)["results"]
    assert (row["ruleId"], row["level"], call["level"]) == ("RLT102", "warning", "error")
    assert row["message"]["text"] == ROW.message
    assert row["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "docs/spans.md", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 41, "startColumn": 3},
            }
        }
    ]
    place = call["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "pkg/a%20b%2Cc%3A%25.py"
    assert place["region"] == {"startLine": 88, "startColumn": 5, "endLine": 90, "endColumn": 6}
    assert [one["message"]["text"] for one in call["relatedLocations"]] == ["dispatched here"]


def test_sarif_has_the_fix_as_replacements_sorted_by_place():
    row, call = sarif(REPORT)["results"]
    assert "fixes" not in row
    (fix,) = call["fixes"]
    assert (fix["description"]["text"], fix["properties"]) == ("pass the carrier", {"safe": True})
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "pkg/policy.py"
    assert [
        (one["deletedRegion"]["startLine"], one["insertedContent"]["text"])
        for one in change["replacements"]
    ] == [(3, "import x\n"), (402, ", **trace_context_kwargs()")]
    region = change["replacements"][0]["deletedRegion"]
    assert (region["endLine"], region["endColumn"]) == (3, 1)


def test_sarif_explains_every_rule():
    run = sarif(REPORT)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(rule.code for rule in ALL_RULES)
    for rule in rules:
        assert rule["shortDescription"]["text"].endswith(".")
        assert len(rule["fullDescription"]["text"]) > 40
        assert "## Good" in rule["help"]["markdown"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_says_how_much_was_inspected_and_held_back():
    assert sarif(REPORT)["properties"] == {"inspected": COUNTS}
    assert sarif(Report((), COUNTS, held=3))["properties"]["heldBackByBaseline"] == 3


def test_sarif_of_a_file_name_that_is_no_text():
    odd = Finding(Place("caf\udce9.py"), "RLT101", "name", "message")
    (result,) = sarif(Report((odd,), COUNTS))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "caf%E9.py"


# -- GitHub --------------------------------------------------------------------------------


def test_github_commands():
    assert render("github", REPORT) == (
        "::warning title=RLT102 unemitted-span,file=docs/spans.md,line=41,col=3::"
        'docs/spans.md:41:3: RLT102 documented span "rl.a" is emitted nowhere; remove the row\n'
        "::error title=RLT301 carrier-missing,file=pkg/a b%2Cc%3A%25.py,line=88,endLine=90::"
        "pkg/a b,c:%25.py:88:5: RLT301 100%25 of finish_step\\nis dispatched without a carrier%0A"
        "dispatched here: pkg/policy.py:402\n"
    )


def test_github_columns_on_one_line():
    one = Finding(Place("a.py", 4, 2, 4, 9), "RLT101", "n", "m")
    assert ",line=4,col=2,endLine=4,endColumn=9::" in render("github", Report((one,), COUNTS))


def test_no_name_starts_a_command_of_its_own():
    hostile = Finding(Place("a\n::error::b.py"), "RLT101", "n", "x\r\n::stop-commands::y")
    assert len(render("github", Report((hostile,), COUNTS)).splitlines()) == 1


# -- GitLab --------------------------------------------------------------------------------


def test_gitlab_issues():
    row, call = json.loads(render("gitlab", REPORT))
    assert len(row.pop("fingerprint")) == 64
    assert row == {
        "description": f"RLT102 {ROW.message}",
        "check_name": "RLT102 unemitted-span",
        "severity": "minor",
        "location": {"path": "docs/spans.md", "lines": {"begin": 41, "end": 41}},
    }
    assert call["severity"] == "major"
    assert call["location"]["lines"] == {"begin": 88, "end": 90}


def test_gitlab_of_a_clean_project_is_an_empty_array():
    assert render("gitlab", Report((), COUNTS)) == "[]\n"


# -- all of them ---------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["sarif", "gitlab"])
def test_fingerprints_survive_moved_lines_and_tell_repeats_apart(style):
    def marks(*findings: Finding) -> list[str]:
        content = json.loads(render(style, Report(findings, COUNTS)))
        if style == "gitlab":
            return [issue["fingerprint"] for issue in content]
        return [one["partialFingerprints"]["rltelLint/v1"] for one in content["runs"][0]["results"]]

    def at(line: int) -> Finding:
        return Finding(Place("a.py", line), "RLT101", "n", "same; remedy")

    assert marks(at(3), at(7)) == marks(at(30), at(70))
    assert len(set(marks(at(3), at(7)))) == 2


def test_a_run_that_saw_no_span_says_so_in_each_format():
    counts = {"file": 4, "span": 0}
    blind = blindness(counts)
    for word in ("profile", "vocabulary", "source"):
        assert f'"{word}"' in blind
    report = Report((), counts, blind=blind)
    assert blind in render("text", report)
    assert "::warning title=rltel-lint::no span was recognised" in render("github", report)
    (notice,) = sarif(report)["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"]["text"] == blind


@pytest.mark.parametrize(
    "counts", [{"file": 4, "span": 1}, {"file": 4}, {"file": 0, "span": 0}, {}]
)
def test_a_run_that_saw_spans_or_was_not_to_look_for_any_does_not(counts):
    assert blindness(counts) == ""


# -- the command ---------------------------------------------------------------------------


@pytest.fixture
def drifted(tmp_path: Path) -> Tree:
    files = {**CLEAN, "pkg/train.py": TRAIN.replace("rl.rollout", "rl.rollouts")}
    return Tree(tmp_path / "project", files)


def test_sarif_of_a_real_run_is_valid_and_has_a_fix_that_applies(drifted):
    done = drifted.process("check", "--format", "sarif")
    log = json.loads(done.out)
    VALIDATOR.validate(log)
    results = {one["ruleId"]: one for one in log["runs"][0]["results"]}
    assert set(results) == {"RLT101", "RLT102"}
    assert done.code == 1
    assert done.err.startswith("rltel-lint: 2 findings ")
    change = results["RLT101"]["fixes"][0]["artifactChanges"][0]
    (new,) = change["replacements"]
    region = new["deletedRegion"]
    lines = drifted.text(unquote(change["artifactLocation"]["uri"])).splitlines(keepends=True)
    line = lines[region["startLine"] - 1]
    assert region["startLine"] == region["endLine"]
    lines[region["startLine"] - 1] = (
        line[: region["startColumn"] - 1]
        + new["insertedContent"]["text"]
        + line[region["endColumn"] - 1 :]
    )
    drifted.write({"docs/spans.md": "".join(lines)})
    assert drifted.run("check").code == 0


@pytest.mark.parametrize("style", ["json", "sarif", "github", "gitlab"])
def test_two_runs_say_the_same(drifted, style):
    first, second = (drifted.run("check", "--format", style, "--no-cache") for _ in range(2))
    assert first.out == second.out != ""
    assert drifted.run("check", "--format", style).out == first.out


@pytest.mark.parametrize("style", ["sarif", "github", "gitlab"])
def test_paths_are_those_of_the_repository(drifted, style):
    subprocess.run(["git", "init", "-q", str(drifted.root.parent)], check=True)
    done = drifted.run("check", "--format", style)
    assert "project/pkg/train.py" in done.out
    assert "project/pkg/train.py" not in drifted.run("check", "--format", "json").out


def test_output_file(drifted):
    done = drifted.process("check", "--format", "gitlab", "--output-file", "report.json")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("rltel-lint: 2 findings ")
    assert len(json.loads(drifted.text("report.json"))) == 2
    assert (drifted.root / "report.json").stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_output_file_replaces_a_report_and_leaves_nothing_beside_it(drifted):
    report = drifted.root / "report.txt"
    report.write_text("old " * 10_000)
    report.chmod(0o640)
    assert drifted.run("check", "--output-file", "report.txt").code == 1
    assert report.read_text().endswith(" s\n")
    assert "old" not in report.read_text()
    assert report.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in drifted.root.glob("*report*")] == ["report.txt"]


@pytest.mark.parametrize("name", ["none/report.txt", "pkg"])
def test_output_file_that_cannot_be_written(drifted, name):
    done = drifted.run("check", "--output-file", name)
    assert (done.code, done.out) == (2, "")
    assert name in done.err.splitlines()[-1]


def test_output_file_may_be_a_device(drifted):
    done = drifted.process("check", "--format", "gitlab", "--output-file", "/dev/stdout")
    assert len(json.loads(done.out)) == 2


def test_the_summary_counts_what_the_selected_families_saw(drifted):
    every = json.loads(drifted.run("check", "--format", "json").out)["summary"]["inspected"]
    assert (every["span"], every["group"], every["dispatch"]) == (1, 1, 0)
    assert every["documented span"] == 1
    done = drifted.run("check", "--select", "RLT1", "--format", "json")
    some = json.loads(done.out)["summary"]["inspected"]
    assert "span" in some
    assert "dispatch" not in some


def test_a_project_without_spans_is_told_so(tmp_path):
    tree = Tree(tmp_path / "project", {**CLEAN, "pkg/train.py": "X = 1\n", "docs/spans.md": "x\n"})
    done = tree.run("check")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("no span was recognised")
    assert "no findings in 2 files, no spans" in done.out
    assert "no span was recognised" in tree.run("check", "--format", "json").err


def test_deselected_families_work_nothing_out():
    from rltel_lint.inspected import count_inspected
    from tests.lint.support import link

    project = link({"a.py": TRAIN})
    assert count_inspected(project, ["RLT101", "RLT102"])["span"] == 1
    assert "carriers" not in project.__dict__
    assert "metrics" not in project.__dict__
    count_inspected(project, ["RLT301", "RLT501"])
    assert {"carriers", "metrics"} <= set(project.__dict__)


def _umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask
