"""`skidpad compare` and `skidpad fit`: a model beside a recorded run."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue, require_extras
from .completion import command_driven_names

if TYPE_CHECKING:
    from rich.console import RenderableType

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
        float | None, typer.Option(help="Start again from the measured state every so many s.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the plot.")] = Path("out"),
) -> None:
    """Replay the commands of a recorded run through a model and print the errors."""
    from ..study.identify.comparison import compare as compared
    from .identify_tables import error_table

    with _notes() as notes:
        comparison = compared(
            log, model, list(params), compat=compat, names=_names(names), window=window
        )
    _show(error_table(comparison), notes=[*comparison.notes, *notes])
    require_extras("plots", purpose="The plot of a comparison")
    target = _folder(out) / f"{log.stem}_{model}.png"
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
    from ..study.identify.fitting import check_target
    from ..study.identify.fitting import fit as fitted
    from .identify_tables import change_table, estimate_table

    check_target(out)
    with _notes() as notes:
        result = fitted(
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
    """`column=channel` pairs; a column may have an equals sign in its name."""
    names: dict[str, str] = {}
    for text in texts or ():
        column, sign, channel = text.rpartition("=")
        if not (sign and column and channel):
            raise InvalidValue(f"--map {text}: expected COLUMN=CHANNEL, as in steer_cmd=u_steer")
        names[column] = channel
    return names


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write to the folder {path}: {error.strerror}") from error
    return path


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
    from rich.text import Text

    console = Console()
    for part in parts:
        console.print(part)
    for note in notes:
        console.print(Text(f"note: {note}", "yellow"))
