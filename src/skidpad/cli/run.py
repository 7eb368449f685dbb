"""`skidpad run`: a world file, run without pictures and as fast as it goes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from math import isfinite
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidValue
from . import app
from .world import (
    Compat,
    Download,
    File,
    Limit,
    ModelFolder,
    Shell,
    Variables,
    reading_options,
)

if TYPE_CHECKING:
    from ..world.world import World
    from .run_table import Tally

Duration = Annotated[float, typer.Option(help="Simulated time in s.")]
Seed = Annotated[int, typer.Option(help="Of all random numbers.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No bar and no notes, only the result.")]


@app.command()
def run(
    file: File,
    duration: Duration = 10.0,
    seed: Seed = 0,
    compat: Compat = None,
    quiet: Quiet = False,
    variables: Variables = None,
    limit: Limit = None,
    allow_shell: Shell = False,
    allow_download: Download = False,
    models: ModelFolder = None,
) -> None:
    """Run a world file and report on every vehicle; Ctrl-C ends the run early."""
    from rich.console import Console

    from .run_table import Tally, run_table

    if not (isfinite(duration) and duration >= 0.0):
        raise InvalidValue(f"--duration {duration:g} must be finite and not negative, in s")
    options = reading_options(compat, variables, limit, allow_shell, allow_download, models)
    world = _loaded(file, seed, options, quiet)
    tally = Tally(world)
    elapsed = _driven(world, tally, duration, quiet)
    Console().print(run_table(tally, elapsed, duration))


def _loaded(file: Any, seed: int, options: Mapping[str, Any], quiet: bool) -> World:
    """The world of a file, with a note on stderr for each thing in it that is not simulated."""
    from rich.console import Console
    from rich.text import Text

    from ..world.world import World
    from ..world.xml import WorldWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        world = World.load(file, seed=seed, **options)
    console = Console(stderr=True, soft_wrap=True, quiet=quiet)
    for line in world.scene.warnings:
        console.print(Text(f"note: {line}", "yellow"))
    return world


def _driven(world: World, tally: Tally, duration: float, quiet: bool) -> float:
    """Run the world to the end or to Ctrl-C; returns the wall time in s."""
    from ..world.progress import bar

    count = round(duration / world.dt)
    begin = perf_counter()
    try:
        for _ in range(count) if quiet else bar(count, world.dt):
            world.step()
            tally.add()
    except KeyboardInterrupt:
        if not quiet:
            sys.stderr.write("\n")
    return perf_counter() - begin
