"""The command line of `skidpad`, one module per command or group of commands.

Each command imports what it needs inside itself, so that `skidpad --help` and completion answer at
once. `main` runs it: an error raised on purpose ends the program with one line on stderr and exit
code 2, never with a traceback.
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
from .options import AsJson, with_groups
from .output import write_everything

app = typer.Typer(
    name="skidpad",
    help="Ground vehicles as pure functions: list them, drive them, measure them.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)

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
    """All commands with their options; to read them from the functions takes Typer 20 ms."""
    return typer.main.get_command(app)


def _fail(text: str, code: int = 2) -> NoReturn:
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
    """Options before the command; without a command, the start screen."""
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
    json: AsJson = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions, rougher.")] = False,
) -> None:
    """Measure speed and accuracy, compared with what one would use instead."""
    from ..bench import main as measure

    measure(group, device=device, plants=plants, as_json=json, quick=quick)


for _command in (
    *(models.models, demo, bench, identify.compare, identify.fit),
    *(recordings.info, recordings.recover, replay.replay, replay.html),
    *(run.run, serve.serve, world.check, tyre.tyre, test.test, tune.tune),
):
    app.command()(with_groups(_command))
app.add_typer(ros2.ros2)
app.add_typer(campaign.campaign)
app.add_typer(export.export)
