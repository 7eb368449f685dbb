"""`skidpad compare` and `skidpad fit`: a model compared with, or fitted to, a recorded run."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue, require_extras
from .completion import command_driven_names
from .options import split_pairs

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..study.identify.comparison import Comparison
    from ..study.identify.fitting import Fit

Log = Annotated[
    Path, typer.Argument(help="Recorded run: a .parquet, .csv or .mcap file, or a bag.")
]
Model = Annotated[
    str,
    typer.Option(
        help="Name of the model, as in IDEAL_STEER_ACC.", autocompletion=command_driven_names
    ),
]
Params = Annotated[
    list[Path],
    typer.Option(metavar="FILE", help="Parameter file in YAML; of several the later ones win."),
]
Compat = Annotated[
    str | None, typer.Option(help='"upstream": as the upstream program, errors included.')
]
Names = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="COLUMN=CHANNEL", help="What a column of the log is."),
]


def compare(
    log: Log,
    model: Model,
    params: Params,
    compat: Compat = None,
    names: Names = None,
    window: Annotated[
        float | None, typer.Option(help="Start again from the measured state every so often, in s.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the plot.")] = Path("out"),
) -> None:
    """Replay the commands of a recorded run through a model and print the errors."""
    from ..study.identify import comparison as study

    with _notes() as notes:
        comparison = study.compare(
            log, model, list(params), compat=compat, names=_names(names), window=window
        )
    _show(error_table(comparison), notes=[*comparison.notes, *notes])
    require_extras("plots", purpose="The plot of a comparison")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write to the folder {out}: {error.strerror}") from error
    target = out / f"{log.stem}_{model}.png"
    comparison.plot(target)
    typer.echo(f"plot written to {target}")


def fit(
    log: Log,
    model: Model,
    params: Params,
    out: Annotated[Path, typer.Option(help="Parameter file to write.")],
    free: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Parameter to estimate; by default every time, bias and factor."
        ),
    ] = None,
    compat: Compat = None,
    names: Names = None,
    window: Annotated[float, typer.Option(help="Length of the pieces of the log in s.")] = 10.0,
    longest: Annotated[float, typer.Option(help="Longest dead time to try in s.")] = 1.0,
) -> None:
    """Estimate dead times, time constants, bias and scale from a recorded run."""
    from ..core.files import target_of
    from ..study.identify import fitting

    target_of(out)
    with _notes() as notes:
        result = fitting.fit(
            log,
            model,
            list(params),
            free=free or None,
            compat=compat,
            names=_names(names),
            window=window,
            longest=longest,
        )
    result.write(out)
    _show(estimate_table(result), change_table(result), notes=[*result.notes, *notes])
    typer.echo(f"parameters written to {out}")


def _names(texts: Sequence[str] | None) -> dict[str, str]:
    fault = "--map {}: expected COLUMN=CHANNEL, as in steer_cmd=u_steer"
    return dict(split_pairs(texts, fault, last=True))


@contextmanager
def _notes() -> Generator[list[str]]:
    """Warnings raised within, as texts to print."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += dict.fromkeys(str(warning.message) for warning in caught)


def _show(*parts: RenderableType, notes: Sequence[str]) -> None:
    from rich.console import Console

    from . import sheets

    console = Console()
    for part in (*parts, *sheets.notes(notes)):
        console.print(part)


def error_table(comparison: Comparison) -> RenderableType:
    """The errors of every channel."""
    from rich.text import Text

    heading = Text.assemble(
        (comparison.log, "bold"),
        " replayed by ",
        (comparison.model, "bold cyan"),
        ", replayed - recorded",
    )
    first = next(iter(comparison.curves.values()))
    windows = f"{len(comparison.starts)} windows" if len(comparison.starts) > 1 else "one window"
    span = f"{first.t[0]:.6g} to {first.t[-1]:.6g} s every {1e3 * comparison.dt:.4g} ms, {windows}"
    rows = [
        (e.channel, e.unit, *(f"{v:.4g}" for v in (e.rmse, e.max, e.mean)))
        for e in comparison.errors
    ]
    return _headed(heading, span, ("channel", "unit", "rmse", "max", "mean"), rows)


def estimate_table(fit: Fit) -> RenderableType:
    """Start, estimate and interval of every parameter that was fitted."""
    from rich.text import Text

    heading = Text.assemble((fit.model, "bold cyan"), " fitted to ", (fit.log, "bold"))
    windows = f"{fit.windows} windows" if fit.windows > 1 else "one window"
    about = f"{windows}; dead times to {1e3 * fit.resolution:.4g} ms, the period of the log"
    rows: list[tuple[str, ...]] = []
    for e in fit.estimates:
        digits = _digits(e.high - e.low, e.value)
        value, low, high = (f"{v:.{digits}f}" for v in (e.value, e.low, e.high))
        rows.append((e.name, e.unit, f"{e.start:.6g}", value, f"{low} to {high}"))
    heads = ("parameter", "unit", "start", "estimate", "95 % interval")
    return _headed(heading, about, heads, rows)


def change_table(fit: Fit) -> RenderableType:
    """The errors with the parameters at the start and with those estimated."""
    rows = [
        (before.channel, before.unit, f"{before.rmse:.4g}", f"{after.rmse:.4g}")
        for before, after in zip(fit.before.errors, fit.after.errors, strict=True)
    ]
    return _headed("", "", ("channel", "unit", "rmse before", "rmse after"), rows)


def _headed(
    heading: RenderableType, about: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> RenderableType:
    """A table whose columns from the third on are numbers, below a heading if there is one."""
    from rich.console import Group
    from rich.text import Text

    from ..view.sheet import Sheet
    from .sheets import legible

    sheet = legible(Sheet(heads, rows, range(2, len(heads))), show_edge=True)
    return Group(heading, Text(about, "dim"), sheet) if about else sheet


def _digits(width: float, value: float) -> int:
    """Decimals that show two figures of the interval's width."""
    size = width if width > 0.0 else abs(value) * 1e-6
    return min(max(1 - floor(log10(size)), 2), 9) if size > 0.0 else 3
