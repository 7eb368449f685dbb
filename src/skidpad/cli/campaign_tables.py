"""Tables of campaigns: what a file asks for, how far it is, what came out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..brief import counted
from ..campaigns.campaign import Campaign, Estimate
from ..campaigns.experiment import FAILED, Column
from ..campaigns.summary import SHARES
from .legible import Legible

NONE = "–"


def plan_values(plan: Campaign, estimate: Estimate) -> dict[str, Any]:
    """What a file asks for, as plain values."""
    return {**plan.plan(), "runs": plan.runs, "estimate": estimate._asdict()}


def plan_sheet(plan: Campaign, estimate: Estimate) -> RenderableType:
    """What differs between runs, what is kept of each, and what it will take."""
    units = plan.experiment.factor_units()
    factors = [
        (name, units[name], _shown(one.low), _shown(one.high)) for name, one in plan.factors.items()
    ]
    own = [
        (column.name, column.unit, column.kind, column.meaning)
        for column in plan.columns()
        if column.name not in plan.factors
    ]
    parts: list[RenderableType] = [Text(plan.name, "bold cyan"), Text(str(estimate))]
    if factors:
        parts += [Text(), _table(("factor", "unit", "lowest", "highest"), factors, numbers=(2, 3))]
    return Group(*parts, Text(), _table(("column", "unit", "kind", "meaning"), own, wraps=(3,)))


def state_sheet(state: Mapping[str, Any]) -> RenderableType:
    """How far a campaign is."""
    rows = [
        ("runs", _of_most(state)),
        ("failed", str(state["failed"])),
        ("rate", _rate(state["rate"])),
        ("size", NONE if state["bytes"] is None else _size(state["bytes"])),
        ("digest", state["digest"]),
        ("state", _state(state)),
    ]
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    heading = Text.assemble((state["name"], "bold cyan"), f"  {state['folder']}", overflow="fold")
    return Group(heading, grid, *_damage(state))


def summary_sheet(summary: Mapping[str, Any]) -> RenderableType:
    """What a campaign found."""
    parts: list[RenderableType] = [state_sheet(summary)]
    if summary["reason"]:
        parts += [Text(), Text(f"No means: {summary['reason']}.", "yellow")]
    elif summary["caution"]:
        parts += [Text(), Text(f"No intervals: {summary['caution']}.", "yellow")]
    numbers, truths = summary["numbers"], summary["truths"]
    if numbers:
        table = _chosen_table(numbers) if summary["reason"] else _number_table(numbers)
        parts += [Text(), table]
    told = {name: one for name, one in truths.items() if name != FAILED or one["happened"]}
    if told:
        parts += [Text(), _truth_table(told, "share" if summary["caution"] else "probability")]
    if summary["failed"] and told.keys() - {FAILED}:
        parts += [Text(f"{summary['failed']} failed, counted as not.")]
    if summary["outcome"]:
        parts += [Text(), _outcome(summary["outcome"])]
    kept = summary["trajectories"]
    if kept:
        shown = ", ".join(map(str, kept[:8])) + (", ..." if len(kept) > 8 else "")
        parts += [Text(), Text(f"Whole runs kept: {shown}", overflow="fold")]
    return Group(*parts)


def run_table(columns: Sequence[Column], row: Mapping[str, Any], run: int) -> RenderableType:
    """All numbers of one run."""
    rows = [(one.name, one.unit, _value(row[one.name])) for one in columns]
    return _table((f"run {run}", "unit", "value"), rows, numbers=(2,))


def _value(value: Any) -> str:
    """In full: a run is known by its bits."""
    return repr(float(value)) if isinstance(value, float) else str(bool(value)).lower()


def _number_table(numbers: Mapping[str, Any]) -> RenderableType:
    heads = ("metric", "unit", "mean", *(f"{100 * share:g} %" for share in SHARES), "without")
    most = max((one["runs"] for one in numbers.values()), default=0)
    rows = [(name, one["unit"], *_cells(one, most)) for name, one in numbers.items()]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return _table(heads, rows, numbers=range(2, len(heads)))


def _cells(one: Mapping[str, Any], most: int) -> Iterator[str]:
    if "mean" not in one:
        yield from (NONE,) * (1 + len(SHARES))
    else:
        mean = one["mean"]
        yield _with_interval(mean)
        for quantile in one["quantiles"].values():
            yield _shown(quantile["value"])
    yield str(most - one["runs"]) if most > one["runs"] else ""


def _chosen_table(numbers: Mapping[str, Any]) -> RenderableType:
    rows = [
        (name, one["unit"], _shown(one["lowest"]), _shown(one["highest"]))
        for name, one in numbers.items()
    ]
    return _table(("metric", "unit", "lowest", "highest"), rows, numbers=(2, 3))


def _truth_table(truths: Mapping[str, Any], share: str) -> RenderableType:
    rows = [
        (
            name,
            f"{one['happened']} of {one['runs']}",
            _shown(one["value"]) if "value" in one else NONE,
            NONE if one.get("low") is None else f"{_shown(one['low'])} to {_shown(one['high'])}",
        )
        for name, one in truths.items()
    ]
    heads = ("event", "runs", share, "with 95 % confidence")
    if all(row[-1] == NONE for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return _table(heads, rows, numbers=range(1, len(heads)))


def _outcome(outcome: Mapping[str, Any]) -> RenderableType:
    """What the design found; of long lists only how many there are."""
    rows = [(name.replace("_", " "), _plain(value)) for name, value in outcome.items()]
    return _table(("the design found", ""), rows, wraps=(1,))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, str)):
        return str(value)
    if value is None or isinstance(value, float):
        return _shown(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    return "; ".join(map(_plain, value[:12])) + ("; ..." if len(value) > 12 else "")


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    wraps: Sequence[int] = (),
) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for k, head in enumerate(heads):
        style = "cyan" if k == 0 else ""
        justify = "right" if k in numbers else "left"
        table.add_column(head, style=style, justify=justify, no_wrap=k not in wraps)
    for row in rows:
        table.add_row(*map(Text, row))
    return Legible(table)


def _damage(state: Mapping[str, Any]) -> list[RenderableType]:
    return [Text(f"damaged: {text}", "red", overflow="fold") for text in state["damaged"]]


def _state(state: Mapping[str, Any]) -> str:
    if state["writer"]:
        return f"written by {state['writer']}"
    if state["missing"]:
        lost = counted(state["missing"], "run")
        return f"{lost} missing: skidpad campaign resume does them again"
    return "finished" if state["finished"] else "not finished: skidpad campaign resume goes on"


def _of_most(state: Mapping[str, Any]) -> str:
    done, most = state["runs"], state["most"]
    if state["finished"]:
        return str(done) if done == most else f"{done} (at most {most})"
    return f"{done} of {most}, {done / most:.1%}"


def _rate(rate: float | None) -> str:
    if rate is None:
        return NONE
    return f"{rate:.0f} runs/s" if rate >= 1000.0 else f"{rate:.3g} runs/s"


def _with_interval(one: Mapping[str, float | None]) -> str:
    if one["low"] is None or one["high"] is None:
        return _shown(one["value"])
    return f"{_shown(one['value'])} ± {0.5 * (one['high'] - one['low']):.2g}"


def _size(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


def _shown(value: float | None) -> str:
    return NONE if value is None else f"{value:.4g}"
