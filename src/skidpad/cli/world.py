"""`skidpad check`: what is wrong with a world file, with file and line."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.files import counted, regular_file
from ..errors import InvalidValue, MissingExtra, SkidpadError
from .options import AsJson, WorldReading

if TYPE_CHECKING:
    from ..world.scene import Scene

File = Annotated[Path, typer.Argument(help="World file: an .xml file of MVSim's format.")]


def check(file: File, *, reading: WorldReading, json: AsJson = False) -> None:
    """Report everything that is wrong with a world file; exit code 1 if anything is.

    Notes, of what is not understood or not simulated, leave it at 0.
    """
    from ..world.xml.reader import review

    if file.is_dir():
        raise InvalidValue(f"{file} is a folder; a world is a file")
    if not file.exists():
        raise InvalidValue(f"there is no file {file}")
    regular_file(file)
    errors, notes, scene = review(file, **reading.options())
    problems: list[SkidpadError] = list(errors)
    if scene is not None:
        more, later = _built(scene)
        problems, notes = [*problems, *more], (*notes, *later)
    if json:
        from .output import print_json

        print_json(check_document(file, problems, notes, scene))
    else:
        _print_lines(file, problems, notes, scene)
    if problems:
        raise typer.Exit(1)


def _built(scene: Scene) -> tuple[list[SkidpadError], list[str]]:
    """Errors and warnings that show only when the world is made."""
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


def _print_lines(
    file: Path, problems: Sequence[SkidpadError], notes: Sequence[str], scene: Scene | None
) -> None:
    from rich.console import Console
    from rich.text import Text

    from . import sheets

    console = Console(soft_wrap=True)
    for problem in problems:
        console.print(Text(str(problem), "red"))
    if problems or scene is None:
        typer.echo(f"{file}: {counted(len(problems), 'problem')}")
    else:
        parts = [counted(n, kind) for kind, n in scene_counts(scene).items() if n]
        about = ", ".join(parts) or "an empty world"
        typer.echo(f"{file}: {about}, step {scene.timestep * 1e3:g} ms")
    for line in sheets.notes(notes):
        console.print(line)


def check_document(
    file: Path, problems: Sequence[SkidpadError], notes: Sequence[str], scene: Scene | None
) -> dict[str, Any]:
    """What is wrong with a world file, and what a usable one holds; docs/cli.md lists the keys."""
    usable = None if problems else scene
    return {
        "schema": "check/1",
        "file": str(file),
        "ok": usable is not None,
        "problems": [_problem(error) for error in problems],
        "notes": list(notes),
        "counts": None if usable is None else scene_counts(usable),
        "timestep": None if usable is None else usable.timestep,
    }


def _problem(error: SkidpadError) -> dict[str, Any]:
    from ..world.scene import WorldError

    place = error.source if isinstance(error, WorldError) else None
    return {
        "message": error.message if isinstance(error, WorldError) else str(error),
        **{name: getattr(place, name, None) for name in ("file", "line", "column")},
        "element": (error.element or None) if isinstance(error, WorldError) else None,
    }


def scene_counts(scene: Scene) -> dict[str, int]:
    """How many of everything a world holds."""
    return {
        "vehicle": len(scene.vehicles),
        "block": len(scene.blocks),
        "wall": len(scene.walls),
        "element": len(scene.elements),
        "joint": len(scene.joints),
        "actor": len(scene.actors),
        "sensor": len(scene.sensors) + sum(len(v.sensors) for v in scene.vehicles),
    }
