"""RLT904: versions in documents are in the range that the project declares."""

from __future__ import annotations

import pytest

from rltel_lint.rules.pins import PinOutsideRange
from tests.lint.support import lint, project

PROJECT = """
--- pyproject.toml
[project]
name = "trainer"
version = "2.0"
dependencies = [
    "OpenTelemetry_SDK>=1.30,<2",
    "anything",
    "local @ file:///somewhere/local.whl",
    "numpy==1.26.4; python_version < '3.11'",
    "numpy>=2.0; python_version >= '3.11'",
]

[project.optional-dependencies]
fast = ["ray[default]>=2.55,!=2.56.0"]
slow = ["ray>=2.40"]

[dependency-groups]
dev = ["ruff~=0.9.1", {include-group = "more"}]
more = ["pytest>=8"]

[tool.uv]
override-dependencies = ["protobuf>=6"]
constraint-dependencies = ["setuptools<81"]
"""

#: A pin that fits, and one next to it that does not.
PINS = {
    "exact": ("opentelemetry-sdk==1.30.0", "opentelemetry-sdk==1.1.0"),
    "above the range": ("opentelemetry-sdk==1.99", "opentelemetry-sdk==2.0"),
    "spelled otherwise": ("opentelemetry.sdk==1.31", "opentelemetry.sdk==1.1"),
    "with blanks": ("opentelemetry-sdk == 1.31", "opentelemetry-sdk == 1.1"),
    "of a series": ("opentelemetry-sdk==1.30.*", "opentelemetry-sdk==1.1.*"),
    "compatible": ("opentelemetry-sdk~=1.1", "opentelemetry-sdk~=1.1.0"),
    "a lower bound": ("opentelemetry-sdk>=1.1", "opentelemetry-sdk>=2.1"),
    "an upper bound": ("opentelemetry-sdk<1.31", "opentelemetry-sdk<1.30"),
    "a range": ("opentelemetry-sdk>=1.1,<1.31", "opentelemetry-sdk>=1.1,<1.30"),
    "one of two ranges": ("numpy==2.1", "numpy==1.25"),
    "the other range": ("numpy==1.26.4", "numpy==1.26.3"),
    "in the wider extra": ("ray==2.41", "ray==2.39"),
    "with an extra of its own": ("ray[default]==2.56.0", "ray[default]==1.0"),
    "in a group": ("ruff==0.9.7", "ruff==0.10"),
    "an override": ("protobuf==6.1", "protobuf==5.29"),
    "a constraint": ("setuptools==80", "setuptools==81"),
    "a pre-release": ("opentelemetry-sdk==1.31rc1", "opentelemetry-sdk==1.30rc1"),
    "with a local label": ("pytest==8.0+cu128", "pytest==7.4+cu128"),
}


@pytest.mark.parametrize("what", PINS)
def test_a_pin_is_in_the_range(what: str) -> None:
    for pin, expected in zip(PINS[what], (0, 1), strict=True):
        for text in (f"Run `pip install '{pin}'`.\n", f"```bash\npip install '{pin}'\n```\n"):
            files = {**project(PROJECT), "docs/install.md": text}
            assert len(lint(files, PinOutsideRange)) == expected, text


#: Commands that install; in each the pin is at the place of ``PIN``.
COMMANDS = [
    *("pip install PIN", "pip3 install -U PIN", "python -m pip install --no-deps 'PIN'"),
    *('$ uv pip install --link-mode=copy "PIN"', "uv add PIN other", "poetry add PIN"),
    *("RUN pip install a PIN && b", "!pip install PIN", "uv run --with PIN python run.py"),
    "pip install \\\n    --upgrade \\\n    PIN",
    "sudo pip install -r more.txt PIN  # for tracing",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_installs_is_read(command: str) -> None:
    for pin, expected in (("opentelemetry-sdk==1.31", 0), ("opentelemetry-sdk==1.1", 1)):
        text = f"Install it:\n\n```bash\n{command.replace('PIN', pin)}\n```\n"
        found = lint({**project(PROJECT), "docs/install.md": text}, PinOutsideRange)
        assert len(found) == expected
        for one in found:
            line = text.splitlines()[one.place.line - 1]
            assert line[one.place.column - 1 : one.place.end_column - 1] == pin


#: Texts that say nothing of what the project may be installed with.
LEFT_ALONE = [
    *("`opentelemetry-api==1.1` is of others.", "`anything==0.1` has no range.", "`local==0.1`."),
    *("`opentelemetry-sdk==1.1` is not supported and no longer works with a span.", "`a==1.1`"),
    *("`trainer==1.0` is the project itself.", "`opentelemetry-sdk==<version>`", "`x == 1.1`"),
    *("Ray 2.9 pins `opentelemetry-sdk==1.1`, which is why.", "`x` declares `numpy>=3`."),
    *("The other one needs `ray==1.0`."),
    *("opentelemetry-sdk==1.1 without a code span.", "`pip install opentelemetry-sdk`"),
    "```python\nassert opentelemetry_sdk == 1.1\n```",
    "```text\nopentelemetry-sdk==1.1 was found\n```",
    "```bash\npip install opentelemetry-sdk  # not opentelemetry-sdk==1.1\n```",
    "```bash\npip install x; echo opentelemetry-sdk==1.1\n```",
]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_installs_nothing_of_the_project_is_left_alone(text: str) -> None:
    files = {**project(PROJECT), "docs/install.md": f"{text}\n"}
    assert lint(files, PinOutsideRange) == []
    files["docs/install.md"] += "\nRun `pip install opentelemetry-sdk==1.2`.\n"
    assert len(lint(files, PinOutsideRange)) == 1


def test_a_change_log_may_name_old_versions() -> None:
    for path, expected in (("docs/changelog.md", 0), ("docs/install.md", 1)):
        files = {**project(PROJECT), path: "Run `pip install opentelemetry-sdk==1.1`.\n"}
        assert len(lint(files, PinOutsideRange)) == expected


def test_a_member_of_a_workspace_has_ranges_of_its_own() -> None:
    files = {**project(PROJECT), "tools/docs/use.md": "Run `pip install opentelemetry-sdk==1.1`.\n"}
    assert len(lint(files, PinOutsideRange)) == 1
    member = '[project]\nname = "tools"\ndependencies = ["opentelemetry-sdk>=1.0"]\n'
    assert lint({**files, "tools/pyproject.toml": member}, PinOutsideRange) == []
    settings = "[tool.ruff]\nline-length = 100\n"
    assert len(lint({**files, "tools/pyproject.toml": settings}, PinOutsideRange)) == 1


def test_a_project_without_ranges_is_left_alone() -> None:
    files = {"docs/install.md": "Run `pip install opentelemetry-sdk==1.1`.\n"}
    assert lint(files, PinOutsideRange) == []
    assert len(lint({**project(PROJECT), **files}, PinOutsideRange)) == 1


def test_the_finding_shows_the_range() -> None:
    files = {**project(PROJECT), "docs/install.md": "Run `pip install opentelemetry-sdk==1.1`.\n"}
    (finding,) = lint(files, PinOutsideRange)
    assert 'outside of the range "<2,>=1.30" that the project declares' in finding.message
    assert [str(one.place) for one in finding.related] == ["pyproject.toml:5"]
