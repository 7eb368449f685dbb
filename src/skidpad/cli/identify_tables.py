"""How comparisons and fits look on a terminal."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .legible import Legible

if TYPE_CHECKING:
    from ..study.identify.comparison import Comparison
    from ..study.identify.fitting import Fit


def error_table(comparison: Comparison) -> RenderableType:
    """The errors of every channel."""
    table = _table("channel", "unit", "rmse", "max", "mean")
    for e in comparison.errors:
        table.add_row(e.channel, e.unit, *(f"{v:.4g}" for v in (e.rmse, e.max, e.mean)))
    heading = Text.assemble(
        (comparison.log, "bold"),
        " replayed by ",
        (comparison.model, "bold cyan"),
        ", replayed - recorded",
    )
    first = next(iter(comparison.curves.values()))
    windows = f"{len(comparison.starts)} windows" if len(comparison.starts) > 1 else "one window"
    span = f"{first.t[0]:.6g} to {first.t[-1]:.6g} s every {1e3 * comparison.dt:.4g} ms, {windows}"
    return Group(heading, Text(span, "dim"), Legible(table))


def estimate_table(fit: Fit) -> RenderableType:
    """Start, estimate and interval of every parameter that was fitted."""
    table = _table("parameter", "unit", "start", "estimate", "95 % interval")
    for e in fit.estimates:
        digits = _digits(e.high - e.low, e.value)
        value, low, high = (f"{v:.{digits}f}" for v in (e.value, e.low, e.high))
        table.add_row(e.name, e.unit, f"{e.start:.6g}", value, f"{low} to {high}")
    heading = Text.assemble((fit.model, "bold cyan"), " fitted to ", (fit.log, "bold"))
    windows = f"{fit.windows} windows" if fit.windows > 1 else "one window"
    about = f"{windows}; dead times to {1e3 * fit.resolution:.4g} ms, the period of the log"
    return Group(heading, Text(about, "dim"), Legible(table))


def change_table(fit: Fit) -> RenderableType:
    """The errors with the parameters at the start and with those estimated."""
    table = _table("channel", "unit", "rmse before", "rmse after")
    for before, after in zip(fit.before.errors, fit.after.errors, strict=True):
        table.add_row(before.channel, before.unit, f"{before.rmse:.4g}", f"{after.rmse:.4g}")
    return Legible(table)


def _table(first: str, second: str, *numbers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, style="cyan", no_wrap=True)
    table.add_column(second, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _digits(width: float, value: float) -> int:
    """Decimals that show two figures of the interval's width."""
    size = width if width > 0.0 else abs(value) * 1e-6
    return min(max(1 - floor(log10(size)), 2), 9) if size > 0.0 else 3
