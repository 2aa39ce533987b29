"""Whatever a program emits at run time is among the values that the checker claims."""

from __future__ import annotations

from hypothesis import HealthCheck, given, note, settings

from rltel_lint.values import HOLE
from tests.lint.core.programs import covers, programs, run
from tests.lint.support import link


def _claims(source: str) -> dict[int, list]:
    spans = link({"program.py": source}).spans
    found: dict[int, list] = {}
    for site in (*spans.sites, *spans.unseen):
        found.setdefault(site.place.line, []).append(site.name)
    return found


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_no_value_at_run_time_contradicts_the_claim(source: str) -> None:
    note("\n".join(f"{i:3} {line}" for i, line in enumerate(source.splitlines(), 1) if i > 60))
    claims = _claims(source)
    for value, lines in run(source):
        near = [strings for line in lines for strings in claims.get(line, ())]
        assert any(covers(strings, value) for strings in near), (
            f"{value!r} is emitted at {sorted(lines)}, claimed are "
            f"{[sorted(t.replace(HOLE, '*') for t in s.templates) for s in near]}"
        )
