"""Dashboards, configuration files and declared ranges in a check of a project on disk."""

from __future__ import annotations

import json

import pytest

from rltel_lint.cli import main
from rltel_lint.config import Config
from rltel_lint.discovery import find_files

CODE = """\
def instruments(meter, logger, step):
    logger.log_metrics({"accuracy": 1}, step, prefix="validation")
    return [meter.create_gauge("rl.queue.length"), meter.create_gauge("rl.queue.age")]
"""
TABLE = """\
[tool.rltel-lint]
configs = ["recipes/"]
[tool.rltel-lint.vocabulary.metrics.consumers]
best_by = "{key}"
"""


@pytest.fixture
def run(capsys):
    """Runs the command with the real rules; returns the exit code and all that is printed."""

    def run_command(*arguments):
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run_command


def _panel(series: str) -> str:
    return json.dumps({"panels": [{"expr": f"max({series})"}]})


def test_dashboards_are_found_by_default_and_configuration_files_are_not(write):
    root = write(
        {
            "dashboards/a.json": "{}",
            "ops/grafana/dashboards/deep/b.json": "{}",
            "dashboards/c.yaml": "a: 1",
            "data/d.json": "{}",
            "recipes/e.yaml": "a: 1",
            "tests/dashboards/f.json": "{}",
            ".hidden/dashboards/g.json": "{}",
        }
    )
    found = find_files(root, Config()).documents
    assert found == ("dashboards/a.json", "ops/grafana/dashboards/deep/b.json")
    named = Config(dashboards=("data/", "dashboards/*.yaml"), configs=("recipes/",))
    assert find_files(root, named).documents == (
        *("dashboards/c.yaml", "data/d.json", "recipes/e.yaml"),
    )


def test_a_glob_that_matches_no_dashboard_is_said(run, write):
    write({"a.py": "A = 1\n", "pyproject.toml": '[tool.rltel-lint]\ndashboards = ["boards/"]\n'})
    _, output = run("check", "--select", "RLT002")
    assert 'RLT002 "boards/" under "dashboards" matches no file' in output
    write({"boards/a.json": "{}"})
    assert run("check", "--select", "RLT002")[0] == 0


def test_a_changed_dashboard_is_looked_at_again(run, write):
    write({"a.py": CODE, "dashboards/a.json": _panel("rl_queue_length")})
    for _ in range(2):
        assert run("check", "--select", "RLT508")[0] == 0
    write({"dashboards/a.json": _panel("rl_queue_size")})
    for _ in range(2):
        code, output = run("check", "--select", "RLT508")
        assert "dashboards/a.json:1:" in output
        assert code == 1
    write({"a.py": CODE.replace("queue.age", "queue.size")})
    assert run("check", "--select", "RLT508")[0] == 0


def test_a_dashboard_that_is_no_json_is_one_line(run, write):
    write({"a.py": CODE, "dashboards/a.json": '{\n  "a": 1\n  "expr": "rl_queue_size"}\n'})
    _, output = run("check", "--select", "RLT508")
    (line,) = [one for one in output.splitlines() if "RLT" in one]
    assert line.startswith("dashboards/a.json:3:1: RLT000 cannot be parsed as JSON: ")


def test_a_comment_silences_a_configuration_file(run, write):
    write({"a.py": CODE, "pyproject.toml": TABLE, "recipes/a.yaml": "best_by: acc\n"})
    assert run("check", "--select", "RLT509")[0] == 1
    for text in (
        "best_by: acc  # rltel: ignore RLT509 logged by the launcher\n",
        "# rltel: ignore RLT509 logged by the launcher\nbest_by: acc\n",
    ):
        write({"recipes/a.yaml": text})
        assert run("check", "--select", "RLT509")[0] == 0, text
    write({"recipes/a.yaml": "best_by: acc  # rltel: ignore RLT501\n"})
    assert run("check", "--select", "RLT509")[0] == 1


def test_a_changed_range_is_looked_at_again(run, write):
    ranges = '[project]\nname = "a"\ndependencies = ["numpy>={}"]\n'
    write(
        {
            "a.py": CODE,
            "docs/install.md": "Run `pip install numpy==1.26`.\n",
            "pyproject.toml": ranges.format("1.24"),
        }
    )
    for _ in range(2):
        assert run("check", "--select", "RLT904")[0] == 0
    write({"pyproject.toml": ranges.format("2.0")})
    assert run("check", "--select", "RLT904")[0] == 1
    assert run("check", "--config", "other.toml", "--select", "RLT904")[0] == 2
    write({"other.toml": "[tool.rltel-lint]\n", "pyproject.toml": ranges.format("1.24")})
    assert run("check", "--config", "other.toml", "--select", "RLT904")[0] == 0
    write({"pyproject.toml": ranges.format("2.0")})
    assert run("check", "--config", "other.toml", "--select", "RLT904")[0] == 1


def test_a_wrong_consumer_is_said(run, write):
    write({"a.py": CODE, "pyproject.toml": TABLE.replace("{key}", "key")})
    code, output = run("check")
    assert code == 2
    assert "metrics.consumers.best_by: 'key' must have \"{key}\" once" in output


def test_a_comment_that_silences_nothing_is_said(run, write):
    recipe = "best_by: accuracy  # rltel: ignore RLT509 logged by the launcher\n"
    write({"a.py": CODE, "pyproject.toml": TABLE, "recipes/a.yaml": recipe})
    code, output = run("check", "--select", "RLT001,RLT509")
    assert code == 1
    assert "recipes/a.yaml:1:36: RLT001 RLT509 silences nothing here" in output
    write({"recipes/a.yaml": recipe.replace("accuracy", "acc")})
    assert run("check", "--select", "RLT001,RLT509")[0] == 0
