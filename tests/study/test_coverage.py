"""Which parts are read, which runs are missing, what is merged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skidpad.study import tables
from skidpad.study.tables import Part, Segment, covering, gaps, next_group, superseded

ALL, FEW = frozenset("ab"), frozenset("a")


def part(
    begin: int, end: int, columns: frozenset[str] = ALL, pieces: int = 1, size: int = 1
) -> Part:
    return Part(begin, end, columns, pieces, size, "")


ranges = st.tuples(st.integers(0, 40), st.integers(1, 12), st.sampled_from([ALL, FEW]))
some_parts = st.lists(ranges, max_size=12).map(
    lambda drawn: list({(b, n): part(b, b + n, columns) for b, n, columns in drawn}.values())
)


def runs_of(parts: list[Part], names: frozenset[str]) -> set[int]:
    return {run for p in parts if names <= p.columns for run in range(p.begin, p.end)}


@given(parts=some_parts, begin=st.integers(0, 30), count=st.integers(0, 30))
def test_segments_are_in_order_and_have_every_run_once(
    parts: list[Part], begin: int, count: int
) -> None:
    end = begin + count
    for names in (ALL, FEW):
        segments = covering(parts, names, begin, end)
        runs = [run for s in segments for run in range(s.begin, s.end)]
        assert runs == sorted(runs_of(parts, names) & set(range(begin, end)))
        assert all(s.part.begin <= s.begin < s.end <= s.part.end for s in segments)
        assert all(names <= s.part.columns for s in segments)
        missing = [run for low, high in gaps(segments, begin, end) for run in range(low, high)]
        assert sorted(runs + missing) == list(range(begin, end))


@given(parts=some_parts)
def test_what_is_superseded_is_missed_by_nobody(parts: list[Part]) -> None:
    gone = superseded(parts, ALL)
    rest = [p for p in parts if p not in gone]
    assert runs_of(rest, ALL) == runs_of(parts, ALL)
    assert runs_of(rest, FEW) == runs_of(parts, FEW)
    assert not superseded(rest, ALL)


def test_a_large_part_covers_those_it_was_merged_from() -> None:
    small = [part(k, k + 1) for k in range(64)]
    assert superseded([*small, part(0, 64)], ALL) == small
    assert superseded([*small, part(1, 64)], ALL) == small[1:]


def merged_all(parts: list[Part]) -> tuple[list[Part], int]:
    """Parts when nothing is left to merge, and how many pieces were written again."""
    written = 0
    while group := next_group(covering(parts, ALL, 0, None)):
        used = {s.part for s in group}
        assert len(group) > 1
        pieces, size = sum(p.pieces for p in used), sum(p.size for p in used)
        parts = [p for p in parts if p not in used]
        parts.append(part(group[0].begin, group[-1].end, ALL, pieces, size))
        written += pieces
    return sorted(parts), written


def test_a_hundred_thousand_chunks_are_some_files_and_written_three_times() -> None:
    parts: list[Part] = []
    total, most = 0, 0
    for k in range(100_000):
        parts.append(part(k, k + 1, size=2_000))
        if k % 64 == 63:
            parts, written = merged_all(parts)
            total += written
            most = max(most, len(parts))
    assert most <= 3 * 64
    assert total <= 3 * 100_000


def test_large_parts_stay_as_they_are() -> None:
    parts: list[Part] = []
    for k in range(2_000):
        parts.append(part(k, k + 1, size=5 << 20))
        if k % 64 == 63:
            parts, _ = merged_all(parts)
    assert max(p.size for p in parts) < 2 * tables.LARGEST
    assert len(parts) < 2_000 * (5 << 20) / tables.LARGEST + 64


@given(order=st.permutations(range(40)))
def test_chunks_in_any_order_are_merged(order: list[int]) -> None:
    parts: list[Part] = []
    level, tables.LEVEL = tables.LEVEL, 4
    try:
        for k in order:
            parts, _ = merged_all([*parts, part(k, k + 1)])
    finally:
        tables.LEVEL = level
    assert runs_of(parts, ALL) == set(range(40))
    assert sum(p.pieces for p in parts) == 40
    assert len(parts) <= 16  # fewer than 4 of each of three levels between any two larger ones


def test_gaps_are_not_merged_over() -> None:
    parts = [part(k, k + 1) for k in range(200) if k != 50]
    after, _ = merged_all(parts)
    assert all(not p.begin <= 50 < p.end for p in after)
    assert isinstance(covering(after, ALL, 0, None)[0], Segment)
