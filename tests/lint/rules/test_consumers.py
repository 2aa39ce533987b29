"""RLT509: what configuration files select by is logged."""

from __future__ import annotations

import pytest

from rltel_lint.rules.consumers import ConsumedKeyNeverLogged
from tests.lint.support import lint, project

CODE = """
--- pyproject.toml
[tool.rltel-lint]
configs = ["recipes/"]

[tool.rltel-lint.vocabulary.metrics.consumers]
"checkpoint.best_by" = ["train:{key}", "val:{key}"]
"early_stop" = "{key}"

[tool.rltel-lint.vocabulary.metrics.switches]
"val:{key}" = ["val_every", "run.val_at_end"]
--- train.py
def train(logger, batch, step):
    metrics = {"loss": batch.loss, "reward/mean": batch.reward}
    for name, value in batch.parts.items():
        metrics[f"part-{name}_loss"] = value
    logger.log_metrics(metrics, step, prefix="train")

def validate(logger, score, step):
    scores = dict(accuracy=score)
    logger.log_metrics(scores, step, prefix="validation")
    return {"best_of_n": score, **scores}

def select(mode, key):
    return mode == "entropy" and key
"""

#: A value that is logged, and one next to it that is not.
VALUES = {
    "of training": ('"train:loss"', '"train:losses"'),
    "of validation": ('"val:accuracy"', '"val:accuracies"'),
    "with a slash": ("val:reward/mean", "val:reward_mean"),
    "put together": ("val:part-gsm_loss", "val:parts-gsm_loss"),
    "in single quotes": ("'val:accuracy'", "'val:acc'"),
    "of the old form": ("val:accuracy", "val_accuracy"),
    "without any form": ("train:loss", "loss"),
    "only compared with in the code": ("train:loss", "train:entropy"),
    "in a mapping that is not logged": ("val:best_of_n", "val:best_of_m"),
}


@pytest.mark.parametrize("what", VALUES)
def test_a_selected_key_is_logged(what: str) -> None:
    for value, expected in zip(VALUES[what], (0, 1), strict=True):
        files = {**project(CODE), "recipes/a.yaml": f"checkpoint:\n  best_by: {value}  # choose\n"}
        assert len(lint(files, ConsumedKeyNeverLogged)) == expected, value


#: Files in which the wrong key is read as it should be.
PLACES = {
    "recipes/a.yaml": "checkpoint: {best_by: 'val:acuracy'}\n",
    "recipes/b.yml": "grpo:\n  checkpoint:\n    best_by: val:acuracy\n",
    "recipes/c.toml": '[checkpoint]\nbest_by = "val:acuracy"\n',
    "recipes/d.toml": 'checkpoint.best_by = "val:acuracy"\n',
    "recipes/e.toml": 'checkpoint = { best_by = "val:acuracy" }\n',
    "recipes/f.yaml": "early_stop:\n- loss\n- acuracy\n",
    "recipes/g.yaml": "a: 1\n---\nearly_stop: acuracy\n",
    "recipes/h.yaml": "base: &base\n  early_stop: acuracy\nother: *base\n",
}


@pytest.mark.parametrize("path", PLACES)
def test_every_kind_of_file_is_read(path: str) -> None:
    (finding,) = lint({**project(CODE), path: PLACES[path]}, ConsumedKeyNeverLogged)
    assert 'asks for logger key "acuracy", which nothing logs; did you mean "accuracy"?' in (
        finding.message
    )
    line = PLACES[path].splitlines()[finding.place.line - 1]
    assert "acuracy" in line
    right = PLACES[path].replace("acuracy", "accuracy")
    assert lint({**project(CODE), path: right}, ConsumedKeyNeverLogged) == []


@pytest.mark.parametrize(
    "value",
    [
        *("null", "", "3", "true", "val:${metric}", "val:<dataset>_score", "'val:{name}_score'"),
        *("{{ best }}", "$BEST"),
    ],
)
def test_a_value_that_is_open_is_left_alone(value: str) -> None:
    files = project(CODE)
    files["recipes/a.yaml"] = f"checkpoint:\n  best_by: {value}\n"
    assert lint(files, ConsumedKeyNeverLogged) == []
    files["recipes/a.yaml"] += "early_stop: acc\n"
    assert len(lint(files, ConsumedKeyNeverLogged)) == 1


def test_other_options_are_left_alone() -> None:
    files = project(CODE)
    files["recipes/a.yaml"] = "best_by: acc\nlogger:\n  best_by: acc\nmy_early_stop: acc\n"
    assert lint(files, ConsumedKeyNeverLogged) == []
    files["recipes/a.yaml"] += "checkpoint:\n  best_by: val:acc\n"
    assert len(lint(files, ConsumedKeyNeverLogged)) == 1


def test_a_mapping_that_cannot_be_followed_may_have_any_key_that_the_code_spells() -> None:
    files = project(CODE)
    files["recipes/a.yaml"] = "early_stop: score\n"
    files["more.py"] = (
        "def more(logger, outside, step):\n"
        "    rows = outside.rows()\n"
        "    outside.fill({name: 1})\n"
        '    logger.log_metrics(rows, step, prefix="train")\n'
    )
    for name, expected in (('"score"', 0), ('"scores"', 1)):
        edited = {**files, "more.py": files["more.py"].replace("name", name)}
        assert len(lint(edited, ConsumedKeyNeverLogged)) == expected


RECIPE = """
checkpoint:
  enabled: true
  best_by: val:accuracy
run:
  val_every: 0
  val_at_end: false
"""

#: Changes that make the recipe right, or not known.
MENDED = {
    "one is on": ("val_every: 0", "val_every: 5"),
    "another one is on": ("val_at_end: false", "val_at_end: true"),
    "one is elsewhere": ("  val_at_end: false\n", ""),
    "one is put together": ("val_every: 0", "val_every: ${every}"),
    "by a key of training": ("val:accuracy", "train:loss"),
    "no checkpoint is taken": ("enabled: true", "enabled: false"),
    "of another part": ("checkpoint:", "other:\n  val_every: 3\ncheckpoint:"),
    "of another name": ("val_at_end", "my_val_at_end"),
}


@pytest.mark.parametrize("how", MENDED)
def test_a_key_of_validation_while_validation_is_off(how: str) -> None:
    old, new = MENDED[how]
    assert old in RECIPE
    files = {**project(CODE), "recipes/a.yaml": RECIPE.replace(old, new)}
    assert lint(files, ConsumedKeyNeverLogged) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("val_every: 0", "val_every: -1"),
        ("val_every: 0", "val_every: null"),
        ("val_at_end: false", "val_at_end: no"),
        ("  enabled: true\n", ""),
        ("checkpoint:", "other:\n  val_every: -1\ncheckpoint:"),
    ],
)
def test_all_switches_are_off(old: str, new: str) -> None:
    files = {**project(CODE), "recipes/a.yaml": RECIPE.lstrip().replace(old, new)}
    (finding,) = lint(files, ConsumedKeyNeverLogged)
    assert (
        '"checkpoint.best_by" asks for "val:accuracy", which nothing logs while val_every and '
        "run.val_at_end are off" in finding.message
    )
    assert finding.place.path == "recipes/a.yaml"
    assert {one.message for one in finding.related} == {
        *("val_every is off", "run.val_at_end is off"),
    }


def test_nothing_is_said_of_a_project_without_a_logger() -> None:
    files = project(CODE)
    files["recipes/a.yaml"] = "early_stop: acc\n"
    assert len(lint(files, ConsumedKeyNeverLogged)) == 1
    files["train.py"] = "def train():\n    ...\n"
    assert lint(files, ConsumedKeyNeverLogged) == []


def test_the_profile_of_nemo_lens_knows_its_option() -> None:
    files = project(CODE)
    files["pyproject.toml"] = '[tool.rltel-lint]\nconfigs = ["*.yaml"]\nprofile = "nemo_lens"\n'
    for value, expected in (("val:accuracy", 0), ("val:acc", 1), ("val_accuracy", 1)):
        files["examples/configs/a.yaml"] = f"checkpointing:\n  metric_name: {value}\n"
        assert len(lint(files, ConsumedKeyNeverLogged)) == expected, value
