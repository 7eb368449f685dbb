"""Demos: small examples by name, and demonstration runs of the user's own vehicles.

Each demo is a module with one idea and a function `show(seed)`, which returns a `Show`. To add one,
write its module and list it here. `driving_show` makes a show of vehicles and drivers, and
`perform_into` runs a show and writes a recording and a page.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..core.lazy import lazy_attributes
from ..errors import InvalidValue, require_extras

if TYPE_CHECKING:
    from . import eight
    from .performing import perform_into
    from .shows import Show, driving_show

__all__ = ["driving_show", "eight", "perform_into"]

__getattr__ = lazy_attributes(
    __name__,
    {".performing": ("perform_into",), ".shows": ("driving_show",)},
    modules={"eight": ".eight"},
)


class Demo(NamedTuple):
    """Name and description of a demo; its module is imported only when the demo is shown."""

    name: str
    text: str
    """Description in one line."""
    module: str = ""
    """Module with its function `show`, if not named as the demo."""

    def show(self, seed: int = 0) -> Show:
        """Make the show of the demo with this seed."""
        return importlib.import_module(f".{self.module or self.name}", __name__).show(seed)


_LISTED = (
    Demo("lap", "Formula Student car against the clock on a cone track"),
    Demo("warehouse", "robots with lidar at work between shelves"),
    Demo("trailers", "trucks back trailers into bays, a road train goes round"),
    Demo("drift", "one drift on five kinds of tyres: grip decides the circle"),
    Demo("lane_change", "Autoware's car with steering 0, 0.24 and 0.5 s late", "following"),
    Demo("fan", "a bend on tyres of unknown grip, five hundred times"),
    Demo("eight", "figure of eight at 1.1 g, and 256 cars with less grip"),
)
DEMOS: Mapping[str, Demo] = {demo.name: demo for demo in _LISTED}
BEST = ("lap", "fan")
"""Demos that `skidpad demo` runs."""


def get(name: str) -> Demo:
    """Return a demo by name."""
    if name not in DEMOS:
        from ..core.record import unknown_name

        raise InvalidValue(unknown_name("skidpad", name, list(DEMOS), "demo"))
    return DEMOS[name]


def main(out: Path, seed: int = 0) -> None:
    """Run the best demos, print their results and write recordings, pages and pictures to `out`."""
    from rich.console import Console
    from rich.text import Text

    from ..view.recording.reading import read
    from .performing import file_line, make_folder, perform_into, progress_bar, report

    require_extras("recording", "plots", purpose="skidpad demo")
    make_folder(out)  # fails before any demo is run
    console = Console()
    for one in map(get, BEST):
        console.print(Text.assemble((one.name, "bold"), f": {one.text}"))
        show = one.show(seed)
        with progress_bar(show.duration, quiet=False) as watch:
            performance = perform_into(show, out, one.name, watch=watch, meta={"seed": seed})
        report(show, performance)
        if show.picture is not None and performance.recording is not None:
            picture = out / f"{one.name}.png"
            show.picture(read(performance.recording), picture)
            console.print(file_line("picture", picture), soft_wrap=True)
        console.print()
