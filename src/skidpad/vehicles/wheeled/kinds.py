"""The kinds of wheeled vehicles: which wheels they have, who drives, and upstream's defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...controllers.pid import Form, Gains
from ...controllers.wheeled import (
    ACKERMANN,
    DIFFERENTIAL,
    DRIVETRAIN,
    Controller,
    ackermann_controller,
    differential_controller,
    drivetrain_controller,
)

Points = tuple[tuple[float, float], ...]

_ROBOT: Points = ((-0.4, -0.5), (-0.4, 0.5), (0.4, 0.5), (0.6, 0.3), (0.6, -0.3), (0.4, -0.5))
_CAR: Points = ((-0.8, -1.0), (-0.8, 1.0), (1.5, 0.9), (1.8, 0.8), (1.8, -0.8), (1.5, -0.9))
_CAR_PLACES: Points = ((0.0, 0.9), (0.0, -0.9), (1.3, 1.0), (1.3, -1.0))
_CORNERS = ("rl", "rr", "fl", "fr")


@dataclass(frozen=True)
class Kind:
    """What all vehicles of a kind share."""

    wheels: tuple[str, ...]
    """Names of the wheels in the order of world files; the first two are a left and a right one,
    and odometry listens to them."""
    places: Points
    """Where they stand by default."""
    controllers: tuple[str, ...]
    controller: Callable[[str, Form], Controller]
    drives: tuple[int | None, ...] = ()
    """For each wheel, which torque of the controller it gets; unused with one motor."""
    gains: tuple[tuple[str, Gains], ...] = ()
    """Default gains of the controllers that have some."""
    steered: bool = False
    """Whether the last two wheels steer."""
    one_motor: bool = False
    """Whether one motor drives the wheels through a drivetrain."""
    caster: int | None = None
    """The wheel that swivels, if any."""
    mass: float = 15.0
    """Mass of the chassis by default."""
    shape: Points = _ROBOT
    """Outline of the chassis by default."""
    z_min: float = 0.05
    """Height of the chassis's lower side by default."""
    z_max: float = 0.6
    """Height of the chassis's upper side by default."""

    def default_gains(self, controller: str) -> Gains:
        """Gains of a controller that is given none."""
        return dict(self.gains).get(controller, Gains())

    @property
    def driven(self) -> int:
        """Number of wheels, or motors, that a torque of the controller goes to."""
        return 1 if self.one_motor else sum(side is not None for side in self.drives)


def _differential(
    wheels: tuple[str, ...], places: Points, *drives: int | None, **rest: Any
) -> Kind:
    return Kind(wheels, places, DIFFERENTIAL, differential_controller, drives, **rest)


def _car(**rest: Any) -> Kind:
    return Kind(
        _CORNERS,
        _CAR_PLACES,
        steered=True,
        mass=500.0,
        shape=_CAR,
        z_min=0.2,
        z_max=1.4,
        **rest,
    )


_STRONG = Gains(KP=100.0)

KINDS: dict[str, Kind] = {
    "differential": _differential(("left", "right"), ((0.0, 0.5), (0.0, -0.5)), 0, 1),
    "differential_3_wheels": _differential(
        ("left", "right", "caster"), ((0.0, 0.5), (0.0, -0.5), (0.5, 0.0)), 0, 1, None, caster=2
    ),
    "differential_4_wheels": _differential(
        _CORNERS, ((0.0, 0.5), (0.0, -0.5), (0.5, 0.5), (0.5, -0.5)), 0, 1, 0, 1
    ),
    "ackermann": _car(
        controllers=ACKERMANN,
        controller=ackermann_controller,
        drives=(None, None, 0, 1),
        gains=(("twist_front_steer_pid", _STRONG), ("front_steer_pid", _STRONG)),
    ),
    "ackermann_drivetrain": _car(
        controllers=DRIVETRAIN,
        controller=drivetrain_controller,
        one_motor=True,
        gains=(
            ("twist_front_steer_pid", Gains(KP=100.0, max_torque=400.0)),
            ("front_steer_pid", _STRONG),
        ),
    ),
}
"""The kinds by their names in world files."""
