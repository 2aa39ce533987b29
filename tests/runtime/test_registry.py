from __future__ import annotations

import logging
import os
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_telemetry.registry import (
    SpanRegistry,
    _gate,
    enabled_span_groups,
    is_span_group_enabled,
    pending_span_groups,
    refresh_enabled_span_groups,
    set_enabled_span_groups,
    set_span_group_spec,
)
from rl_telemetry.span_groups import (
    ALL_GROUPS,
    NAMESPACE,
    UMBRELLA_GROUP_VALUES,
    RLSpanGroup,
    register_span_groups,
)

pytestmark = pytest.mark.usefixtures("own_registry")

DEFAULT = {"job", "model_init", "evaluate", "setup", "checkpoint"}


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize(
    ("spec", "enabled"),
    [
        ("default", DEFAULT),
        ("DEFAULT", DEFAULT),
        ("per_step", ALL_GROUPS - {"per_prompt"}),
        ("all", ALL_GROUPS),
        ("per_step,per_prompt", ALL_GROUPS),
        ("reward, generation", {"reward", "generation"}),
        (" , ,", set()),
        ("", set()),
    ],
)
def test_a_spec_selects_groups(
    spec: str, enabled: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    set_span_group_spec(spec)
    assert enabled_span_groups() == enabled
    assert pending_span_groups() == frozenset()
    assert messages(caplog) == []
    assert RLSpanGroup.resolve(spec) == enabled


def test_the_vocabulary_has_sixteen_groups_and_seven_umbrellas() -> None:
    assert len(ALL_GROUPS) == 16
    assert RLSpanGroup.ALL_GROUPS == ALL_GROUPS
    assert {"job", "step", "rollout", "model_init", "evaluate", "setup", "per_prompt"} == (
        UMBRELLA_GROUP_VALUES
    )
    assert len(SpanRegistry.presets()["per_step"]) == 15
    assert SpanRegistry.namespaces() == [NAMESPACE]


def test_unknown_entries_are_pending_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    set_span_group_spec("generation,nonsense,reward")
    assert enabled_span_groups() == {"generation", "reward"}
    assert pending_span_groups() == {"nonsense"}
    assert RLSpanGroup.resolve_with_pending("generation,nonsense") == ({"generation"}, {"nonsense"})
    (warning,) = messages(caplog)
    for part in ("generation,nonsense,reward", "per_step", NAMESPACE, "logprob"):
        assert part in warning
    refresh_enabled_span_groups()
    set_span_group_spec("nonsense")
    assert len(messages(caplog)) == 1  # the same entries are pending
    set_span_group_spec("nonsense,other")
    assert len(messages(caplog)) == 2


def test_there_is_no_subtraction() -> None:
    set_span_group_spec("per_step,-job")
    assert pending_span_groups() == {"-job"}
    assert is_span_group_enabled("job")


def test_an_empty_registry_has_a_warning_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    SpanRegistry.clear()
    set_span_group_spec("all")
    assert enabled_span_groups() == pending_span_groups() == frozenset()
    assert "nothing is registered" in messages(caplog)[0]
    set_span_group_spec(" ")
    assert len(messages(caplog)) == 1


def test_default_is_an_ordinary_preset() -> None:
    SpanRegistry.clear()
    SpanRegistry.register("lib", ["a"])
    set_span_group_spec("default")
    assert pending_span_groups() == {"default"}


@pytest.mark.parametrize(
    ("namespace", "groups", "presets", "message"),
    [
        (" ", ["a"], None, "namespace"),
        ("lib", ["a", " "], None, "empty"),
        ("lib", ["ALL"], None, "reserved"),
        ("lib", ["a"], {"all": ["a"]}, "reserved"),
        ("lib", ["a"], {"": ["a"]}, "empty"),
        ("lib", "abc", None, "collection"),
        (NAMESPACE, ["a"], None, "allow_override"),
    ],
)
def test_a_wrong_registration_is_refused(
    namespace: str, groups: list[str], presets: dict[str, list[str]] | None, message: str
) -> None:
    before = SpanRegistry.groups()
    with pytest.raises(ValueError, match=message):
        SpanRegistry.register(namespace, groups, presets)
    assert SpanRegistry.groups() == before


def test_names_are_cleaned_and_any_iterable_is_taken() -> None:
    SpanRegistry.register("lib", (g for g in (" Mine ", "B")), {" Fast ": iter(["MINE"])})
    assert {"mine", "b"} <= SpanRegistry.groups()
    assert SpanRegistry.presets()["fast"] == {"mine"}


def test_registering_twice_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    before = SpanRegistry.presets()
    set_span_group_spec("per_step")
    register_span_groups()
    assert SpanRegistry.presets() == before
    assert messages(caplog) == []
    with pytest.raises(ValueError, match="already registered"):
        register_span_groups(allow_override=False)


def test_registering_again_replaces_the_whole_namespace() -> None:
    SpanRegistry.register("lib", ["a"], {"fast": ["a"]})
    SpanRegistry.register("lib", ["b"], allow_override=True)
    assert "fast" not in SpanRegistry.presets()
    assert "a" not in SpanRegistry.groups()


def test_a_shared_group_is_one_group_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    SpanRegistry.register("megatron", ["checkpoint", "layer"])
    (warning,) = messages(caplog)
    for part in ("megatron", NAMESPACE, "checkpoint"):
        assert part in warning
    assert "layer" not in warning
    SpanRegistry.unregister("megatron")
    assert "checkpoint" in SpanRegistry.groups()


def test_allow_override_shares_silently(caplog: pytest.LogCaptureFixture) -> None:
    SpanRegistry.register("megatron", ["checkpoint"], allow_override=True)
    assert messages(caplog) == []


def test_a_preset_member_counts_once_it_has_an_owner(caplog: pytest.LogCaptureFixture) -> None:
    SpanRegistry.register("lib", ["a"], {"fast": ["a", "theirs"]})
    assert "theirs" in messages(caplog)[0]
    set_span_group_spec("fast")
    assert enabled_span_groups() == {"a"}
    SpanRegistry.register("other", ["theirs"])
    assert enabled_span_groups() == {"a", "theirs"}


def test_previous_groups_of_the_namespace_own_no_preset_member(
    caplog: pytest.LogCaptureFixture,
) -> None:
    SpanRegistry.register("lib", ["old"])
    SpanRegistry.register("lib", ["new"], {"fast": ["old"]}, allow_override=True)
    assert "old" in messages(caplog)[0]


def test_presets_of_one_name_are_joined() -> None:
    SpanRegistry.register("lib", ["a"], {"default": ["a"]})
    assert SpanRegistry.presets()["default"] == DEFAULT | {"a"}


def test_unregistering_takes_groups_out_of_every_preset() -> None:
    SpanRegistry.register("lib", ["a"], {"default": ["a", "job"]})
    set_span_group_spec("default")
    SpanRegistry.unregister(NAMESPACE)
    assert SpanRegistry.presets() == {"default": {"a"}, "all": {"a"}}
    assert enabled_span_groups() == {"a"}
    with pytest.raises(ValueError, match="not registered"):
        SpanRegistry.unregister(NAMESPACE)


def test_a_late_registration_warns_and_takes_effect(caplog: pytest.LogCaptureFixture) -> None:
    set_span_group_spec("job,layer")
    assert not is_span_group_enabled("layer")
    SpanRegistry.register("megatron", ["layer"])
    assert is_span_group_enabled("layer")
    assert pending_span_groups() == frozenset()
    assert any("after telemetry was set up" in message for message in messages(caplog))


def test_a_pinned_set_is_not_reopened(caplog: pytest.LogCaptureFixture) -> None:
    set_span_group_spec("all")
    set_enabled_span_groups(frozenset({"job"}))
    SpanRegistry.register("megatron", ["layer"])
    refresh_enabled_span_groups()
    assert enabled_span_groups() == {"job"}
    assert messages(caplog) == []


def test_logging_happens_with_no_lock_held() -> None:
    class Asks(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            refresh_enabled_span_groups()  # a deadlock if a lock were held
            SpanRegistry.unregister("lib")
            answered.append(record.getMessage())

    answered: list[str] = []
    handler = Asks()
    logging.getLogger("rl_telemetry").addHandler(handler)
    try:
        thread = threading.Thread(target=lambda: SpanRegistry.register("lib", ["job"]), daemon=True)
        thread.start()
        thread.join(10)
        assert len(answered) == 1
    finally:
        logging.getLogger("rl_telemetry").removeHandler(handler)


def test_a_child_forked_while_the_locks_are_held_can_register() -> None:
    with _gate.lock, SpanRegistry._lock:
        pid = os.fork()
        if pid == 0:
            code = 1
            signal.alarm(10)  # ends a child that waits for a lock for ever
            try:
                SpanRegistry.register("child", ["a"])
                set_span_group_spec("a")
                code = 0 if is_span_group_enabled("a") else 2
            finally:
                os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@given(st.lists(st.sampled_from([*sorted(ALL_GROUPS), "default", "per_step", "all", "x", ""])))
def test_a_spec_means_the_union_of_its_entries(entries: list[str]) -> None:
    enabled, pending = SpanRegistry.resolve(",".join(entries))
    parts = [SpanRegistry.resolve(entry) for entry in entries]
    assert enabled == frozenset().union(*(part[0] for part in parts))
    assert pending == frozenset().union(*(part[1] for part in parts))
