"""Mappings from a field to candidate keys, named in the vocabulary."""

from __future__ import annotations

from rltel_lint.rules.metrics import KeyNeverLogged, KeyUnderOtherPrefix
from tests.lint.support import lint, marked, reported

CODES = (KeyNeverLogged, KeyUnderOtherPrefix)
CONFIG = """
[tool.rltel-lint]
profile = "nemo_lens"
[tool.rltel-lint.vocabulary.metrics.maps]
GAUGES = ["train", ""]
SPEED_GAUGES = ["performance"]
"""
TRAIN = """
def train(logger, step):
    logger.log_metrics({"score": 1.0, "kl_term": 2.0}, step, prefix="train")
    logger.log_metrics({"tokens_per_sec": 3.0}, step, prefix="performance")
"""


def run(gauges: str) -> tuple[list[str], set[tuple[str, int, str]], set[tuple[str, int, str]]]:
    files = {"pyproject.toml": CONFIG, "core.py": gauges, "train.py": TRAIN}
    found = lint(files, *CODES)
    return [finding.message for finding in found], reported(found), marked(files)


def test_dead_field_and_dead_candidate_beside_a_live_one() -> None:
    messages, found, wanted = run(
        """
        GAUGES: dict[str, tuple[str, ...]] = {
            "drift": ("kl", "mean_kl"),  # <- RLT501
            "gain": ("score", "avg_score"),  # <- RLT501
        }
        """
    )
    assert found == wanted
    assert messages == [
        'nothing logs "kl" or "mean_kl" under "train" or the empty prefix, so field "drift" stays '
        'empty; did you mean "kl_term"?',
        'nothing logs "avg_score" under "train" or the empty prefix; field "gain" lives on '
        '"score", so remove "avg_score"',
    ]


def test_live_fields() -> None:
    assert run('GAUGES = {"drift": ("kl_term",), "gain": "score"}')[0] == []


def test_key_is_looked_for_under_the_prefix_of_its_mapping() -> None:
    messages, found, wanted = run(
        """
        GAUGES = {
            "speed": ("tokens_per_sec",),  # <- RLT502
        }
        SPEED_GAUGES = {
            "speed": ("tokens_per_sec",),
            "gain": ("score",),  # <- RLT502
        }
        """
    )
    assert found == wanted
    assert '"tokens_per_sec" is logged under "performance" only' in messages[0]
    assert 'field "speed" stays empty; log it under "train" or the empty prefix' in messages[0]


def test_constants_and_parts_of_other_mappings() -> None:
    messages, found, wanted = run(
        """
        KL = "kl"
        BASE = {"gain": ["score"]}
        GAUGES = {
            **BASE,
            "drift": (KL,),  # <- RLT501
        }
        """
    )
    assert found == wanted
    assert len(messages) == 1


def test_mapping_in_a_class() -> None:
    _, found, wanted = run(
        """
        class Tee:
            GAUGES = {
                "drift": ["kl"],  # <- RLT501
                "gain": ["score"],
            }
        """
    )
    assert found == wanted


def test_reading_the_mapping_is_no_emission() -> None:
    gauges = """
        GAUGES = {
            "drift": ("kl",),  # <- RLT501
        }

        def pick(metrics):
            out = {}
            for field, names in GAUGES.items():
                for name in names:
                    if name in metrics:
                        out[field] = metrics[name]
            return out
        """
    opened = TRAIN.replace('{"score": 1.0, "kl_term": 2.0}', "step.metrics()")
    files = {"pyproject.toml": CONFIG, "core.py": gauges, "train.py": opened}
    assert reported(lint(files, *CODES)) == marked(files)
    files["train.py"] += '\ndef one(out):\n    out["kl"] = 1\n'
    assert lint(files, *CODES) == []


def test_mapping_of_another_name_is_not_looked_at() -> None:
    assert run('OTHERS = {"drift": ("kl",)}')[0] == []
    assert len(run('GAUGES = {"drift": ("kl",)}')[0]) == 1
