"""Figures on the pages are what the tool computes, or what the kept benchmarks measured.

A figure is tied to a computation in one of the tables of `tied_figures.py` and `tied_rows.py`:

* `SENTENCES`: words of a page with `{}` for each number, and what computes the numbers,
* `COLUMNS`: a table of a page, and what computes a column from the first cell of a row,
* `BENCHMARKS`: rows of the README and the entries in `benchmarks/results` that they round. Rows
  whose first cell is the name of an entry are tied by it, on any page.

On every page but those of `ELSEWHERE` each number with a unit is tied, or listed in `GIVEN` as one
that is set, quoted or measured rather than computed. So a new figure fails here until it is one or
the other. Of those of `ELSEWHERE`

* `docs/validation.md` is written from its tables of checks (`tests/validation/test_page.py`),
* `docs/validation_real.md` is written from recordings that are not part of the project,
* `docs/performance.md` is tables of entries of the benchmarks, whose values are compared here; what
  is beside the values (peers, sizes, remarks) is not,
* `docs/api.md` lists names, with what their docstrings say.

What other programs do (`docs/errata.md`, `docs/coming_from`) is quoted: most of that is given.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from docs.figure_values import NUMBER, Column, Sentence, results, rounded
from docs.given_figures import GIVEN, WATCHED
from docs.tied_figures import SENTENCES
from docs.tied_rows import BENCHMARKS, COLUMNS, QUICK
from pages import PAGES, ROOT, blocks, tables
from printed import rounds_to
from skidpad.vehicles.twin_track.sets import SETS

UNIT = (
    "%|°|deg/g|deg|km/h|[mc]?m/s²|[mc]?m/s|1/s|rad/s|rad|kg·m²|kg|kW|kN|N·m|N|Hz|kHz|ms|µs|s|mm|cm"
    "|km|m|[kMG]B|bytes|million|billion"
)
FIGURE = re.compile(rf"(?<![\w.,/^-])(?P<number>{NUMBER}) ?(?P<unit>{UNIT})(?![\w·²/])")


MEASURED = re.compile(r"(?P<numbers>\d[\d .]*(?: / \d[\d .]*)*) (?P<unit>billion|million|µs|ms|s)?")
PLAIN = {name.replace("`", ""): entries for name, entries in BENCHMARKS.items()}
UNITS = {"billion": 1e9, "million": 1e6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, None: 1.0}


@cache
def text_of(page: str) -> str:
    """A page without its fenced blocks, with one blank wherever it has several, or a new line."""
    text = (ROOT / page).read_text("utf-8")
    lines = text.splitlines()
    for block in blocks(text):
        lines[block.line - 1 : block.line - 1 + len(block.text)] = [""] * len(block.text)
    return " ".join(" ".join(lines).split())


def spans(sentence: Sentence) -> list[re.Match[str]]:
    words = re.escape(" ".join(sentence.words.split())).replace(r"\{\}", f"({NUMBER})")
    return list(re.finditer(words, text_of(sentence.page)))


@pytest.mark.slow_cases(
    "docs/proving_ground.md: `slow_ramp` finds {} to {} % more than turns o",
    "docs/proving_ground.md: near its top speed there, and the ramp finds {",
)
@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: f"{one.page}: {one.words}"[:70])
def test_figures_in_sentences_are_those_of_the_tool(sentence: Sentence) -> None:
    found = spans(sentence)
    assert len(found) == 1, f"{sentence.page} has these words {len(found)} times: {sentence.words}"
    numbers = found[0].groups()
    if sentence.holds is not None:
        assert sentence.holds(*map(float, numbers))
        return
    values = sentence.values()
    assert len(values) == len(numbers)
    stale = [(n, v) for n, v in zip(numbers, values, strict=True) if not rounded(v, n)]
    assert not stale, f"{sentence.page}: shown and computed are {stale}"


def rows_of(column: Column) -> dict[str, str]:
    """The cells of a column by the first cells of their rows."""
    text = (ROOT / column.page).read_text("utf-8")
    (table,) = [t for t in tables(text) if tuple(t[0][: len(column.head)]) == column.head]
    at = [cell.replace("`", "") for cell in table[0]].index(column.title)
    return {row[0]: row[at] for row in table[1:]}


@pytest.mark.slow_cases("100-0 km/h-sports", "0-100 km/h-sports", "skidpad test: 0-100 km/h-sports")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SETS],
)
@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: one.title)
def test_figures_in_tables_are_those_of_the_tool(column: Column, name: str) -> None:
    cells = rows_of(column)
    assert list(cells) == list(SETS)
    number, value = cells[name].split()[0], column.value(name)
    assert rounds_to(repr(value), number), f"{name}: shown {number}, computed {value:.4g}"


class Measured(NamedTuple):
    """A row of a table that tells what a benchmark measured."""

    page: str
    entries: tuple[str, ...]
    numbers: list[str]
    unit: str | None
    text: str
    """The numbers with their unit, as on the page."""


@cache
def measured() -> tuple[Measured, ...]:
    """Every such row of the pages."""
    known, found = {name for name, _ in results()}, list[Measured]()
    for page in PAGES:
        rows = (row for table in tables(page.read_text("utf-8")) for row in table)
        for row in (row for row in rows if len(row) > 1):
            figure = MEASURED.match(f"{row[1]} ")
            entry = re.split(r"[`,]", row[0])[0]
            names = PLAIN.get(row[0].replace("`", ""), (entry,) if entry in known else ())
            if figure and names and (figure["unit"] or page.name == "README.md"):
                numbers = [n.replace(" ", "") for n in figure["numbers"].split(" / ")]
                name = page.relative_to(ROOT).as_posix()
                found.append(Measured(name, names, numbers, figure["unit"], figure[0].strip()))
    return tuple(found)


def test_speeds_are_those_of_the_latest_results() -> None:
    values, rows = dict[str, list[float]](), measured()
    for (name, _), entry in results().items():
        values.setdefault(name, []).append(entry["value"])
    assert {row.entries for row in rows} >= set(BENCHMARKS.values())
    stale = [
        (row.page, name, row.text, values[name])
        for row in rows
        for name, number in zip(row.entries, row.numbers, strict=False)
        if not any(rounded(v / UNITS[row.unit], number) for v in values[name])
    ]
    assert not stale


def test_every_row_of_the_readme_is_tied_to_a_benchmark() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (table,) = [t for t in tables(text) if t[0][:2] == ["what", "figure"]]
    assert [row[0].replace("`", "") for row in table[1:]] == [
        name.replace("`", "") for name in BENCHMARKS
    ]


def untied(page: str) -> Counter[str]:
    """Figures of a page that no table of this file ties to a computation."""
    text = list(text_of(page))
    for sentence in (one for one in SENTENCES if one.page == page):
        for match in spans(sentence):
            text[match.start() : match.end()] = "_" * (match.end() - match.start())
    rest = "".join(text)
    for column in (one for one in COLUMNS if one.page == page):
        for cell in rows_of(column).values():
            rest = rest.replace(f"| {cell} ", "| ", 1)
    for row in (one for one in measured() if one.page == page):
        rest = rest.replace(f"| {row.text} ", "| ", 1)
    if page == "README.md":
        rest = re.sub("<!-- figures:begin -->.*<!-- figures:end -->", "", rest)
    return Counter(f"{found['number']} {found['unit']}" for found in FIGURE.finditer(rest))


@pytest.mark.parametrize("page", WATCHED)
def test_a_figure_is_tied_to_a_computation_or_listed_as_given(page: str) -> None:
    listed = Counter(filter(None, (one.strip() for one in GIVEN.get(page, "").split(","))))
    new = untied(page) - listed
    assert not new, (
        f"{page} has figures that nothing computes: {', '.join(new)}. Tie them in SENTENCES or "
        "COLUMNS of this test, or list them in GIVEN if they are set or quoted"
    )


def test_a_new_figure_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "docs/vehicles.md"
    before = untied(page)
    text = text_of(page) + " It has 431.5 kW. | `compact` | 12.34 s |"
    monkeypatch.setitem(globals(), "text_of", lambda _: text)
    assert untied(page) - before == Counter(["431.5 kW", "12.34 s"])
