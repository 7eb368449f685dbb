"""The command line: `skidpad models`, `demo`, `bench`, `compare`, `fit`, `check`, `run`, `replay`,
`html`, `serve`, `info`, `recover`.

Each command imports what it needs inside itself, so that `skidpad --help` answers at once. An error
raised on purpose ends the program with one line on stderr and exit code 2, never with a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import __version__
from ..errors import InvalidValue, SkidpadError

if TYPE_CHECKING:
    from ..model import Vehicle

__all__ = ["app", "main"]

app = typer.Typer(
    name="skidpad",
    help="Ground vehicles as pure functions: list them, drive them, measure them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line on `arguments`, by default those of the process, and exit."""
    try:
        app(args=arguments, prog_name="skidpad")
    except SkidpadError as error:
        from rich.console import Console
        from rich.text import Text

        line = Text.assemble(("error: ", "bold"), str(error), style="red")
        Console(stderr=True, soft_wrap=True).print(line)
        sys.exit(2)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skidpad {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Carries the options that stand before a command."""


@app.command()
def models(
    name: Annotated[str | None, typer.Argument(help="Show this vehicle in full.")] = None,
    program: Annotated[
        bool, typer.Option("--program", help="Print the traced step, one operation a line.")
    ] = False,
    integrator: Annotated[
        str, typer.Option(help="The method that makes the step of the program.")
    ] = "rk4",
    lowered: Annotated[
        bool, typer.Option("--lowered", help="The program lowered to IEEE operations, float64.")
    ] = False,
    precision: Annotated[
        str | None, typer.Option(help="The program lowered to float32 or float64.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the program to this file instead of printing it.")
    ] = None,
) -> None:
    """List the vehicles, or show one with its states, inputs, parameters and outputs."""
    if name is None:
        _refuse_without_name(program or lowered or precision is not None or save is not None)
        _print_list()
    elif program or lowered or precision is not None or save is not None:
        wanted = (precision or "float64") if lowered or precision is not None else None
        _write_program(_vehicle(name), integrator, wanted, save)
    else:
        from rich.console import Console

        from .tables import vehicle_sheet

        Console().print(vehicle_sheet(_vehicle(name)))


def _refuse_without_name(asked_for_program: bool) -> None:
    if asked_for_program:
        raise InvalidValue("a program belongs to one vehicle: give its name, as in four_wheel")


def _print_list() -> None:
    from rich.console import Console

    from .. import vehicles
    from .tables import vehicle_list

    Console().print(vehicle_list([_vehicle(name) for name in vehicles.names()]))


def _vehicle(name: str) -> Vehicle:
    """The listed vehicle of this name with its default parameters."""
    from .. import vehicles
    from ..vehicles.autoware import NAMES

    return vehicles.autoware(name) if name in NAMES else vehicles.get(name)()


def _write_program(
    vehicle: Vehicle, integrator: str, precision: str | None, path: Path | None
) -> None:
    from ..compile.pipeline import step_program

    program = step_program(vehicle, integrator=integrator, precision=precision)
    if path is None:
        typer.echo(str(program))
        return
    try:
        program.save(path)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error
    typer.echo(f"{program.operations} operations written to {path}")


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for recordings, replay pages and pictures.")
    ] = Path("out"),
) -> None:
    """Run the best of the demos; `skidpad run` lists them all."""
    from ..demo import main as show

    show(out)


@app.command()
def bench(
    group: Annotated[str | None, typer.Argument(help="Measure only this group.")] = None,
    device: Annotated[
        str | None, typer.Option(help="Measure what runs on this device: cpu or cuda.")
    ] = None,
    plants: Annotated[
        Path | None,
        typer.Option(help="Folder of saved vehicles, for cuda where CasADi is not installed."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions, rougher.")] = False,
) -> None:
    """Measure speed and accuracy beside what one would use instead."""
    from ..bench import main as measure

    measure(group, device=device, plants=plants, as_json=json, quick=quick)


# At the end: the commands of other files register themselves with the app above.
from . import identify as identify  # noqa: E402
from . import recordings as recordings  # noqa: E402
from . import replay as replay  # noqa: E402
from . import run as run  # noqa: E402
from . import serve as serve  # noqa: E402
from . import world as world  # noqa: E402
