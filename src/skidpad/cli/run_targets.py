"""What `skidpad run` can be given: names of demos and vehicles, and files."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .. import demo
from ..errors import InvalidValue
from ..files import regular_file
from .targets import is_vehicle, refuse, vehicle_names

if TYPE_CHECKING:
    from ..runs import Show
    from ..world.world import World


_OTHERS = {
    ".mcap": "a recording: skidpad replay {0} shows it",
    ".py": "a Python program, not a world file: python {0} runs it",
    ".html": "a page: open it in a browser",
}
"""What files are that are not worlds, by their suffix."""


class Request(NamedTuple):
    """What was asked for."""

    target: str
    seed: int
    of_vehicle: Mapping[str, Any]
    """Options that go with a vehicle, None where they are not given."""
    of_world: Mapping[str, Any]
    """Options that go with a world file."""
    quiet: bool


def show_of(request: Request) -> tuple[str, Show]:
    """The show that was asked for, and a name for its files."""
    target = request.target
    if target in demo.DEMOS:
        refuse(request.of_vehicle, "a vehicle")
        refuse(request.of_world, "a world file")
        return target, demo.DEMOS[target].show(request.seed)
    if is_vehicle(target):
        from ..by_text import vehicle_by_text
        from ..demo import vehicle_run

        refuse(request.of_world, "a world file")
        show = vehicle_run.show(vehicle_by_text(target), request.seed, **request.of_vehicle)
        return target.replace(":", "_"), show
    file = Path(target)
    if not file.is_file():
        raise InvalidValue(_unknown(target))
    other = _OTHERS.get(file.suffix)
    if other is not None:
        raise InvalidValue(f"{target} is {other.format(target)}")
    refuse(request.of_vehicle, "a vehicle")
    return file.name.split(".")[0], _world(file, request)


def _world(file: Path, request: Request) -> Show:
    """The world of a file, with a note on stderr for each thing in it that is not simulated."""
    from ..runs import WorldShow
    from ..world.world import World
    from ..world.xml import WorldWarning, load
    from ..world.xml.notes import in_brief

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        scene = load(file, seed=request.seed, **request.of_world)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WorldWarning)
        world = World(scene, seed=request.seed, on_diverge="raise")
    console = Console(stderr=True, soft_wrap=True, quiet=request.quiet)
    later = [str(w.message) for w in caught if issubclass(w.category, WorldWarning)]
    for line in (*in_brief(scene.warnings, scene.file), *later, *_idle(world)):
        console.print(Text(f"note: {line}", "yellow"))
    return WorldShow(world)


def _idle(world: World) -> list[str]:
    """A sentence on the vehicles that nothing commands and that therefore stand still."""
    idle = world.uncommanded
    if not idle:
        return []
    names = ", ".join(idle[:12]) + (f" and {len(idle) - 12} more" if len(idle) > 12 else "")
    stays = "it stays where it is unless something pushes it"
    if len(idle) > 1:
        stays = "they stay where they are unless something pushes them"
    return [
        f"nothing commands {names}: {stays}. A file "
        "commands with <V>, <W> in a <controller> or with a trajectory, Python with "
        "world.vehicles[name].command(...), skidpad serve with keys"
    ]


def _unknown(target: str) -> str:
    path = Path(target)
    if path.is_dir():
        return f"{target} is a folder; skidpad run takes a world file in it"
    if path.exists():
        regular_file(path)
    if path.suffix or path.name != target:
        takes = "skidpad run takes world files (.xml), vehicles and demos"
        folder = path.parent
        missing = f"nor the folder {folder}" if not folder.is_dir() else ""
        return f"there is no file {target}{missing and f', {missing}'}; {takes}"
    close = difflib.get_close_matches(target, [*demo.DEMOS, *vehicle_names()], n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return (
        f"there is no demo, vehicle or world file {target!r}; {hint}"
        f"demos are {', '.join(demo.DEMOS)}; skidpad models lists the vehicles"
    )


def demo_list() -> RenderableType:
    """The demos with a line on each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("demo", style="bold cyan", no_wrap=True)
    table.add_column("what one sees")
    for one in demo.DEMOS.values():
        table.add_row(one.name, one.text)
    hints = (
        "",
        "skidpad run lap             a demo",
        "skidpad run four_wheel      a vehicle on a circuit",
        "skidpad run FILE.world.xml  a world file",
    )
    return Group(table, *(Text(hint, "dim") for hint in hints))
