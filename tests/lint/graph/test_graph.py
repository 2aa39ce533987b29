"""The span tree of a project, and its drawings."""

from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rltel_lint.config import Config
from rltel_lint.engine import Input, analyse
from rltel_lint.graph import mermaid, svg
from rltel_lint.graph.build import build_graph
from rltel_lint.graph.model import Edge, Graph, Node, clusters
from rltel_lint.graph.outline import outline
from tests.lint.processes import Tree
from tests.lint.support import project

SVG = "{http://www.w3.org/2000/svg}"

FILES = project(
    """
    --- pyproject.toml
    --- train.py
    import ray
    from rl_telemetry.instrumentation import (
        dispatch_with_trace_context, managed_span, umbrella_span
    )
    from rl_telemetry.span_groups import RLSpanGroup
    from worker import Worker

    def train(steps):
        worker = Worker.remote()
        with umbrella_span(RLSpanGroup.U_JOB, "rl.grpo.job"):
            for _ in range(steps):
                with umbrella_span(RLSpanGroup.U_STEP, "rl.grpo.step"):
                    rollout(worker)
                    ray.get(worker.lost.remote())

    def rollout(worker):
        with managed_span(RLSpanGroup.GENERATION, "rl.grpo.generation"):
            ray.get(dispatch_with_trace_context(worker.generate))
    --- worker.py
    import ray
    from rl_telemetry.instrumentation import accepts_trace_context, managed_span
    from rl_telemetry.span_groups import RLSpanGroup

    @ray.remote
    class Worker:
        @accepts_trace_context
        def generate(self):
            with managed_span(RLSpanGroup.GENERATION, "rl.worker.decode"):
                ...

        @accepts_trace_context
        def lost(self):
            with managed_span(RLSpanGroup.REWARD, "rl.worker.reward"):
                with managed_span(RLSpanGroup.REWARD, "rl.worker.secret"):
                    ...
    --- docs/spans.md
    | Span | What it covers |
    |---|---|
    | `rl.grpo.job` | the run |
    | `rl.grpo.step` | a step |
    | `rl.grpo.generation` | rollouts |
    | `rl.worker.decode` | decoding |
    | `rl.worker.reward` | scoring |
    | `rl.worker.gone` | a renamed one |
    """
)


def graph_of(files: dict[str, str]) -> Graph:
    sources = {path: text for path, text in files.items() if path.endswith(".py")}
    documents = {path: text for path, text in files.items() if path.endswith(".md")}
    return build_graph(analyse(Input(Path("/nowhere"), sources, documents), Config()))


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graph_of(FILES)


# -- the model -----------------------------------------------------------------------------


def test_parents_come_from_blocks_calls_and_carriers(graph):
    assert set(graph.edges) == {
        Edge("rl.grpo.job", "rl.grpo.step", "inside"),
        Edge("rl.grpo.step", "rl.grpo.generation", "inside"),
        Edge("rl.grpo.generation", "rl.worker.decode", "carrier"),
        Edge("rl.grpo.step", "rl.worker.reward", "lost"),
        Edge("rl.worker.reward", "rl.worker.secret", "inside"),
    }


def test_drift_is_what_the_rules_say(graph):
    assert {node.name: node.drift for node in graph.nodes if node.drift} == {
        "rl.worker.reward": "orphan",
        "rl.worker.secret": "undocumented",
        "rl.worker.gone": "unemitted",
    }


def test_a_carrier_mends_the_orphan():
    wired = FILES["train.py"].replace(
        "worker.lost.remote()", "dispatch_with_trace_context(worker.lost)"
    )
    mended = graph_of({**FILES, "train.py": wired})
    assert mended.node("rl.worker.reward").drift == ""
    assert Edge("rl.grpo.step", "rl.worker.reward", "carrier") in mended.edges


def test_buckets_and_kinds(graph):
    assert graph.node("rl.grpo.job").kind == "umbrella"
    assert graph.node("rl.grpo.generation").bucket == "productive"
    assert graph.node("rl.grpo.generation").sites == ("train.py:17",)


def test_roots_are_what_nothing_encloses_even_in_a_cycle():
    nodes = tuple(Node(name) for name in "abcd")
    edges = (Edge("b", "c", "inside"), Edge("c", "b", "inside"), Edge("a", "d", "inside"))
    assert [node.name for node in Graph(nodes, edges).roots()] == ["a", "b"]


def test_clusters_share_a_prefix_of_more_than_one_span():
    names = ["rl.grpo.step", "rl.grpo.job", "rl.ppo.job", "rl.startup", "other"]
    found = clusters(Node(name) for name in names)
    assert {prefix: [node.name for node in nodes] for prefix, nodes in found.items()} == {
        "other": ["other"],
        "rl": ["rl.ppo.job", "rl.startup"],
        "rl.grpo": ["rl.grpo.job", "rl.grpo.step"],
    }


def test_a_shared_span_stands_below_each_parent_with_its_own_once():
    nodes = tuple(Node(name) for name in ("a.x", "a.y", "b.s", "c.t"))
    edges = (
        Edge("a.x", "b.s", "inside"),
        Edge("a.y", "b.s", "carrier"),
        Edge("b.s", "c.t", "inside"),
    )
    rows = [
        (row.depth, row.node.name, row.again) for row in outline(Graph(nodes, edges)) if row.node
    ]
    assert rows == [
        (0, "a.x", False),
        (1, "b.s", False),
        (2, "c.t", False),
        (0, "a.y", False),
        (1, "b.s", True),
    ]


# -- drawings ------------------------------------------------------------------------------


def rectangles(text: str) -> list[tuple[float, float, float, float]]:
    boxes = []
    for group in ET.fromstring(text).iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        assert box is not None
        boxes.append(tuple(float(box.get(key, "")) for key in ("x", "y", "width", "height")))
    return boxes


def test_svg_shows_every_span_its_parent_and_what_is_wrong(graph):
    root = ET.fromstring(svg.render(graph))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for node in graph.nodes:
        assert node.name in texts
    assert {"in no document", "documented, opened nowhere", "starts its own trace"} <= set(texts)
    links = [path.get("class") for path in root.iter(f"{SVG}path")][2:]  # the legend has two
    assert sorted(links) == ["carrier", "inside", "inside", "inside", "lost"]
    red = [box for box in root.iter(f"{SVG}rect") if box.get("class") == "drift"]
    assert len(red) == 3
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert "rl.grpo.generation\ntrain.py:17" in titles


def test_svg_boxes_lie_in_the_picture_and_never_overlap():
    names = [f"rl.{a}.{b}" for a in "abcdefgh" for b in ("job", "step", "x" * 60)]
    edges = tuple(Edge(f"rl.{a}.job", f"rl.{a}.step", "inside") for a in "abcdefgh")
    text = svg.render(Graph(tuple(Node(name) for name in names), edges))
    root = ET.fromstring(text)
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    boxes = rectangles(text)
    assert len(boxes) == len(names)
    for x, y, w, h in boxes:
        assert x >= 0
        assert x + w <= width
        assert y + h <= height
    assert not overlapping(boxes)


def overlapping(boxes: list[tuple[float, float, float, float]]) -> list[object]:
    return [
        (one, two)
        for one, two in itertools.combinations(boxes, 2)
        if one[0] < two[0] + two[2]
        and two[0] < one[0] + one[2]
        and one[1] < two[1] + two[3]
        and two[1] < one[1] + one[3]
    ]


def test_boxes_that_overlap_are_noticed():
    assert overlapping([(0, 0, 10, 10), (9, 9, 10, 10)])
    assert not overlapping([(0, 0, 10, 10), (10, 0, 10, 10), (0, 10, 10, 10)])


def test_a_large_graph_stands_in_columns_and_no_tree_is_torn():
    pairs = [(f"rl.a{a}.job{b}", f"rl.a{a}.step{b}") for a in range(12) for b in range(25)]
    nodes = tuple(Node(name) for pair in pairs for name in pair)
    edges = tuple(Edge(parent, child, "inside") for parent, child in pairs)
    text = svg.render(Graph(nodes, edges))
    root = ET.fromstring(text)
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    assert 1 / 3 < width / height < 3
    boxes = rectangles(text)
    assert len(boxes) == 600
    assert not overlapping(boxes)
    assert max(x + w for x, _, w, _ in boxes) <= width
    for path in list(root.iter(f"{SVG}path"))[2:]:
        _, start, end, _ = re.findall(r"[\d.]+", path.get("d", ""))
        assert 0 < float(end) - float(start) < 30


def test_svg_of_names_that_xml_cannot_hold():
    odd = 'a<b>&"\x00\ud800\uffff'
    root = ET.fromstring(svg.render(Graph((Node(odd, (odd,), sites=(odd,)),), ())))
    assert 'a<b>&"???' in [element.text for element in root.iter(f"{SVG}text")]


def test_mermaid(graph):
    text = mermaid.render(graph)
    ids = dict(re.findall(r'(n\d+)\["(rl[\w.]+)', text))
    assert set(ids.values()) == {node.name for node in graph.nodes}
    links = re.findall(r"^ +(n\d+) (-->|-\. carrier \.->|-\. no carrier \.-x) (n\d+)$", text, re.M)
    assert {(ids[a], link, ids[b]) for a, link, b in links} == {
        ("rl.grpo.job", "-->", "rl.grpo.step"),
        ("rl.grpo.step", "-->", "rl.grpo.generation"),
        ("rl.grpo.generation", "-. carrier .->", "rl.worker.decode"),
        ("rl.grpo.step", "-. no carrier .-x", "rl.worker.reward"),
        ("rl.worker.reward", "-->", "rl.worker.secret"),
    }
    assert '"rl.worker.secret<br/>in no document"]:::productive' in text
    (adrift,) = re.findall(r"class ([\w,]+) drift", text)
    assert {ids[one] for one in adrift.split(",")} == {
        "rl.worker.reward",
        "rl.worker.secret",
        "rl.worker.gone",
    }
    (lost,) = re.findall(r"linkStyle (\d+) stroke:#c62828", text)
    assert [edge.link for edge in graph.edges][int(lost)] == "lost"


def test_mermaid_frames_the_clusters_of_a_large_graph(graph):
    assert "subgraph" not in mermaid.render(graph)
    many = Graph(tuple(Node(f"rl.{a}.{b}") for a in "abcde" for b in "xyz"), ())
    text = mermaid.render(many)
    assert re.findall(r'subgraph c\d+ \["(.*)"\]', text) == [f"rl.{a}" for a in "abcde"]
    assert text.count("    end\n") == 5


def test_the_picture_on_the_page_is_drawn_by_the_command(graph):
    page = (Path(__file__).parents[3] / "docs/linter/inventory.md").read_text("utf-8")
    (shown,) = re.findall(r"```mermaid\n(.*?)```", page, re.DOTALL)
    kept = {"rl.grpo.job", "rl.grpo.step", "rl.grpo.generation", "rl.worker.decode"}
    kept |= {"rl.worker.reward"}
    part = Graph(
        tuple(node for node in graph.nodes if node.name in kept),
        tuple(edge for edge in graph.edges if {edge.parent, edge.child} <= kept),
    )
    assert shown == mermaid.render(part)


def test_mermaid_knows_its_limits(graph):
    names = [f"rl.a.{number}" for number in range(502)]
    chain = tuple(Edge(one, two, "inside") for one, two in itertools.pairwise(names))
    assert mermaid.too_large(Graph(tuple(map(Node, names)), chain), "")
    assert not mermaid.too_large(graph, mermaid.render(graph))


def test_mermaid_of_names_that_mean_something_to_it():
    text = mermaid.render(Graph((Node('a"b]#<x>\n**'),), ()))
    assert '["a#quot;b]#35;#lt;x#gt; *"]' in text


# -- the command ---------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "project", FILES)


def test_the_command_draws_mermaid(tree, graph):
    done = tree.process("graph")
    assert (done.code, done.err) == (0, "")
    assert done.out == mermaid.render(graph)


def test_the_command_writes_an_svg_file(tree):
    done = tree.run("graph", "--format", "svg", "--output-file", "spans.svg")
    assert (done.code, done.out) == (0, "")
    assert ET.fromstring(tree.text("spans.svg")).tag == f"{SVG}svg"


def test_the_command_writes_json(tree):
    content = json.loads(tree.run("graph", "--format", "json").out)
    assert content["version"] == 1
    assert {"parent": "rl.grpo.job", "child": "rl.grpo.step", "link": "inside"} in content["graph"][
        "edges"
    ]
    (node,) = [one for one in content["graph"]["nodes"] if one["name"] == "rl.worker.secret"]
    assert (node["drift"], node["bucket"]) == ("undocumented", "productive")


def test_a_project_without_spans_gives_an_empty_picture(tmp_path):
    tree = Tree(tmp_path / "project", {"pyproject.toml": "", "a.py": "X = 1\n"})
    assert tree.run("graph").out == "flowchart LR\n"
    assert ET.fromstring(tree.run("graph", "--format", "svg").out).tag == f"{SVG}svg"


def test_the_inventory_has_both_ends_of_a_carrier_and_the_actors(tree):
    found = json.loads(tree.run("inventory", "--format", "json").out)["inventory"]
    ends = {
        one["method"]: (one["accepts"], [sending["sent"] for sending in one["dispatches"]])
        for one in found["carriers"]
    }
    assert ends["Worker.generate"] == ("yes", ["yes"])
    assert ends["Worker.lost"] == ("yes", ["no"])
    (actor,) = found["actors"]
    assert (actor["name"], actor["defined"]) == ("Worker", "worker.py:6")
    assert {"generate", "lost"} <= set(actor["methods"])
    assert "carriers (2)" in tree.run("inventory").out


def test_the_inventory_has_metrics_and_the_keys_that_are_logged(tmp_path):
    files = project(
        """
        --- pyproject.toml
        --- train.py
        from rl_telemetry.metrics import TeedMetric, register_teed_metrics

        register_teed_metrics(
            [TeedMetric("loss", "rl.policy.loss", unit="1"), TeedMetric("gone", "rl.policy.gone")]
        )

        def train(logger, batch, step):
            metrics = {"loss": batch.loss, "lr": batch.lr}
            logger.log_metrics(metrics, step, prefix="train")
        --- docs/metrics.md
        | Metric | What it is |
        |---|---|
        | `rl.policy.loss` | the loss |
        """
    )
    tree = Tree(tmp_path / "project", files)
    found = json.loads(tree.run("inventory", "--format", "json").out)["inventory"]
    gone, loss = found["metrics"]
    assert (gone["name"], gone["logged"], gone["documented"]) == ("rl.policy.gone", "no", [])
    assert (loss["key"], loss["unit"], loss["logged"]) == ("loss", "1", "yes")
    assert loss["sites"] == ["train.py:8"]
    assert loss["documented"] == ["docs/metrics.md:3"]
    keys = {one["key"]: (one["prefixes"], one["declared"]) for one in found["logger_keys"]}
    assert keys == {"loss": (["train"], True), "lr": (["train"], False)}
    text = tree.run("inventory").out
    assert "metrics (2)" in text
    assert "logger keys (2)" in text
