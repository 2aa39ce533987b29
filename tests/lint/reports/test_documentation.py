"""What the pages of the linter say of options, keys and formats is what the code has."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest

from rltel_lint import baseline, config
from rltel_lint.commands import cli
from rltel_lint.config import load_config
from rltel_lint.report.styles import STYLES
from rltel_lint.values import display
from rltel_lint.vocabulary import load
from rltel_lint.vocabulary.load import load_vocabulary, profile_names
from rltel_lint.vocabulary.model import Attributes, Carriers, Categories, Lifecycle, Metrics
from tests.lint.support import link

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGES = Path(__file__).parents[3] / "docs/linter"
CONFIGURATION = (PAGES / "configuration.md").read_text("utf-8")
CI = (PAGES / "ci.md").read_text("utf-8")
ADOPTION = (PAGES / "adoption.md").read_text("utf-8")


def section(text: str, start: str) -> str:
    """The text from a heading or a marker to the next heading or marker."""
    assert start in text
    return re.split(r"\n##+ |\n<!-- ", text.partition(start)[2], maxsplit=1)[0]


def first_cells(text: str) -> set[str]:
    return set(re.findall(r"^\| `([^` ]+)[^`]*` \|", text, re.MULTILINE))


def test_every_key_of_the_table_and_no_other():
    assert first_cells(section(CONFIGURATION, "## Every key")) == set(config._READERS)


def test_every_option_of_check_and_no_other():
    options = {name for parameter in cli.commands["check"].params for name in parameter.opts}
    options = {name for name in options if name.startswith("--")}
    assert first_cells(section(CONFIGURATION, "## Options of `rltel-lint check`")) == options


def test_every_profile():
    listed = re.findall(r"^- `(\w+)`:", section(CONFIGURATION, "## Profiles"), re.MULTILINE)
    assert sorted(listed) == sorted(profile_names())


@pytest.mark.parametrize(
    ("marker", "keys"),
    [
        ("top", load._TOP_KEYS),
        ("helper", load._HELPER_KEYS),
        ("group", load._GROUP_KEYS),
        ("carriers", Carriers.__dataclass_fields__),
        ("metrics", Metrics.__dataclass_fields__),
        ("categories", Categories.__dataclass_fields__),
        ("attributes", Attributes.__dataclass_fields__),
        ("lifecycle", Lifecycle.__dataclass_fields__),
        ("recorder", ("signature", "module", "series", "fields")),
    ],
)
def test_every_key_of_the_vocabulary_and_no_other(marker, keys):
    found = first_cells(section(CONFIGURATION, f"<!-- vocabulary: {marker} -->"))
    assert found == set(keys), "docs/linter/configuration.md lists the keys of the vocabulary"


def test_every_format_has_its_place_on_the_page_about_ci():
    assert {style for style in STYLES if f"--format {style}" in CI} == set(STYLES) - {"text"}


def test_options_that_the_pages_use_exist():
    known = {
        name
        for command in (cli, *cli.commands.values())
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    }
    for page in sorted(PAGES.glob("*.md")):
        for line in re.findall(r"rltel-lint .*", page.read_text("utf-8")):
            used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line.partition("#")[0]))
            assert used <= known, f"{page.name}: {line}"


BLOCKS = re.findall(
    r"```toml\n(.*?)```(?:\n\n```python\n(.*?)```\n\n(.*?)\n)?", CONFIGURATION, re.S
)


@pytest.mark.parametrize(("table", "code", "said"), BLOCKS, ids=range(len(BLOCKS)))
def test_examples_of_the_configuration_work(table, code, said, tmp_path):
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    read = load_config(tmp_path)
    load_vocabulary(read.profile, read.vocabulary)
    if code:
        project = link({"pyproject.toml": table, "pkg/a.py": code})
        found = {display(name) for site in project.spans.sites for name in site.name.templates}
        assert found == set(re.findall(r"`([\w.]+)`", said)) != set()
        assert project.group_uses.keys() <= project.groups.names


def test_there_are_examples_with_code():
    assert sum(bool(code) for _, code, _ in BLOCKS) >= 2


def test_the_baseline_on_the_page_is_one(tmp_path):
    (text,) = re.findall(r"```json\n(.*?)```", ADOPTION, re.S)
    file = tmp_path / "b.json"
    file.write_text(text, encoding="utf-8")
    assert baseline.render_baseline(baseline.read_baseline(file, "b.json")) == text
    (table,) = re.findall(r"```toml\n(.*?)```", ADOPTION, re.S)
    assert tomllib.loads(table)["tool"]["rltel-lint"] == {"baseline": "rltel-baseline.json"}


def test_exit_codes_are_those_of_the_command():
    assert set(re.findall(r"^\| (\d) \|", CI, re.MULTILINE)) == {"0", "1", "2"}
    help_text = cli.get_help(click.Context(cli, info_name="rltel-lint"))
    assert "0 clean, 1 findings, 2 wrong usage" in " ".join(help_text.split())
