"""How tests look on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..brief import counted
from ..manoeuvres import Evaluation, Manoeuvre, Result, Row, Subject
from ..manoeuvres.evaluation import FAIL, NONE, PASS, difference_text, number_text
from .legible import Legible

STYLES = {PASS: "green", FAIL: "bold red"}


class Column(NamedTuple):
    """A column of the table, and when it is there."""

    name: str
    cell: Callable[[Row], str | Text]
    wanted: Callable[[Sequence[Row]], bool] = lambda _: True
    right: bool = True


def _interval(row: Row) -> str:
    if row.interval is None:
        return NONE
    low, high = map(number_text, row.interval)
    return f"{low} to {high}" + (f" ({row.lacking} without)" if row.lacking else "")


def _if(base: float | None, text: str) -> str:
    return "" if base is None else text


COLUMNS = (
    Column("metric", lambda row: row.name, right=False),
    Column("value", lambda row: number_text(row.value)),
    Column("unit", lambda row: row.unit, right=False),
    Column("5 to 95 %", _interval, lambda rows: any(row.interval for row in rows)),
    Column(
        "theory",
        lambda row: _if(row.theory, number_text(row.theory)),
        lambda rows: any(row.theory is not None for row in rows),
    ),
    Column(
        "diff.",
        lambda row: _if(row.theory, difference_text(row.from_theory)),
        lambda rows: any(row.theory is not None for row in rows),
    ),
    Column(
        "against",
        lambda row: _if(row.reference, number_text(row.reference)),
        lambda rows: any(row.reference is not None for row in rows),
    ),
    Column(
        "diff.",
        lambda row: _if(row.reference, difference_text(row.from_reference)),
        lambda rows: any(row.reference is not None for row in rows),
    ),
    Column(
        "limit",
        lambda row: "" if row.limit is None else str(row.limit),
        lambda rows: any(row.verdict for row in rows),
    ),
    Column(
        "verdict",
        lambda row: Text(row.verdict, STYLES.get(row.verdict, "dim")),
        lambda rows: any(row.verdict for row in rows),
        right=False,
    ),
)


def evaluation_tables(evaluation: Evaluation) -> RenderableType:
    """A table for each manoeuvre of each vehicle; below them what was not driven and what was
    broken."""
    parts: list[RenderableType] = []
    for car in evaluation.cars:
        own = [result for result in evaluation.results if result.car.name == car]
        parts.append(Text(car, "bold cyan"))
        rows = [row for row in evaluation.rows if row.car == car]
        parts += [part for result in own for part in _of_result(result, rows)]
        parts += _unfit(own)
    if evaluation.reference is not None:
        parts.append(Text(f"against: {evaluation.reference.name}", "dim"))
        parts += [
            Text(f"note: {name}: {reason}", "yellow")
            for name, reason in evaluation.not_compared.items()
        ]
        parts += [Text(f"note: {note}", "yellow") for note in evaluation.reference.notes]
    return Group(*parts, *_verdicts(evaluation))


def _of_result(result: Result, rows: Sequence[Row]) -> Iterator[RenderableType]:
    """A heading, the table and notes; `rows` are all of the vehicle."""
    if result.findings is None:
        return
    manoeuvre = result.manoeuvre
    yield Text.assemble(
        "\n", (manoeuvre.name, "bold"), (f"  {manoeuvre.title}, {manoeuvre.source}", "dim")
    )
    own = [row for row in rows if row.manoeuvre == manoeuvre.name]
    columns = [column for column in COLUMNS if column.wanted(own)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(
            column.name,
            style="cyan" if column.name == "metric" else "",
            justify="right" if column.right else "left",
            no_wrap=True,
        )
    for row in own:
        table.add_row(*(column.cell(row) for column in columns))
    yield Legible(table)
    for note in result.findings.notes:
        yield Text(f"note: {note}", "yellow")


def _unfit(results: Sequence[Result]) -> list[Text]:
    """Manoeuvres that were not driven, by their reasons."""
    reasons: dict[str, list[str]] = {}
    for result in results:
        if result.unfit:
            reasons.setdefault(result.unfit, []).append(result.manoeuvre.name)
    return [
        Text(f"not driven: {', '.join(names)}: {reason}", "dim")
        for reason, names in reasons.items()
    ]


def _verdicts(evaluation: Evaluation) -> list[Text]:
    judged, failed = evaluation.judged, evaluation.failed
    if not judged:
        return []
    lines = [
        Text(f"{FAIL} {row.car}, {row.manoeuvre}, {row.name}: {row.reason} {row.unit}", "red")
        for row in failed
    ]
    broken = f"{len(failed)} of {counted(len(judged), 'limit')} broken"
    return [*lines, Text(broken if failed else f"{counted(len(judged), 'limit')} kept", "bold")]


def manoeuvre_list(manoeuvres: Sequence[Manoeuvre], cars: Sequence[Subject]) -> RenderableType:
    """All manoeuvres with their sources, and why a vehicle cannot do one."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("manoeuvre", style="cyan", no_wrap=True)
    table.add_column("what it is")
    table.add_column("source")
    for car in cars:
        table.add_column(car.name)
    for one in manoeuvres:
        table.add_row(one.name, one.title, one.source, *(one.unfit(car) or "yes" for car in cars))
    return Legible(table)
