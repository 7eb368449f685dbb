"""`skidpad check`: what is wrong with a world file, with file and line."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.files import counted, regular_file
from ..errors import InvalidValue, MissingExtra, SkidpadError

if TYPE_CHECKING:
    from ..world.scene import Scene

File = Annotated[Path, typer.Argument(help="World file: an .xml file of MVSim's format.")]
Compat = Annotated[
    str | None, typer.Option(help='"upstream": read as the upstream program does, errors included.')
]
Variables = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="A world variable from the outside."),
]
Limit = Annotated[int | None, typer.Option(help="Most rounds of all loops together.")]
Shell = Annotated[
    bool, typer.Option("--allow-shell", help="Let $(command) in the file run commands.")
]
Download = Annotated[
    bool, typer.Option("--allow-download", help="Download models at remote addresses.")
]
ModelFolder = Annotated[
    Path | None, typer.Option("--models", help="Folder in which remote models are looked up.")
]


def check(
    file: File,
    compat: Compat = None,
    variables: Variables = None,
    limit: Limit = None,
    allow_shell: Shell = False,
    allow_download: Download = False,
    models: ModelFolder = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Report everything that is wrong with a world file; exit code 1 if anything is.

    Notes, of what is not understood or not simulated, leave it at 0.
    """
    from ..world.xml.reader import reviewed

    if file.is_dir():
        raise InvalidValue(f"{file} is a folder; a world is a file")
    if not file.exists():
        raise InvalidValue(f"there is no file {file}")
    regular_file(file)
    options = reading_options(compat, variables, limit, allow_shell, allow_download, models)
    errors, notes, scene = reviewed(file, **options)
    problems: list[SkidpadError] = list(errors)
    if scene is not None:
        more, later = _built(scene)
        problems, notes = [*problems, *more], (*notes, *later)
    if json:
        from .documents import check_document
        from .output import print_json

        print_json(check_document(file, problems, notes, scene))
    else:
        _print_lines(file, problems, notes, scene)
    if problems:
        raise typer.Exit(1)


def _print_lines(
    file: Path, problems: Sequence[SkidpadError], notes: Sequence[str], scene: Scene | None
) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True)
    for problem in problems:
        console.print(Text(str(problem), "red"))
    if problems or scene is None:
        typer.echo(f"{file}: {counted(len(problems), 'problem')}")
    else:
        typer.echo(f"{file}: {_summary(scene)}")
    for line in notes:
        console.print(Text(f"note: {line}", "yellow"))


def _built(scene: Scene) -> tuple[list[SkidpadError], list[str]]:
    """What shows only when the world is made: errors and warnings."""
    from ..world.scene import WorldWarning
    from ..world.world import World

    problems: list[SkidpadError] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            World(scene)
        except MissingExtra as error:
            return [], [f"not built: {error}"]
        except SkidpadError as error:
            problems.append(error)
    return problems, [str(w.message) for w in caught if issubclass(w.category, WorldWarning)]


def reading_options(
    compat: str | None,
    variables: Sequence[str] | None,
    limit: int | None,
    allow_shell: bool,
    allow_download: bool,
    models: Path | None,
) -> dict[str, Any]:
    """Options of the command line as `world.xml.Options` takes them."""
    options: dict[str, Any] = {
        "compat": compat,
        "variables": _pairs(variables or ()),
        "allow_shell": allow_shell,
        "allow_download": allow_download,
        "models": models,
    }
    return options if limit is None else {**options, "limit": limit}


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (sign and name):
            raise InvalidValue(f"--var {text}: expected NAME=VALUE, as in ROBOTS=20")
        pairs[name] = value
    return pairs


def _summary(scene: Scene) -> str:
    """How many of everything there is."""
    from .documents import scene_counts

    parts = [counted(n, kind) for kind, n in scene_counts(scene).items() if n]
    return f"{', '.join(parts) or 'an empty world'}, step {scene.timestep * 1e3:g} ms"
