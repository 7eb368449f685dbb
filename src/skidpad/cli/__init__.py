"""The command line of `skidpad`, one module per command or group of commands.

Each command imports what it needs when called, so that `skidpad --help` and completion respond
immediately. `main` runs it: an error raised on purpose ends the program with one line on stderr and
exit code 2, never with a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer import Argument, Option

from .. import __version__
from ..errors import SkidpadError
from . import campaign, identify, recordings, run, test, vehicles
from .options import AsJson, bench_groups, with_options
from .output import write_everything

app = typer.Typer(
    name="skidpad",
    help="Ground vehicles as pure functions: list them, drive them, measure them.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)

# The error classes come from click, or from the copy of click in newer versions of Typer.
_UsageError: Any = typer.BadParameter.__mro__[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line on `arguments` (default: the arguments of the process) and exit."""
    write_everything()
    try:
        code = _commands()(args=arguments, prog_name="skidpad", standalone_mode=False)
    except SkidpadError as error:
        _fail(str(error))
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command: skidpad ros2
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
    """Click command with all subcommands, cached: Typer needs 20 ms to build it."""
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
@with_options
def _options(
    context: typer.Context,
    version: Annotated[bool, Option("--version", callback=_print_version, is_eager=True)] = False,
) -> None:
    """Handle the options before the command; without a command, show the start screen.

    Args:
        version: Print the version and exit.
    """
    if context.invoked_subcommand is None:
        from rich.console import Console

        from .vehicles import start_screen

        Console().print(start_screen())


def demo(out: Path = Path("out")) -> None:
    """Run the best of the demos; `skidpad run` lists them all.

    Args:
        out: Folder for recordings, replay pages and pictures.
    """
    from ..demo import main as show

    show(out)


def bench(
    group: Annotated[str | None, Argument(autocompletion=bench_groups)] = None,
    device: str | None = None,
    plants: Path | None = None,
    json: AsJson = False,
    quick: bool = False,
) -> None:
    """Measure speed and accuracy, compared with alternatives.

    Args:
        group: Measure only this group.
        device: Measure what runs on this device: cpu or cuda.
        plants: Folder of saved vehicles, for cuda where CasADi is not installed.
        quick: Fewer repetitions, rougher.
    """
    from ..bench import main as measure

    measure(group, device=device, plants=plants, as_json=json, quick=quick)


for _command in (
    *(vehicles.models, demo, bench),
    *(identify.log, identify.compare, identify.fit, identify.estimate),
    *(recordings.info, recordings.recover, recordings.replay, recordings.html),
    *(run.run, run.serve, run.check, vehicles.tyre, test.test, test.lap, test.tune),
):
    app.command()(with_options(_command))
app.add_typer(run.ros2)
app.add_typer(campaign.campaign)
app.add_typer(vehicles.export)
