"""RLT201 to RLT204 and RLT401 to RLT403, RLT406: groups declared, used, documented, spelled."""

from __future__ import annotations

import pytest

from rltel_lint.findings import Finding
from rltel_lint.rules import groups, spelling
from tests.lint.core.support import check, codes, rows

GROUPS = """
from rl_telemetry.instrumentation import managed_span, umbrella_span
from rl_telemetry.registry import SpanRegistry
from rl_telemetry.span_groups import RLSpanGroup

class TreeGroup(RLSpanGroup):
    SEARCH = "search"
    PRUNE = "prune"

SpanRegistry.register(
    "tree",
    {TreeGroup.SEARCH, TreeGroup.PRUNE},
    presets={"deep": [TreeGroup.SEARCH, TreeGroup.PRUNE], "short": [TreeGroup.SEARCH]},
)

def search(prune):
    with managed_span(TreeGroup.SEARCH, "rl.tree.search"):
        ...
    with managed_span(TreeGroup.PRUNE, "rl.tree.prune"):
        ...
"""
PAGE = (
    rows("rl.tree.search", "rl.tree.prune")
    + "\n| Group | What it covers |\n|---|---|\n| `search` | x |\n| `prune` | x |\n"
    + "\n| Preset | Groups |\n|---|---|\n| `deep` | `search`, `prune` |\n| `short` | `search` |\n"
)
FILES = {"tree.py": GROUPS, "docs/spans.md": PAGE}
WITHOUT_PRUNE = GROUPS.replace("managed_span(TreeGroup.PRUNE", "managed_span(TreeGroup.SEARCH")


def only(files: dict[str, str], *rules: type) -> Finding:
    (finding,) = check(files, *rules)
    return finding


def test_a_project_in_order_is_clean() -> None:
    assert codes(FILES) == []


def test_unemitted_group_points_at_its_declaration() -> None:
    found = only({**FILES, "tree.py": WITHOUT_PRUNE}, groups.UnemittedGroup)
    assert (found.place.line, found.place.column, found.place.end_column) == (7, 5, 20)
    assert found.message == (
        'group "prune" is registered, but no span uses it; open one, remove the group, or '
        "document it as reserved"
    )


USES = {
    "gate": "from rl_telemetry.registry import is_span_group_enabled\n"
    "if is_span_group_enabled(TreeGroup.PRUNE):\n    ...\n",
    "as a string": 'managed_span("prune", "rl.tree.prune")\n',
    "in a variable": 'g = TreeGroup.PRUNE\nmanaged_span(g, "rl.tree.prune")\n',
    "by keyword": 'managed_span(name="rl.tree.prune", group=TreeGroup.PRUNE)\n',
    "through a helper": "def phase(group):\n    return managed_span(group, 'rl.tree.prune')\n"
    "phase(TreeGroup.PRUNE)\n",
    "of a derived class": "class Mine(TreeGroup):\n    pass\n"
    "managed_span(Mine.PRUNE, 'rl.tree.prune')\n",
    "one of two": "managed_span(TreeGroup.PRUNE if search else TreeGroup.SEARCH, 'rl.x')\n",
    "in a loop": "for g in (TreeGroup.PRUNE,):\n    managed_span(g, 'rl.tree.prune')\n",
    "any at all": "def f(group):\n    managed_span(group, 'rl.tree.prune')\n",
    "a helper that is passed on": "def f(group):\n    managed_span(group, 'rl.tree.prune')\n"
    "f(TreeGroup.SEARCH)\nrun(f)\n",
}


@pytest.mark.parametrize("use", USES, ids=str)
def test_every_use_of_a_group_counts(use: str) -> None:
    files = {**FILES, "tree.py": WITHOUT_PRUNE + USES[use]}
    assert check(files, groups.UnemittedGroup) == []
    assert len(check({**FILES, "tree.py": WITHOUT_PRUNE}, groups.UnemittedGroup)) == 1


def test_a_reserved_group_needs_no_span() -> None:
    page = PAGE.replace("| `prune` | x |", "| `prune` | *reserved* |")
    assert check({"tree.py": WITHOUT_PRUNE, "docs/a.md": page}, groups.UnemittedGroup) == []
    found = [f for f in check({"tree.py": GROUPS, "docs/a.md": page}) if f.code == "RLT103"]
    assert [f.message for f in found] == [
        'group "prune" is documented as reserved, yet spans use it; describe it, or remove the '
        "spans"
    ]


def test_unregistered_group_suggests_the_nearest() -> None:
    source = GROUPS + 'managed_span("pruned", "rl.tree.prune")\n'
    found = only({**FILES, "tree.py": source}, groups.UnregisteredGroup)
    assert found.place.line == 20
    assert found.message == 'group "pruned" is registered nowhere; did you mean "prune"?'


def test_registrations_that_are_not_understood_silence_the_comparison() -> None:
    source = GROUPS + 'managed_span("pruned", "rl.tree.prune")\n'
    more = source + 'SpanRegistry.register("more", read_groups())\n'
    assert check({**FILES, "tree.py": source}, groups.UnregisteredGroup) != []
    assert check({**FILES, "tree.py": more}, groups.UnregisteredGroup) == []


def test_preset_members() -> None:
    typo = GROUPS.replace('"short": [TreeGroup.SEARCH]', '"short": ["serch"]')
    found = only(
        {**FILES, "tree.py": typo, "docs/spans.md": rows("rl.tree.<x>")}, groups.PresetDrift
    )
    assert (found.place.line, found.place.column) == (12, 69)
    assert found.message == (
        'preset "short" names group "serch", which is registered nowhere; did you mean "search"?'
    )
    short = WITHOUT_PRUNE.replace("[TreeGroup.SEARCH, TreeGroup.PRUNE]", "[TreeGroup.PRUNE]")
    dead = check({"tree.py": short}, groups.PresetDrift)
    assert [f.message for f in dead] == [
        'preset "deep" names group "prune", which no span uses; open a span under it or take it out'
    ]


ROWS = {
    "missing": ("| `deep` | `search` |", 'leaves out "prune"'),
    "extra": ("| `deep` | `search`, `prune`, `job` |", 'adds "job"'),
}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_preset_row_against_the_code(row: str) -> None:
    written, message = ROWS[row]
    page = PAGE.replace("| `deep` | `search`, `prune` |", written)
    found = only({**FILES, "docs/spans.md": page}, groups.PresetDrift)
    assert (found.place.path, found.place.line) == ("docs/spans.md", 13)
    assert found.message == (f'the row of preset "deep" {message}; make the row and the code agree')
    assert [r.message for r in found.related] == ["declared here"]


def test_preset_of_prose_or_of_all_groups_is_clean() -> None:
    page = PAGE.replace("| `deep` | `search`, `prune` |", "| `deep` | what a search needs |")
    assert codes({**FILES, "docs/spans.md": page}) == []


def test_documented_and_registered_groups() -> None:
    less = PAGE.replace("| `prune` | x |\n", "")
    found = only({**FILES, "docs/spans.md": less})
    assert (found.code, found.place.path, found.place.line) == ("RLT204", "tree.py", 7)
    assert found.message == 'group "prune" is not in any group table; add a row'
    more = PAGE.replace("| `prune` | x |\n", "| `prune` | x |\n| `prunes` | x |\n")
    found = only({**FILES, "docs/spans.md": more})
    assert (found.code, found.place.path, found.place.line) == ("RLT204", "docs/spans.md", 10)
    assert found.message.startswith('documented group "prunes" is registered nowhere; did you mean')
    assert codes({**FILES, "docs/spans.md": rows("rl.tree.search", "rl.tree.prune")}) == []


def test_groups_of_the_library_may_be_documented_or_not() -> None:
    page = PAGE.replace("| `prune` | x |\n", "| `prune` | x |\n| `reward` | x |\n")
    assert codes({**FILES, "docs/spans.md": page}) == []


UMBRELLAS = GROUPS.replace('PRUNE = "prune"', 'PRUNE = "prune"\n    U_PRUNE = PRUNE')


def test_umbrella_helper_given_a_leaf() -> None:
    source = GROUPS.replace("managed_span(TreeGroup.PRUNE", "umbrella_span(TreeGroup.PRUNE")
    found = only({**FILES, "tree.py": source})
    assert (found.code, found.place.line, found.place.column) == ("RLT401", 18, 10)
    assert found.message == (
        'umbrella_span is for umbrella groups, but "prune" is a leaf; use managed_span'
    )


def test_leaf_helper_given_an_umbrella() -> None:
    found = only({**FILES, "tree.py": UMBRELLAS})
    assert found.code == "RLT402"
    assert found.message == (
        'managed_span is for leaf groups, but "prune" is an umbrella; use '
        "umbrella_span(TreeGroup.U_PRUNE, ...)"
    )


def test_umbrella_without_its_alias() -> None:
    source = UMBRELLAS.replace("managed_span(TreeGroup.PRUNE", "umbrella_span(TreeGroup.PRUNE")
    found = only({**FILES, "tree.py": source})
    assert (found.code, found.place.line, found.place.column) == ("RLT403", 19, 24)
    assert found.message == '"prune" is an umbrella group; spell it TreeGroup.U_PRUNE'
    good = source.replace("umbrella_span(TreeGroup.PRUNE", "umbrella_span(TreeGroup.U_PRUNE")
    assert codes({**FILES, "tree.py": good}) == []


HEAD = (
    "from rl_telemetry.instrumentation import efficiency_span, managed_span, umbrella_span\n"
    "from rl_telemetry.span_groups import RLSpanGroup\n"
)
SPELLED = {
    "helper that takes the group": (
        "def phase(group):\n    return managed_span(group, 'rl.x')\nphase(RLSpanGroup.STEP)\n",
        [("RLT402", 5)],
    ),
    "helper that fixes the group": (
        "def phase(name):\n    return managed_span(RLSpanGroup.STEP, 'rl.' + name)\n"
        "phase('a')\nphase('b')\n",
        [("RLT402", 4)],
    ),
    "group by keyword": ("managed_span(name='rl.x', group=RLSpanGroup.U_STEP)\n", [("RLT402", 3)]),
    "group as a string": ("managed_span('step', 'rl.x')\n", [("RLT402", 3)]),
    "group in a variable": (
        "group = RLSpanGroup.GENERATION\numbrella_span(group, 'rl.x')\n",
        [("RLT401", 4)],
    ),
    "helper of a class": (
        "class A:\n    def phase(self, group):\n        return umbrella_span(group, 'rl.x')\n"
        "    def f(self):\n        self.phase(RLSpanGroup.REWARD)\n",
        [("RLT401", 7)],
    ),
    "alias through a helper": (
        "def phase(group):\n    return umbrella_span(group, 'rl.x')\nphase(RLSpanGroup.STEP)\n",
        [("RLT403", 5)],
    ),
    "efficiency group": (
        "managed_span(RLSpanGroup.EFFICIENCY, 'rl.idle.x')\n",
        [("RLT406", 3)],
    ),
    "a string umbrella": ("umbrella_span('step', 'rl.x')\n", []),
    "a variable umbrella": ("g = RLSpanGroup.U_STEP\numbrella_span(g, 'rl.x')\n", []),
    "either at run time": (
        "def f(big):\n    g = RLSpanGroup.STEP if big else RLSpanGroup.REWARD\n"
        "    managed_span(g, 'rl.x')\n",
        [],
    ),
    "either, written at the call": (
        "def f(big):\n"
        "    managed_span(RLSpanGroup.STEP if big else RLSpanGroup.REWARD, 'rl.x')\n"
        "    umbrella_span(RLSpanGroup.U_STEP if big else RLSpanGroup.REWARD, 'rl.y')\n",
        [("RLT402", 4), ("RLT401", 5)],
    ),
    "either of two leaves, written at the call": (
        "def f(big):\n"
        "    managed_span(RLSpanGroup.LOGPROB if big else RLSpanGroup.REWARD, 'rl.x')\n",
        [],
    ),
    "chosen helper": (
        "def f(big):\n    span = umbrella_span if big else managed_span\n"
        "    span(RLSpanGroup.REWARD, 'rl.x')\n",
        [],
    ),
    "unknown group": ("def f(g):\n    managed_span(g, 'rl.x')\n", []),
    "unregistered group": ("umbrella_span('nowhere', 'rl.x')\n", []),
    "efficiency helper": ("efficiency_span('idle/x')\n", []),
}


@pytest.mark.parametrize("case", SPELLED, ids=str)
def test_spelling_at_the_call_site(case: str) -> None:
    source, expected = SPELLED[case]
    rules = (
        spelling.UmbrellaHelperWithLeafGroup,
        spelling.LeafHelperWithUmbrellaGroup,
        spelling.UmbrellaGroupWithoutAlias,
        spelling.EfficiencyGroupThroughLeafHelper,
    )
    found = check({"train.py": HEAD + source}, *rules)
    assert [(f.code, f.place.line) for f in found] == expected


def test_a_library_without_umbrellas_has_no_spelling_rules() -> None:
    source = (
        "from nemo.lens import managed_span\nfrom nemo.lens.groups import SpanGroup\n"
        "managed_span(SpanGroup.STEP, 'rl.x')\nmanaged_span(SpanGroup.JOB, 'rl.y')\n"
    )
    found = codes({"train.py": source, "docs/a.md": rows("rl.x", "rl.y")}, profile="nemo_lens")
    assert found == []
