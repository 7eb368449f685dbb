"""Tables and key figures of the report, as HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import pi
from typing import NamedTuple

from ...manoeuvres import Evaluation, Result, Row
from ...manoeuvres.evaluation import FAIL, NONE, PASS, difference_text, number_text

__all__ = ["key_figures", "metric_table", "unfit_table", "verdict_table"]

KEYS = (
    "understeer_gradient",
    "max_lateral_acceleration",
    "roll_gradient",
    "yaw_rate_rise_time",
    "yaw_rate_overshoot",
    "yaw_rate_bandwidth",
    "stopping_distance",
    "entry_speed",
    "largest_factor_passed",
    "time_to_100_km_h",
    "kerb_to_kerb",
    "lap_time",
)
"""Metrics that are shown first, where there are any."""
MOST_KEYS = 10
CUSTOMARY = {
    "rad·s²/m": ("°/g", 9.80665 * 180.0 / pi),
    "rad": ("°", 180.0 / pi),
    "rad/s": ("°/s", 180.0 / pi),
    "m/s": ("km/h", 3.6),
    "m/s²": ("g", 1.0 / 9.80665),
}
"""Units that people are used to, and how many of them a unit is."""


UNITS = {"km h": "km/h", "hz": "Hz"}
"""In names of metrics, and as they are written."""


class _Column(NamedTuple):
    head: str
    cell: Callable[[Row], str]
    kind: str = "number"


def metric_table(evaluation: Evaluation, results: Sequence[Result]) -> str:
    """All metrics of a manoeuvre; of several vehicles one below the other."""
    rows = [row for result in results for row in evaluation.rows_of(result)]
    if not rows:
        return ""
    columns = _columns(evaluation, rows)
    names = list(dict.fromkeys(row.name for row in rows))
    body: list[str] = []
    for name in names:
        own = [row for row in rows if row.name == name]
        about = next((row.definition for row in own if row.definition), "")
        if reason := next((row.rough for row in own if row.rough), ""):
            about = f"{about} It has no derivative by parameters: {reason}.".strip()
        head = (
            f'<th scope="rowgroup" rowspan="{len(own)}" title="{escape(about)}">'
            f"{escape(words(name))}"
            f"<small>{escape(about)}</small></th>"
        )
        for k, row in enumerate(own):
            cells = "".join(
                f'<td class="{column.kind}" data-head="{escape(column.head)}">'
                f"{column.cell(row)}</td>"
                for column in columns
            )
            failed = ' class="failed"' if row.verdict == FAIL else ""
            body.append(f"<tr{failed}>{head if k == 0 else ''}{cells}</tr>")
    heads = "".join(f'<th scope="col" class="{c.kind}">{escape(c.head)}</th>' for c in columns)
    return (
        '<div class="scroll"><table class="metrics"><thead><tr><th scope="col">metric</th>'
        f"{heads}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _columns(evaluation: Evaluation, rows: Sequence[Row]) -> list[_Column]:
    columns: list[_Column] = []
    cars = evaluation.cars
    if len(cars) > 1:
        columns.append(_Column("vehicle", lambda row: escape(row.car), "text"))
    columns.append(_Column("value", _value))
    columns.append(_Column("unit", lambda row: escape(row.unit), "text"))
    if any(row.interval for row in rows):
        columns.append(_Column("5 to 95 %", _interval))
    if len(cars) > 1:
        base = {row.name: row.value for row in rows if row.car == cars[0]}
        columns.append(
            _Column(
                f"from {cars[0]}",
                lambda row: _difference(row, base.get(row.name)) if row.car != cars[0] else "",
            )
        )
    if any(row.theory is not None for row in rows):
        columns.append(_Column("theory", lambda row: _if(row.theory)))
        columns.append(_Column("difference", lambda row: _difference(row, row.theory)))
    if evaluation.reference is not None:
        columns.append(_Column(evaluation.reference.name, lambda row: _if(row.reference)))
        columns.append(_Column("difference", lambda row: _difference(row, row.reference)))
    if any(row.verdict for row in rows):
        columns.append(_Column("limit", lambda row: escape(str(row.limit or ""))))
        columns.append(_Column("verdict", _verdict, "text"))
    return columns


def _value(row: Row) -> str:
    """With its unit, which is seen where there is no room for a column of units."""
    return f'<b>{number_text(row.value)}</b> <span class="unit">{escape(row.unit)}</span>'


def _if(value: float | None) -> str:
    return "" if value is None else number_text(value)


def _difference(row: Row, base: float | None) -> str:
    return "" if base is None else escape(difference_text(row.value, base, row.unit))


def _interval(row: Row) -> str:
    if row.interval is None:
        return NONE
    low, high = map(number_text, row.interval)
    return f"{low} to {high}" + (f"<small>{row.lacking} without</small>" if row.lacking else "")


def _verdict(row: Row) -> str:
    if not row.verdict:
        return ""
    kind = {PASS: "good", FAIL: "bad"}.get(row.verdict, "dim")
    reason = f"<small>{escape(row.reason)}</small>" if row.reason else ""
    return f'<span class="badge {kind}">{escape(row.verdict)}</span>{reason}'


def verdict_table(rows: Sequence[Row]) -> str:
    """Limits that were broken."""
    items = "".join(
        f'<li><span class="badge bad">{FAIL}</span> <b>{escape(row.car)}</b>, '
        f'<a href="#{escape(row.manoeuvre)}">{escape(words(row.manoeuvre))}</a>, '
        f"{escape(words(row.name))}: {escape(row.reason)} {escape(row.unit)}</li>"
        for row in rows
    )
    return f'<ul class="plain">{items}</ul>' if items else ""


def unfit_table(results: Sequence[Result]) -> str:
    """What was not driven, and why."""
    rows = "".join(
        f"<tr><th scope='row'>{escape(result.manoeuvre.title)}</th>"
        f"<td>{escape(result.unfit)}</td></tr>"
        for result in results
        if result.unfit
    )
    return (
        f'<div class="scroll"><table class="plain"><tbody>{rows}</tbody></table></div>'
        if rows
        else ""
    )


def key_figures(evaluation: Evaluation) -> str:
    """The most telling metrics as cards, with the units that people are used to."""
    rows = [row for row in evaluation.rows if number_text(row.value) != NONE]
    names = list(dict.fromkeys(row.name for row in rows))
    first = [name for name in KEYS if name in names]
    of_each = dict.fromkeys(
        next(row.name for row in rows if row.manoeuvre == manoeuvre)
        for manoeuvre in dict.fromkeys(row.manoeuvre for row in rows)
    )
    chosen = list(dict.fromkeys([*first, *of_each]))[:MOST_KEYS]
    beside = "" if evaluation.reference is None else evaluation.reference.name
    return f'<div class="cards">{"".join(_card(name, rows, beside) for name in chosen)}</div>'


def _card(name: str, rows: Sequence[Row], beside: str) -> str:
    manoeuvre = next(row.manoeuvre for row in rows if row.name == name)
    own = [row for row in rows if row.name == name and row.manoeuvre == manoeuvre]
    several = len(own) > 1
    lines = "".join(
        f"<p>{f'<i>{escape(row.car)}</i>' if several else ''}<b>{number_text(row.value)}</b> "
        f"<span>{escape(row.unit)}</span>{_customary(row)}{_compared(row, beside)}</p>"
        for row in own
    )
    link = f'<a href="#{escape(manoeuvre)}">{escape(words(manoeuvre))}</a>'
    return f'<div class="card"><h3>{escape(words(name))}</h3>{lines}<footer>{link}</footer></div>'


def _customary(row: Row) -> str:
    if row.unit not in CUSTOMARY:
        return ""
    unit, factor = CUSTOMARY[row.unit]
    return f"<small>{number_text(factor * row.value)} {unit}</small>"


def _compared(row: Row, beside: str) -> str:
    """Beside what it is compared with."""
    if row.reference is None or number_text(row.reference) == NONE:
        return ""
    text = difference_text(row.value, row.reference, row.unit)
    # The unit belongs to its number.
    share = (
        "" if text == NONE else f" ({escape(text)})".replace(" ", "\u00a0").replace("\u00a0(", " (")
    )
    return f"<small>{escape(beside)}: {number_text(row.reference)}{share}</small>"


def words(name: str) -> str:
    """A name as a reader would have it: "yaw rate rise time"."""
    text = name.replace("_", " ")
    for plain, unit in UNITS.items():
        text = f"{text} ".replace(f" {plain} ", f" {unit} ").rstrip()
    return text
