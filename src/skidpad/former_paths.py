"""Modules that users import by a path from before the packages were put in rings.

`from skidpad.maps import Map` goes on working: the old path is the new module, not a copy of it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    # To import these takes as long as all the rest of `import skidpad`.
    Loader = MetaPathFinder = object

HOMES = {
    "additive": "components.additive_disturbance",
    "collision": "plane.collision",
    "demo.closed_loop": "demo.driver",
    "engine": "compat.truck",
    "fleet": "run.fleet",
    "linearisation": "run.linearisation",
    "maps": "plane.maps",
    "monte_carlo": "run.monte_carlo",
    "planning": "compat.autoware",
    "raycast": "plane.raycast",
    "record_io": "recording",
    "record_io.mcap": "recording",
    "sensors": "sensing",
    "simulation": "compat.commonroad",
    "simulator": "run.simulator",
    "uncertainty": "sensing.uncertainty",
    "uncertainty.seeds": "random.seeds",
    "viewer.film": "stage.film",
    "viewer.plot": "plots.style",
    "viewer.plots": "plots.numbers",
}
"""Old paths below `skidpad` and where they lead; what lies below them follows."""


def present_path(name: str) -> str | None:
    """Where a module of an old path is now; None if the path is not an old one."""
    package, _, rest = name.partition(".")
    if package != "skidpad":
        return None
    parts = rest.split(".")
    for k in range(len(parts), 0, -1):
        home = HOMES.get(".".join(parts[:k]))
        if home is not None:
            return ".".join([package, home, *parts[k:]])
    return None


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        home = present_path(module.__name__)
        assert home is not None
        # The import system takes what lies here afterwards.
        sys.modules[module.__name__] = import_module(home)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if present_path(fullname) is None else ModuleSpec(fullname, _Loader())


def install() -> None:
    """Let the old paths be found."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # First: what lies below an old path would else be found as a file, and loaded twice.
        sys.meta_path.insert(0, _Finder())
