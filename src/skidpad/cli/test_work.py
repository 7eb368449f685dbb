"""Work of `skidpad test`: vehicles under test, the reference, and the tables of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ..core.files import counted, first_repeated
from ..errors import InvalidValue
from ..study.manoeuvres.case_run import CaseRun
from ..study.manoeuvres.evaluation import (
    FAIL,
    NONE,
    PASS,
    Evaluation,
    Reference,
    Row,
    difference_text,
    earlier,
    number_text,
)
from ..study.manoeuvres.logs import adapt, adapted_settings, drive_of_log, measured_reference
from ..study.manoeuvres.manoeuvre import Manoeuvre
from ..study.manoeuvres.proving_ground import Result
from ..study.manoeuvres.sensitivities import parse_spread, spread_out
from ..study.manoeuvres.subject import Subject
from ..view.sheet import Sheet
from . import sheets
from .options import is_vehicle, vehicle_of

LOGS = (".csv", ".parquet", ".mcap", ".db3")
UNCHANGED = "(unchanged)"
"""Suffix of the name of a vehicle that a changed one is compared with: itself without
changes."""


def subjects_of(
    names: Sequence[str],
    params: Sequence[Path] | None = None,
    settings: Sequence[str] | None = None,
    variants: int = 0,
    spread: Sequence[str] | None = None,
    seed: int = 0,
) -> list[Subject]:
    """Vehicles under test, with variants if requested."""
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidValue(f"{twice} is named twice; vehicles under test must differ")
    if spread and not variants:
        raise InvalidValue("--spread goes with --variants, as in --variants 200")
    if variants and not spread:
        raise InvalidValue("--variants goes with --spread, as in --spread m=5%")
    cars = {name: vehicle_of(name, params, settings) for name in names}
    if not variants:
        return [Subject(car, name=name) for name, car in cars.items()]
    widths = parse_spread(spread or ())
    return [spread_out(car, widths, variants, seed=seed, name=name) for name, car in cars.items()]


@dataclass(frozen=True)
class Against:
    """Comparison requested by `--against`, as far as it is known before the runs."""

    earlier: Reference | None = None
    drive: CaseRun | None = None
    aligned: bool = True
    wheel_base: float | None = None
    """Wheelbase of the measured vehicle in m; None for that of the vehicle under test."""
    notes: Sequence[str] = ()
    cars: Sequence[Subject] = ()
    """Other vehicles, which have to drive too."""

    def adapt(self, tests: Sequence[Manoeuvre]) -> tuple[Sequence[Manoeuvre], Against]:
        """Tests with the settings of the log, where they can be determined, and notes on the
        changes."""
        if self.drive is None:
            return tests, self
        as_driven: list[Manoeuvre] = []
        notes = list(self.notes)
        for test in tests:
            try:
                as_driven.append(adapt(test, self.drive))
            except InvalidValue:  # `measured` tells why
                as_driven.append(test)
            if settings := adapted_settings(test, as_driven[-1]):
                notes.append(f"{test.name} is driven as the log was: {settings}")
        return as_driven, replace(self, notes=notes)

    def reference(self, results: Sequence[Result], others: Sequence[Result]) -> Reference | None:
        """Reference from the results of the vehicles under test and of the other ones."""
        if self.drive is not None:
            how: Any = {"aligned": self.aligned, "wheel_base": self.wheel_base}
            return measured_reference(self.drive, results, notes=self.notes, **how)
        if self.cars:
            return Reference.of_results(self.cars[0].name, others)
        return self.earlier


def compared_with(
    against: str | None,
    tests: Sequence[str] | None,
    cars: Sequence[Subject],
    names: Mapping[str, str],
    at: float | None,
    *,
    changed: bool = False,
    wheel_base: float | None = None,
) -> Against:
    """Comparison that `--against` names; `tests` are the manoeuvres chosen by the user.

    With `changed`, the vehicles under test have other parameters than their names say, and one may
    be compared with its original.
    """
    path = Path(against) if against is not None else Path()
    log = against is not None and (path.is_dir() or path.suffix.lower() in LOGS)
    of_log = {"map": names or None, "at": at, "wheelbase": wheel_base}
    given = [option for option, value in of_log.items() if value is not None]
    if given and not log:
        raise InvalidValue(f"--{given[0]} goes with --against LOG")
    if against is None:
        return Against()
    if log:
        from ..study.logs.reading import read_log

        if not tests:
            raise InvalidValue(
                f"--against {against}: name the manoeuvre of the log with --manoeuvre, such as "
                "step_steer"
            )
        drive, notes = drive_of_log(read_log(path, names), at)
        return Against(drive=drive, aligned=at is None, wheel_base=wheel_base, notes=notes)
    if path.suffix.lower() == ".json":
        return Against(earlier(path))
    under_test = against in [car.name for car in cars]
    if under_test and not changed:
        raise InvalidValue(
            f"--against {against}: this vehicle is itself under test; name another one, or "
            "change the vehicle under test with --set or --params"
        )
    if not is_vehicle(against):
        raise InvalidValue(
            f"--against {against} is neither a file of results (.json), nor a log "
            f"({', '.join(LOGS)}, or a bag), nor a vehicle; skidpad models lists the vehicles"
        )
    name = f"{against} {UNCHANGED}" if under_test else against
    return Against(cars=[Subject(vehicle_of(against), name=name)])


STYLES = {PASS: "green", FAIL: "bold red"}
ABOVE = ("metric", "unit", "verdict")
"""Columns placed above the numbers if they do not all fit in one row."""


class Column(NamedTuple):
    """A column of the table, and the condition for showing it."""

    name: str
    cell: Callable[[Row], str | Text]
    wanted: Callable[[Sequence[Row]], bool] = lambda _: True
    right: bool = True


def _interval(row: Row) -> str:
    if row.interval is None:
        return NONE
    low, high = map(number_text, row.interval)
    return f"{low} to {high}" + (f" ({row.lacking} without)" if row.lacking else "")


def _compared(head: str, wanted: Callable[[Row], float | None]) -> tuple[Column, Column]:
    """Columns of a compared value and of the difference from it."""

    def there(rows: Sequence[Row]) -> bool:
        return any(wanted(row) is not None for row in rows)

    def difference(row: Row) -> str:
        base = wanted(row)
        return "" if base is None else difference_text(row.value, base, row.unit)

    def number(row: Row) -> str:
        return "" if (base := wanted(row)) is None else number_text(base)

    return Column(head, number, there), Column("diff.", difference, there)


COLUMNS = (
    Column("metric", lambda row: row.name, right=False),
    Column("value", lambda row: number_text(row.value)),
    Column("unit", lambda row: row.unit, right=False),
    Column("5 to 95 %", _interval, lambda rows: any(row.interval for row in rows)),
    *_compared("theory", lambda row: row.theory),
    *_compared("against", lambda row: row.reference),
    Column("limit", lambda row: str(row.limit or ""), lambda rows: any(r.verdict for r in rows)),
    Column(
        "verdict",
        lambda row: Text(row.verdict, STYLES.get(row.verdict, "dim")),
        lambda rows: any(row.verdict for row in rows),
        right=False,
    ),
)


def evaluation_tables(evaluation: Evaluation) -> RenderableType:
    """A table for each manoeuvre of each vehicle, followed by skipped manoeuvres and broken
    limits."""
    parts: list[RenderableType] = []
    for car in evaluation.cars:
        own = [result for result in evaluation.results if result.car.name == car]
        parts.append(Text(car, "bold cyan"))
        rows = [row for row in evaluation.rows if row.car == car]
        parts += [part for result in own for part in _of_result(result, rows)]
        reasons: dict[str, list[str]] = {}
        for result in own:
            if result.unfit:
                reasons.setdefault(result.unfit, []).append(result.manoeuvre.name)
        for reason, names in reasons.items():
            parts.append(Text(f"not driven: {', '.join(names)}: {reason}", "dim"))
    reference = evaluation.reference
    if len(evaluation.cars) > 1 and reference is None:
        first, second = evaluation.cars[:2]
        hint = f"in columns side by side: skidpad test {second} --against {first}, or --html"
        parts.append(Text(f"\n{hint}", "dim"))
    if reference is not None:
        missing = [f"{name}: {reason}" for name, reason in evaluation.not_compared.items()]
        parts.append(Text(f"against: {reference.name}", "dim"))
        parts += sheets.notes([*missing, *reference.notes])
    if evaluation.limits is not None:
        parts += _verdicts(evaluation)
    return Group(*parts)


def _of_result(result: Result, rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Heading, table and notes of a result; `rows` are all of the vehicle."""
    if result.findings is None:
        return
    manoeuvre = result.manoeuvre
    about = f"  {manoeuvre.title}, {manoeuvre.source}", "dim"
    yield Text.assemble("\n", (manoeuvre.name, "bold"), about)
    yield _Metrics([row for row in rows if row.manoeuvre == manoeuvre.name])
    yield from sheets.notes(result.findings.notes)


class _Metrics:
    """Metrics with a row each; on a narrow terminal two lines, with names and verdicts above the
    numbers."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.columns = [column for column in COLUMNS if column.wanted(rows)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = self._wide()
        if sheets.needed_width(wide) <= options.max_width:
            yield wide
            return
        numbers = [column for column in self.columns if column.name not in ABOVE]
        cells = [[str(column.cell(row)) for column in numbers] for row in self.rows]
        heads = [column.name for column in numbers]
        widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
        if sum(widths) + 2 * len(widths) > options.max_width:
            yield sheets.Legible(wide)
            return
        yield Text(_padded(heads, widths), "bold")
        yield Text("─" * (sum(widths) + 2 * len(widths)))
        for row, texts in zip(self.rows, cells, strict=True):
            yield _above(row)
            yield Text(_padded(texts, widths))

    def _wide(self) -> Table:
        table = sheets.plain_table(padding=(0, 1, 0, 0))
        for column in self.columns:
            style = "cyan" if column.name == "metric" else ""
            justify = "right" if column.right else "left"
            table.add_column(column.name, style=style, justify=justify, no_wrap=True)
        for row in self.rows:
            table.add_row(*(column.cell(row) for column in self.columns))
        return table


def _padded(texts: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers of a line, right-aligned in their columns."""
    pairs = zip(texts, widths, strict=True)
    return "".join("  " + " " * (width - cell_len(text)) + text for text, width in pairs).rstrip()


def _above(row: Row) -> Text:
    unit = f" in {row.unit}" if row.unit else ""
    verdict = (row.verdict, STYLES.get(row.verdict, "dim"))
    return Text.assemble((row.name, "cyan"), unit, "  " if row.verdict else "", verdict)


def _verdicts(evaluation: Evaluation) -> list[Text]:
    checked, failed = len(evaluation.checked), evaluation.failed
    lines = [
        Text(f"{FAIL} {r.car}, {r.manoeuvre}, {r.name}: {r.reason} {r.unit}", "red") for r in failed
    ]
    limits = counted(checked, "limit")
    text = f"{len(failed)} of {limits} broken" if failed else f"{limits} kept"
    skipped = len(evaluation.judged) - checked
    said = (text if checked else f"{limits} checked") + (f", {skipped} skipped" if skipped else "")
    return [*lines, Text(said, "bold")]


def manoeuvre_list(manoeuvres: Sequence[Manoeuvre], cars: Sequence[Subject]) -> RenderableType:
    """Table of all manoeuvres with their sources, and why a vehicle cannot do one."""
    answers = ([one.unfit(car) or "yes" for car in cars] for one in manoeuvres)
    pairs = zip(manoeuvres, answers, strict=True)
    rows = [(one.name, one.title, one.source, *own) for one, own in pairs]
    return _List(rows, [car.name for car in cars])


class _List:
    """Manoeuvres with a row each; on a narrow terminal a single cell per manoeuvre."""

    def __init__(self, rows: Sequence[Sequence[str]], cars: Sequence[str]) -> None:
        self.rows, self.cars = rows, cars

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = ("manoeuvre", "what it is", "source", *self.cars)
        wide = sheets.table(Sheet(heads, self.rows, wraps=range(1, len(heads))))
        if sheets.needed_width(wide) <= options.max_width:
            yield wide
            return
        rows: list[tuple[str, str]] = []
        for name, title, source, *answers in self.rows:
            said = [
                text if text.startswith(car) else f"{car}: {text}"  # a reason names its vehicle
                for car, text in zip(self.cars, answers, strict=True)
            ]
            rows.append((name, "\n".join([f"{title}, {source}", *said])))
        heads = ("manoeuvre", "what it is, source, and who can do it")
        yield sheets.legible(Sheet(heads, rows, wraps=(1,)))
