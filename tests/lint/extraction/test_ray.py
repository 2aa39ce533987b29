"""Files are read on the nodes of a running Ray cluster: here one of two nodes on this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lint.extraction.projects import cache_of, report, run_with
from tests.lint.processes import LINT, Done, Tree

_CLUSTER = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
)
cluster.add_node(num_cpus=1)
cluster.wait_for_nodes(60)
print("address", cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
_MEET = """
import json, rltel_lint.extraction.on_ray as on_ray
extract, run = on_ray._extract, on_ray.OnRay.run
def meet(chunk):
    import os, ray, time
    open(os.path.join({folder!r}, ray.get_runtime_context().get_node_id()), "w").close()
    deadline = time.monotonic() + 60
    while len(os.listdir({folder!r})) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    return extract(chunk)
def logged(self, chunks):
    yield from run(self, chunks)
    with open({log!r}, "w") as file:
        json.dump(self.nodes, file)
on_ray._extract, on_ray.OnRay.run = meet, logged
"""
"""A node waits for the other before it reads: the one that is up first would read everything."""

_OTHER_VERSION = """
import rltel_lint.extraction.chunks as chunks
chunks.tool_version = lambda: "another"
"""
_IMPATIENT = """
import ray, atexit, rltel_lint.extraction.ahead as ahead
from rltel_lint.extraction.on_ray import OnRay
ray.init(log_to_driver=False, logging_level="ERROR")
ahead._executor = lambda workers: OnRay(patience=0.0)
atexit.register(lambda: print("connected", ray.is_initialized()))
"""
_NOT_INSTALLED = """
import sys, types, rltel_lint.extraction.on_ray as on_ray
sys.modules["not_on_the_nodes"] = types.ModuleType("not_on_the_nodes")
sys.modules["not_on_the_nodes"]._extract = on_ray._extract
on_ray._extract.__module__ = "not_on_the_nodes"
"""
_NO_RAY = "import sys\nsys.modules['ray'] = None"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a cluster with a head and one more node, of one CPU each, can be reached.

    It has a process and a folder of its own, so that no other test finds it.
    """
    with (
        tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder,
        subprocess.Popen(
            [sys.executable, "-c", _CLUSTER],
            env={**os.environ, "PYTHONPATH": str(LINT), "RAY_TMPDIR": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as cluster,
    ):
        assert cluster.stdout is not None
        lines = iter(cluster.stdout.readline, "")
        yield next(line.split()[1] for line in lines if line.startswith("address "))
        cluster.communicate("", timeout=60)


def on_ray(tree: Tree, address: str, prelude: str, *options: str) -> Done:
    environment = {"RAY_ADDRESS": address}
    return run_with(tree, prelude, "--executor", "ray", *options, environment=environment)


def test_both_nodes_read_and_the_report_is_the_same(
    synthetic_tree: Tree, expected: str, address: str, tmp_path: Path
) -> None:
    log, folder = tmp_path / "log", tmp_path / "nodes"
    folder.mkdir()
    prelude = _MEET.format(log=str(log), folder=str(folder))
    done = on_ray(synthetic_tree, address, prelude, "--cache-dir", str(tmp_path / "ray"))
    assert (done.out, done.err) == (expected, "")
    nodes = json.loads(log.read_text())
    assert len(nodes) == 2
    assert sum(nodes.values()) > 20
    report(synthetic_tree, "--cache-dir", str(tmp_path / "one"), "--jobs", "1")
    assert cache_of(tmp_path / "ray") == cache_of(tmp_path / "one")


def test_the_address_can_be_an_option(example_tree: Tree, address: str) -> None:
    options = ("--no-cache", "--ray-address", address)
    done = on_ray(example_tree, "127.0.0.1:1", "", *options)
    assert (done.out, done.err) == (report(example_tree, "--no-cache", "--jobs", "1"), "")


def test_facts_of_another_version_are_not_used(
    synthetic_tree: Tree, expected: str, address: str
) -> None:
    done = on_ray(synthetic_tree, address, _OTHER_VERSION, "--no-cache")
    assert done.out == expected
    assert "another version of rltel-lint" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_busy_cluster_loses_no_finding_and_a_connection_of_others_stays(
    synthetic_tree: Tree, expected: str, address: str
) -> None:
    done = on_ray(synthetic_tree, address, _IMPATIENT, "--no-cache")
    assert done.out == f"{expected}connected True\n"
    assert "the Ray cluster gave nothing for 0 s" in done.err
    assert len(done.err.splitlines()) == 1


def test_nodes_without_the_package_lose_no_finding(
    synthetic_tree: Tree, expected: str, address: str
) -> None:
    done = on_ray(synthetic_tree, address, _NOT_INSTALLED, "--no-cache")
    assert done.out == expected
    assert "pip install 'rl-telemetry[lint]' on all" in done.err
    assert len(done.err.splitlines()) == 1


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("prelude", "at", "said"),
    [
        ("", "", "no Ray cluster at "),
        ("", "local", "starts no cluster"),
        (_NO_RAY, "", "pip install 'rl-telemetry[lint,ray]'"),
    ],
    ids=["no cluster", "local", "no Ray"],
)
def test_what_is_missing_is_said_in_one_line(
    synthetic_tree: Tree, prelude: str, at: str, said: str
) -> None:
    done = on_ray(synthetic_tree, at or closed_port(), prelude, "--no-cache")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
