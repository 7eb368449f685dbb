"""The command line: `skidpad models`, `demo`, `bench`, `compare`, `fit`, `check`, `run`, `replay`,
`html`, `serve`, `ros2`, `info`, `recover`, `tyre`, `test`, `tune`, `campaign`,
`export`.

Each command imports what it needs inside itself, so that `skidpad --help` and completion answer at
once. Without a command there is a screen that says what one can do next. An error raised on purpose
ends the program with one line on stderr and exit code 2, never with a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from .. import __version__
from ..errors import SkidpadError
from . import (
    campaign,
    export,
    identify,
    models,
    recordings,
    replay,
    ros2,
    run,
    serve,
    test,
    tune,
    tyre,
    world,
)
from .completion import bench_groups
from .output import write_everything

__all__ = ["app", "main"]

app = typer.Typer(
    name="skidpad",
    help="Ground vehicles as pure functions: list them, drive them, measure them.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
"""The command line, for Typer."""


# Of click, or of the copy of it that newer versions of Typer have.
_UsageError: Any = typer.BadParameter.__mro__[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line on `arguments`, by default those of the process, and exit."""
    write_everything()
    try:
        code = _commands()(args=arguments, prog_name="skidpad", standalone_mode=False)
    except SkidpadError as error:
        _fail(str(error))
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # of a group: skidpad ros2
            error.show()
            sys.exit(error.exit_code)
        command = error.ctx.command_path if error.ctx is not None else "skidpad"
        text = error.format_message().rstrip(".")
        _fail(f"{text[:1].lower()}{text[1:]}; {command} --help tells more")
    except typer.Abort:
        _fail("ended by Ctrl-C", 130)
    sys.exit(code if isinstance(code, int) else 0)


@cache
def _commands() -> Any:
    """All commands with their options, which Typer reads from the functions at every use of `app`:
    20 ms, for whoever calls `main` more than once in a process."""
    return typer.main.get_command(app)


def _fail(text: str, code: int = 2) -> NoReturn:
    """One line on stderr, of whatever kind the error is."""
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble(("error: ", "bold"), text, style="red")
    Console(stderr=True, soft_wrap=True).print(line)
    sys.exit(code)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skidpad {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Carries the options that stand before a command, and speaks where none follows."""
    if context.invoked_subcommand is None:
        from rich.console import Console

        from .models import start_screen

        Console().print(start_screen())


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for recordings, replay pages and pictures.")
    ] = Path("out"),
) -> None:
    """Run the best of the demos; `skidpad run` lists them all."""
    from ..demo import main as show

    show(out)


def bench(
    group: Annotated[
        str | None, typer.Argument(help="Measure only this group.", autocompletion=bench_groups)
    ] = None,
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


for _command in (
    *(models.models, demo, bench, identify.compare, identify.fit),
    *(recordings.info, recordings.recover, replay.replay, replay.html),
    *(run.run, serve.serve, world.check, tyre.tyre, test.test, tune.tune),
):
    app.command()(_command)
app.add_typer(ros2.ros2)
app.add_typer(campaign.campaign)
app.add_typer(export.export)
