"""How tests look on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ..brief import counted
from ..manoeuvres import Evaluation, Manoeuvre, Result, Row, Subject
from ..manoeuvres.evaluation import FAIL, NONE, PASS, difference_text, number_text
from .legible import Legible, needed

STYLES = {PASS: "green", FAIL: "bold red"}
ABOVE = ("metric", "unit", "verdict")
"""Columns that stand above the numbers where all of them do not fit beside each other."""


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
        lambda row: _if(row.theory, difference_text(row.value, row.theory, row.unit)),
        lambda rows: any(row.theory is not None for row in rows),
    ),
    Column(
        "against",
        lambda row: _if(row.reference, number_text(row.reference)),
        lambda rows: any(row.reference is not None for row in rows),
    ),
    Column(
        "diff.",
        lambda row: _if(row.reference, difference_text(row.value, row.reference, row.unit)),
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
    if len(evaluation.cars) > 1 and evaluation.reference is None:
        first, second = evaluation.cars[:2]
        hint = f"in columns side by side: skidpad test {second} --against {first}, or --html"
        parts.append(Text(f"\n{hint}", "dim"))
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
    yield _Metrics([row for row in rows if row.manoeuvre == manoeuvre.name])
    for note in result.findings.notes:
        yield Text(f"note: {note}", "yellow")


class _Metrics:
    """Metrics in a row each; on a narrow terminal in two, names and verdicts above the numbers."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.columns = [column for column in COLUMNS if column.wanted(rows)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = self._wide()
        if needed(wide) <= options.max_width:
            yield wide
            return
        numbers = [column for column in self.columns if column.name not in ABOVE]
        cells = [[str(column.cell(row)) for column in numbers] for row in self.rows]
        heads = [column.name for column in numbers]
        widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
        if sum(widths) + 2 * len(widths) > options.max_width:
            yield Legible(wide)
            return
        yield Text(_padded(heads, widths), "bold")
        yield Text("─" * (sum(widths) + 2 * len(widths)))
        for row, texts in zip(self.rows, cells, strict=True):
            yield _above(row)
            yield Text(_padded(texts, widths))

    def _wide(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        for column in self.columns:
            table.add_column(
                column.name,
                style="cyan" if column.name == "metric" else "",
                justify="right" if column.right else "left",
                no_wrap=True,
            )
        for row in self.rows:
            table.add_row(*(column.cell(row) for column in self.columns))
        return table


def _padded(texts: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers of a line, to the right of their columns."""
    pairs = zip(texts, widths, strict=True)
    return "".join("  " + " " * (width - cell_len(text)) + text for text, width in pairs).rstrip()


def _above(row: Row) -> Text:
    unit = f" in {row.unit}" if row.unit else ""
    verdict = (row.verdict, STYLES.get(row.verdict, "dim"))
    return Text.assemble((row.name, "cyan"), unit, "  " if row.verdict else "", verdict)


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
    if evaluation.limits is None:
        return []
    checked, failed = len(evaluation.checked), evaluation.failed
    lines = [
        Text(f"{FAIL} {row.car}, {row.manoeuvre}, {row.name}: {row.reason} {row.unit}", "red")
        for row in failed
    ]
    limits = counted(checked, "limit")
    text = f"{len(failed)} of {limits} broken" if failed else f"{limits} kept"
    skipped = len(evaluation.judged) - checked
    said = (text if checked else f"{limits} checked") + (f", {skipped} skipped" if skipped else "")
    return [*lines, Text(said, "bold")]


def manoeuvre_list(manoeuvres: Sequence[Manoeuvre], cars: Sequence[Subject]) -> RenderableType:
    """All manoeuvres with their sources, and why a vehicle cannot do one."""
    return _List(
        [
            (one.name, one.title, one.source, *(one.unfit(car) or "yes" for car in cars))
            for one in manoeuvres
        ],
        [car.name for car in cars],
    )


class _List:
    """Manoeuvres in a row each; on a narrow terminal with all that is said of one in a cell."""

    def __init__(self, rows: Sequence[Sequence[str]], cars: Sequence[str]) -> None:
        self.rows, self.cars = rows, cars

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = _listed(["manoeuvre", "what it is", "source", *self.cars], self.rows)
        if needed(wide) <= options.max_width:
            yield wide
            return
        rows: list[tuple[str, str]] = []
        for name, title, source, *answers in self.rows:
            said = [
                text if text.startswith(car) else f"{car}: {text}"  # a reason names its vehicle
                for car, text in zip(self.cars, answers, strict=True)
            ]
            rows.append((name, "\n".join([f"{title}, {source}", *said])))
        yield Legible(_listed(["manoeuvre", "what it is, source, and who can do it"], rows))


def _listed(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for k, head in enumerate(heads):
        table.add_column(head, style="cyan" if k == 0 else "", no_wrap=k == 0)
    for row in rows:
        table.add_row(*row)
    return table
