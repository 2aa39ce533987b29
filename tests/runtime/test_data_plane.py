from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rl_telemetry.contrib.data_plane import MetricsDataPlaneClient
from rl_telemetry.instrumentation import per_prompt_scope
from rl_telemetry.registry import set_enabled_span_groups
from rl_telemetry.span_groups import ALL_GROUPS
from tests.runtime.recording import Recording

OPS = (
    "register",
    "claim_meta",
    "get_data",
    "check_consumption_status",
    "put",
    "get",
    "list_sample_ids",
    "clear",
    "save_checkpoint",
    "load_checkpoint",
    "close",
)


class Tensor:
    nbytes = 100


class Meta:
    sample_ids = ("a", "b", "c")


class Client:
    """A data plane in a dictionary."""

    version = 7

    def __init__(self) -> None:
        self.failure: BaseException | None = None

    def put(self, sample_ids: list[str], partition_id: str, fields: Any = None) -> str:
        if self.failure:
            raise self.failure
        return "stored"

    def get(self, *, sample_ids: list[str], partition_id: str) -> dict[str, Any]:
        return {"tokens": Tensor(), "nested": {"more": Tensor()}, "labels": ["x"]}

    def clear(self, sample_ids: list[str] | None, partition_id: str) -> None: ...

    def claim_meta(self, partition_id: str) -> Meta:
        return Meta()

    def list_sample_ids(self, partition_id: str) -> list[str]:
        return ["a", "b"]

    async def get_data(self, meta: Meta, partition_id: str = "train") -> dict[str, Any]:
        await asyncio.sleep(0)
        if self.failure:
            raise self.failure
        return {"tokens": Tensor()}

    def __getattr__(self, name: str) -> Any:
        if name not in OPS:
            raise AttributeError(name)
        return lambda *args, **kwargs: name


Events = list[dict[str, Any]]


@pytest.fixture
def events() -> Events:
    return []


@pytest.fixture
def client(recording: Recording, events: Events) -> MetricsDataPlaneClient:
    return MetricsDataPlaneClient(Client(), events.append)


def test_every_operation_is_one_span_and_one_event(
    recording: Recording, client: MetricsDataPlaneClient, events: Events
) -> None:
    for op in OPS:
        if op == "get_data":
            asyncio.run(client.get_data(Meta()))
        elif op in ("put", "clear"):
            getattr(client, op)(["a"], "train")
        elif op == "get":
            client.get(sample_ids=["a"], partition_id="train")
        else:
            getattr(client, op)("train")
    assert [span["name"] for span in recording.spans()] == [f"rl.data_plane.{op}" for op in OPS]
    assert [event["op"] for event in events] == list(OPS)
    assert {event["status"] for event in events} == {"ok"}
    assert recording.warnings() == []


def test_a_put_tells_partition_keys_and_bytes(
    recording: Recording, client: MetricsDataPlaneClient, events: Events
) -> None:
    assert client.put(["a", "b"], "train", fields={"tokens": Tensor()}) == "stored"
    assert recording.named("rl.data_plane.put")["attributes"] == {
        "rl.bucket": "overhead",
        "rl.data_plane.op": "put",
        "rl.data_plane.partition": "train",
        "rl.data_plane.keys": 2,
        "rl.data_plane.bytes": 100,
        "rl.data_plane.status": "ok",
    }
    (event,) = events
    assert event.pop("wall_ms") >= 0
    assert event == {
        "op": "put",
        "partition_id": "train",
        "n_keys": 2,
        "n_bytes": 100,
        "status": "ok",
    }


def test_results_tell_what_the_arguments_do_not(
    client: MetricsDataPlaneClient, events: Events
) -> None:
    client.get(sample_ids=["a"], partition_id="train")
    client.claim_meta("train")
    client.list_sample_ids("train")
    asyncio.run(client.get_data(Meta()))
    found = [(event["n_keys"], event["n_bytes"]) for event in events]
    assert found == [(1, 200), (3, None), (2, None), (3, 100)]


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (TimeoutError("late"), "timeout"),
        (asyncio.TimeoutError("late"), "timeout"),
        (RuntimeError("broken"), "error"),
    ],
)
def test_a_failure_is_told_and_raised(
    recording: Recording, client: MetricsDataPlaneClient, events: Events,
    failure: Exception, status: str,
) -> None:  # fmt: skip
    client._inner.failure = failure
    with pytest.raises(type(failure)):
        client.put(["a"], "train", {"tokens": Tensor()})
    with pytest.raises(type(failure)):
        asyncio.run(client.get_data(Meta()))
    assert [event["status"] for event in events] == [status] * 2
    for span in recording.spans():
        assert span["attributes"]["rl.data_plane.status"] == status
        assert span["status"] == "ERROR"
    assert client.outstanding_bytes == 0


def test_outstanding_bytes_are_put_and_not_yet_cleared(client: MetricsDataPlaneClient) -> None:
    client.put(["a", "b"], "train", {"tokens": Tensor()})
    client.put(["c"], "train", {"tokens": Tensor()})
    client.put(["a"], "val", {"tokens": Tensor()})
    assert client.outstanding_bytes == 300
    client.clear(["b", "c", "unknown"], "train")
    assert client.outstanding_bytes == 150
    client.clear(None, "val")
    assert client.outstanding_bytes == 50
    client.clear([], "train")
    assert client.outstanding_bytes == 50


def test_a_prompt_s_own_operations_are_in_their_own_group(
    recording: Recording, client: MetricsDataPlaneClient
) -> None:
    with per_prompt_scope():
        client.put(["a"], "train")
    assert "rl.bucket" not in recording.named("rl.data_plane.put")["attributes"]
    set_enabled_span_groups(ALL_GROUPS - {"per_prompt"})
    with per_prompt_scope():
        client.put(["a"], "train")
    assert len(recording.spans()) == 1
    client.put(["a"], "train")
    assert len(recording.spans()) == 2


def test_off_and_unobserved_calls_go_straight_through(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = MetricsDataPlaneClient(Client())
    client.put(["a"], "train", {"tokens": Tensor()})
    assert client.outstanding_bytes == 100  # the twin: observed while the group is on
    set_enabled_span_groups(ALL_GROUPS - {"per_prompt", "data_plane"})
    monkeypatch.setattr("rl_telemetry.contrib.data_plane._Operation", None)
    assert client.put(["b"], "train", {"tokens": Tensor()}) == "stored"
    assert asyncio.run(client.get_data(Meta()))
    assert len(recording.spans()) == 1


def test_events_are_told_with_spans_off(
    recording: Recording, client: MetricsDataPlaneClient, events: Events
) -> None:
    set_enabled_span_groups(())
    client.put(["a"], "train")
    assert len(events) == 1
    assert recording.spans() == []


def test_an_event_handler_that_fails_does_not_fail_the_operation(recording: Recording) -> None:
    def broken(event: dict[str, Any]) -> None:
        raise RuntimeError("no events today")

    client = MetricsDataPlaneClient(Client(), broken)
    for _ in range(2):
        assert client.put(["a"], "train") == "stored"
    assert len(recording.warnings()) == 1


def test_everything_else_is_the_client_s(client: MetricsDataPlaneClient) -> None:
    assert client.version == 7
    with pytest.raises(AttributeError):
        _ = client.unknown
