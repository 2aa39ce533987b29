"""Facts extracted in parallel before linking asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rltel_lint.extraction.chunks import Chunk, File, form_chunks
from rltel_lint.extraction.seeds import seed_words
from rltel_lint.extraction.workers import Executor, ExecutorError, Workers
from rltel_lint.facts.kept_documents import document_key
from rltel_lint.facts.source import SourceFacts
from rltel_lint.facts.store import FactStore
from rltel_lint.forks import can_fork
from rltel_lint.vocabulary import Vocabulary

_LEAST = 400_000
"""Characters that must be new before processes are started without being asked for."""

_ANEW = 10
"""How many times that where processes cannot be forked, and have to import everything anew."""

_CHUNK = 200_000
"""Characters of a chunk; smaller ones where there would be too few for all workers."""

_LOWERING = 8
"""Workers from which on lowering ahead pays: its results must be decoded by one process."""


_CLUSTER = 8
"""What a cluster counts as: how many workers it has is known only after connecting to it."""


def extract_ahead(
    sources: Mapping[str, SourceFacts],
    documents: Mapping[str, str],
    namespace: str,
    vocabulary: Vocabulary,
    store: FactStore,
    workers: Workers,
) -> None:
    """Has facts extracted by others and gives them to the store.

    Nothing depends on it but time: what is not there is extracted when it is needed.

    Args:
        sources: The Python files.
        documents: The documents' texts by path.
        namespace: The prefix of the project's own names.
        vocabulary: Decides which units are worth lowering ahead.
        store: Where facts are kept; it is asked what is new.
        workers: Who extracts.

    Raises:
        UserError: The executor cannot be used as the user asked.
    """
    if workers.executor == "local" and workers.number < 2:
        return
    new = list(_new_files(sources, documents, namespace, store))
    size = sum(len(file.text) for file in new)
    remote = workers.executor == "ray"
    if not (new and (remote or workers.jobs or size >= _least())):
        return
    number = _CLUSTER if remote else workers.number
    seeds = seed_words(vocabulary) if number >= _LOWERING else ()
    chunks = form_chunks(new, max(number * 4, size // _CHUNK), namespace, seeds)
    if remote or len(chunks) > 1:
        _run(_executor(workers), chunks, store)


def _run(executor: Executor, chunks: list[Chunk], store: FactStore) -> None:
    expected = {chunk.id for chunk in chunks}
    foreign = False
    try:
        for facts in executor.run(chunks):
            if facts["id"] in expected:
                store.take_in(facts)
            else:
                foreign = True
    except ExecutorError as error:
        store.note(f"{error}; the rest is read in this one")
    if foreign:
        store.note("a worker has another version of rltel-lint or Python; its facts are not used")


def _least() -> int:
    """How much must be new before processes are started without being asked for."""
    return _LEAST if can_fork() else _LEAST * _ANEW


def _executor(workers: Workers) -> Executor:
    if workers.executor == "ray":
        from rltel_lint.extraction.on_ray import OnRay

        return OnRay(workers.ray_address)
    from rltel_lint.extraction.processes import Processes

    return Processes(workers.number)


def _new_files(
    sources: Mapping[str, SourceFacts],
    documents: Mapping[str, str],
    namespace: str,
    store: FactStore,
) -> Iterator[File]:
    for path, facts in sources.items():
        # Of a file that nobody asked for only the syntax is known, and nobody may ask this time.
        if not (store.has_seen(facts.key) or facts.kept.knows(facts.key)):
            yield File(path, facts.text, python=True, key=facts.key)
    for path, text in documents.items():
        if not store.file(path).knows(document_key(text, namespace)):
            yield File(path, text, python=False)
