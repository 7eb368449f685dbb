"""Where the four-wheel car comes from: traced here, or a file where CasADi is not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from .. import vehicles
from ..cost import Cost
from ..errors import InvalidValue
from ..run.fleet import Fleet
from .work import RK4_DT

FILE = "four_wheel.rk4.plant"
CHECKOUT = Path(__file__).parents[3] / "tests" / "data" / "plants"
"""Where a checkout of the repository keeps the vehicles that its GPU tests load."""

COST = Cost(
    stage=lambda x, u: (x.v_x - 10.0) ** 2 + 0.1 * u.steer * u.steer + x.y * x.y,
    terminal=lambda x: x.yaw * x.yaw + x.omega * x.omega,
)
"""What gradients are taken of: speed 10 m/s on the x axis, little steering, straight at the end.
The file has to be saved with the same one."""


class Source(NamedTuple):
    """Makes fleets of the car."""

    file: Path | None
    """A saved vehicle, or None to trace it."""

    @classmethod
    def of(cls, plants: Path | None = None) -> Source:
        """The file in the folder `plants` if one is given; else traced if possible; else the file
        of the checkout that this runs from."""
        if plants is None and find_spec("casadi") is not None:
            return cls(None)
        file = (CHECKOUT if plants is None else plants) / FILE
        if file.is_file():
            return cls(file)
        where = "" if plants is None else f"{file} is not there; "
        raise InvalidValue(
            f"{where}this group needs a four-wheel car: install casadi, or name the folder of a "
            f"saved one, {FILE}, with --plants; python tools/make_plants.py writes it"
        )

    def fleet(self, **options: Any) -> Fleet:
        """A fleet with RK4 at 1 ms; options as for `Fleet`."""
        if self.file is None:
            return Fleet(vehicles.four_wheel(), RK4_DT, "rk4", **options)
        return Fleet.load(self.file, dt=RK4_DT, **options)

    @property
    def cost(self) -> Cost | None:
        """What to give to `Fleet.gradient`: a loaded fleet has the cost it was saved with."""
        return COST if self.file is None else None
