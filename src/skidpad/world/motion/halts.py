"""Vehicles that a world cannot simulate any further: each is held while the others continue.

A vehicle is held where it last was, at rest, when its state becomes NaN or infinite, or when it has
run away beyond `FARTHEST`. It can still be seen, touched and pushed; commands to it have no effect.
`World.place`, `World.restore` and `World.reset` let it go again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import record
from ...errors import InvalidValue, SimulationDiverged
from ...run.failures import ended
from ...units import m, rad, s
from ..contact.solids import Moving
from ..errors import WorldWarning
from .bodies import Bodies

LARGEST_PLACE: m = 1e7
"""Largest |x| and |y| at which a vehicle can be put: UTM northings end there. Doubles resolve 2 nm,
and single precision, in which contacts are solved, 1 m before the solver's origin follows."""
LARGEST_YAW: rad = 1e3
"""Largest |yaw| with which a vehicle can be put: single precision resolves 6e-5 rad there."""
LARGEST_INPUT = 1e7
"""Largest size of an input in SI units: beyond what any actuator of a ground vehicle gives."""
FARTHEST = 1e8
"""Largest |x|, |y| (m), |yaw| (rad) and velocities of a vehicle that is simulated; rays are cast up
to 1e9 m."""
_LOOK_EVERY = 64
"""Steps between two checks for vehicles that have run away."""


class Halt(NamedTuple):
    """Why and when a vehicle was stopped."""

    time: s
    """End of the step in which it happened."""
    reason: str


def check_place(name: str, x: m, y: m, yaw: rad, extent: m = 0.0) -> None:
    """Raise if a vehicle cannot be put at a pose; one whose vehicles start up to
    `extent` m away takes twice that."""
    largest = max(LARGEST_PLACE, 2.0 * extent)
    for what, value, unit, most in (
        ("x", x, "m", largest),
        ("y", y, "m", largest),
        ("yaw", yaw, "rad", LARGEST_YAW),
    ):
        try:
            fits = abs(float(value)) <= most
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            raise InvalidValue(
                f"pose of {name}: {what} = {value} {unit} must be finite, from {-most:g} to "
                f"{most:g} {unit}"
            )


def check_sizes(of: str, fields: Any) -> None:
    """Raise if a number of a record is not finite or too large to be simulated."""
    numbers = record.flatten(fields)
    if all(abs(value) <= LARGEST_INPUT for value in numbers):
        return
    for leaf, value in zip(record.fields(type(fields)), numbers, strict=True):
        if not abs(value) <= LARGEST_INPUT:
            raise InvalidValue(
                f"{of}: {leaf.name} = {leaf.unit.behind(f'{value:g}')} must be finite, from "
                f"{-LARGEST_INPUT:g} to {leaf.unit.behind(f'{LARGEST_INPUT:g}')}"
            )


class Halts:
    """The vehicles of a world that are held.

    Args:
        groups: the vehicles.
        raises: whether a vehicle that fails raises `SimulationDiverged` instead.
        extent: largest |x| or |y| at which a vehicle starts, in m.
    """

    def __init__(self, groups: Sequence[Bodies], *, raises: bool, extent: m = 0.0) -> None:
        self._groups, self.raises = groups, raises
        self._farthest = max(FARTHEST, 2.0 * extent)
        self.by_name: dict[str, Halt] = {}
        """Those that are held."""

    @property
    def raises(self) -> bool:
        """Whether a vehicle that fails raises `SimulationDiverged`."""
        return self._raises

    @raises.setter
    def raises(self, raises: bool) -> None:
        self._raises = raises
        for bodies in self._groups:
            bodies.group.contains = not raises

    def due(self, steps: int) -> bool:
        """Whether `hold` has something to do after a number of steps."""
        if self.by_name or not steps % _LOOK_EVERY:
            return True
        return any(bodies.group.failed for bodies in self._groups)

    def hold(self, time: s) -> list[str]:
        """Stop those that failed in the step that ends at a time, and keep all that are stopped at
        rest. Returns the names of those that were stopped now."""
        found = {name: halt for name, halt in self._failures(time) if name not in self.by_name}
        self.by_name |= found
        for bodies in self._groups:
            for row, name in enumerate(bodies.group.names):
                if name in found:
                    bodies.group.clear_inputs(row)
                if name in self.by_name:
                    pose = np.clip(bodies.poses[row], -self._farthest, self._farthest).tolist()
                    bodies.restart(row, Moving(*pose))
        for name, halt in found.items():
            warnings.warn(
                f"{name} was stopped at t = {time:g} s, the others go on: {halt.reason}. "
                f"World.place({name!r}, x, y, yaw) or World.reset() lets it go again",
                WorldWarning,
                stacklevel=6,
            )
        return list(found)

    def _failures(self, time: s) -> Iterator[tuple[str, Halt]]:
        farthest = self._farthest
        for bodies in self._groups:
            group, motions = bodies.group, bodies.motions
            failed, group.failed = group.failed, []
            for row in failed:
                state = record.unflatten(group.model.State, group.state[row].tolist())
                why = ended(group.vehicles[row], state)
                yield group.names[row], Halt(time, why or "its state became NaN or infinite")
            for row in np.flatnonzero(~(np.abs(motions) <= farthest).all(axis=1)).tolist():
                x, y, *_ = motions[row].tolist()
                why = f"it ran away to x = {x:.4g} m, y = {y:.4g} m; allowed are {farthest:g} m"
                if self.raises:
                    state = record.unflatten(group.model.State, group.state[row].tolist())
                    raise SimulationDiverged(
                        f"{group.names[row]}: {why}", time=time, last_state=state, vehicles=(row,)
                    )
                yield group.names[row], Halt(time, why)
