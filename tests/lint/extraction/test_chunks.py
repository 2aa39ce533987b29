"""How files are cut into chunks, and what of them is extracted."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltel_lint.extraction import chunks
from rltel_lint.extraction.chunks import Chunk, File, extract_chunk, form_chunks
from rltel_lint.extraction.seeds import seed_words
from rltel_lint.facts.source import SourceFacts
from rltel_lint.facts.store import FactStore
from rltel_lint.vocabulary import load_vocabulary
from tests.lint.extraction.projects import synthetic

FILES = [
    File(path, text, path.endswith(".py")) for path, text in synthetic().items() if "." in path
]
files = st.lists(
    st.builds(File, st.text("ab/", min_size=1, max_size=4), st.text(max_size=30), st.booleans()),
    max_size=20,
    unique_by=lambda file: (file.path, file.python),
)


@given(files, st.integers(1, 9), st.randoms())
def test_every_file_is_in_one_chunk_whatever_the_order(
    given: list[File], number: int, order: object
) -> None:
    formed = form_chunks(given, number, "rl.")
    inside = [file for chunk in formed for file in chunk.files]
    assert sorted(inside, key=repr) == sorted(given, key=repr)
    assert len(formed) <= number
    mixed = list(given)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    assert [chunk.id for chunk in form_chunks(mixed, number, "rl.")] == [c.id for c in formed]


def test_chunks_are_of_about_the_same_size() -> None:
    sizes = [chunk.size for chunk in form_chunks(FILES, 6, "rl.")]
    largest = max(len(file.text) for file in FILES)
    assert len(sizes) == 6
    assert max(sizes) - min(sizes) <= 2 * largest
    assert sizes == sorted(sizes, reverse=True)


def test_an_id_is_that_of_all_the_facts_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    one = File("a.py", "x = 1\n", python=True)
    variants = [
        Chunk((one,), "rl."),
        Chunk((one,), "other."),
        Chunk((one,), "rl.", ("x",)),
        Chunk((File("a.py", "x = 2\n", python=True),), "rl."),
        Chunk((File("b.py", "x = 1\n", python=True),), "rl."),
        Chunk((File("a.py", "x = 1\n", python=False),), "rl."),
    ]
    ids = [chunk.id for chunk in variants]
    assert ids == [pickle.loads(pickle.dumps(chunk)).id for chunk in variants]
    sent = pickle.dumps(variants[0])
    monkeypatch.setattr(chunks, "tool_version", lambda: "another")
    ids.append(pickle.loads(sent).id)
    assert len(set(ids)) == 7


def test_what_is_extracted_is_plain_json() -> None:
    for chunk in form_chunks(FILES, 3, "rl.", ["managed_span"]):
        facts = extract_chunk(chunk)
        assert json.loads(json.dumps(facts)).keys() == {"id", "files", "fine"}
        assert facts["id"] == chunk.id
        readable = [f for f in chunk.files if "broken" not in f.path]
        assert all("index" in facts["files"][file.path] for file in readable)
        assert not any(
            "index" in values for path, values in facts["files"].items() if "bro" in path
        )


def test_units_that_mention_a_seed_are_lowered_and_no_others() -> None:
    text = "def f():\n    managed_span(1)\n\n\ndef g():\n    other(2)\n"
    file = File("a.py", text, python=True)
    assert extract_chunk(Chunk((file,), "rl."))["files"]["a.py"]["units"] == {}
    lowered = extract_chunk(Chunk((file,), "rl.", ("managed_span",)))["files"]["a.py"]["units"]
    first = SourceFacts("a.py", text).units[0]
    assert set(lowered) == {first.key}


def test_seeds_are_the_words_of_the_vocabulary() -> None:
    words = seed_words(load_vocabulary(("rl_telemetry",), {}))
    assert {"managed_span", "_otel_carrier", "start_as_current_span"} <= words
    assert "remote_controlled" not in words


def test_facts_that_nobody_asks_for_are_not_kept(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cache")
    text = "def f():\n    managed_span(1)\n"
    chunk = Chunk((File("a.py", text, True), File("b.py", text, True)), "rl.", ("managed_span",))
    store = FactStore(folder)
    store.take_in(extract_chunk(chunk))
    asked = SourceFacts("a.py", text, store)
    assert asked.refused is None
    assert asked.units[0].statements
    store.save()
    own = tmp_path_factory.mktemp("own")
    alone = FactStore(own)
    facts = SourceFacts("a.py", text, alone)
    assert facts.refused is None
    assert facts.units[0].statements
    alone.save()
    names = sorted(path.name for path in own.glob("*.json"))
    assert sorted(path.name for path in folder.glob("*.json")) == names
    for name in names:
        assert json.loads((folder / name).read_text()) == json.loads((own / name).read_text())


def test_facts_of_another_text_are_not_used() -> None:
    store = FactStore(None)
    store.take_in(extract_chunk(Chunk((File("a.py", "x = 1\n", python=True),), "rl.")))
    facts = SourceFacts("a.py", "y = 1\n\n\nz = 2\n", store)
    assert [sorted(unit.binds) for unit in facts.units] == [["y"], ["z"]]
