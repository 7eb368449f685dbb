"""The vehicle under test: its equations as rates, and the points at which they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Body, Pose, Velocity, Wish
from ..model import Model, Vehicle
from .sampling import sample

SAMPLES = 60
"""Random points per check."""
DT = 0.01
"""Step at which discrete models are looked at, in s."""


WISH = Wish(steer=0.03, a=0.4, v=3.0, omega=0.05, handbrake=0.2)
"""What is wished for where any wish will do."""


class Function(NamedTuple):
    """A function of the model or its body, of x, u, w and p, and the record that it returns."""

    name: str
    """What faults begin with; empty for rates and outputs."""
    kind: type
    call: Callable[[Any, Any, Any, Any], Any]
    floor: float = 0.0
    """Smallest scale of its values; see `differences`."""


class NotApplicable(Exception):
    """A check has nothing to look at in this model."""


class Point(NamedTuple):
    """Arguments of the model functions, apart from the parameters."""

    x: Any
    u: Any
    w: Any


@dataclass(frozen=True)
class Subject:
    """A vehicle and the seed of its samples."""

    vehicle: Vehicle
    seed: int = 0

    @property
    def name(self) -> str:
        """Name of the vehicle."""
        return self.vehicle.name

    @property
    def model(self) -> Model:
        """Its equations."""
        return self.vehicle.model

    @property
    def params(self) -> Any:
        """Its parameters."""
        return self.vehicle.params

    @property
    def body(self) -> Body:
        """Its body; the checks of it do not apply where there is none."""
        if self.model.body is None:
            raise NotApplicable("the model has no body; see docs/bodies.md")
        return self.model.body

    def rate(self, x: Any, u: Any, w: Any, p: Any, dt: Any = DT) -> Any:
        """The derivative; of a discrete model, the change over one step divided by its length.

        One function for both kinds lets every check be written once.
        """
        model = self.model
        if model.update is None:
            return self.vehicle.derivative(x, u, w, p)
        after = record.flatten(self.updated(x, u, w, p, dt))
        before = record.flatten(x)
        change = [(b - a) / dt for a, b in zip(before, after, strict=True)]
        return record.unflatten(model.State, change)

    def updated(self, x: Any, u: Any, w: Any, p: Any, dt: Any) -> Any:
        """The state of a discrete model a step of dt in s later."""
        model = self.model
        assert model.update is not None
        return model.update(x, model.held_input(x, u, w, p), w, p, dt)

    def functions(self) -> list[Function]:
        """All that has to be pure: rates, outputs, and what a body has."""
        model, body = self.model, self.model.body
        own = [
            Function("", model.State, self.rate),
            Function("", model.Outputs, self.vehicle.outputs),
        ]
        if body is None:
            return own
        there, moving = Pose(1.0, 2.0, 3.0), Velocity(4.0, 0.5, 0.2)
        return [
            *own,
            Function("pose ", Pose, lambda x, u, w, p: body.pose(x, p), 1.0),
            Function("velocity ", Velocity, lambda x, u, w, p: body.velocity(x, u, p), 1.0),
            Function(
                "placed ", model.State, lambda x, u, w, p: body.placed(x, there, moving, p), 1.0
            ),
            Function("command ", model.Input, lambda x, u, w, p: body.command(x, WISH, p), 1.0),
        ]

    def settled(self, x: Any) -> Any:
        """The state as `reset` would leave it."""
        return x if self.model.settle is None else self.model.settle(x, self.params)

    def point(
        self, x: Sequence[float], u: Sequence[float], w: Sequence[float] | None = None
    ) -> Point:
        """A point from flat values; the disturbance is the default one unless given."""
        model = self.model
        calm = record.build(model.Disturbance)
        return Point(
            self.settled(record.unflatten(model.State, list(x))),
            record.unflatten(model.Input, list(u)),
            calm if w is None else record.unflatten(model.Disturbance, list(w)),
        )

    @cached_property
    def points(self) -> list[Point]:
        """Random points with disturbances."""
        return [self.point(*rows) for rows in zip(*self._draws(), strict=True)]

    @cached_property
    def calm_points(self) -> list[Point]:
        """The same points with the default disturbance."""
        calm = record.build(self.model.Disturbance)
        return [point._replace(w=calm) for point in self.points]

    def _draws(self) -> tuple[Any, ...]:
        model = self.model
        kinds = {"state": model.State, "input": model.Input, "disturbance": model.Disturbance}
        return tuple(
            sample(kind, role, SAMPLES, self.seed, self.params).tolist()
            for role, kind in kinds.items()
        )

    def rates(self, points: Iterable[Point], p: Any = None) -> Array:
        """Rates at many points, called on floats, as a (points, states) array."""
        p = self.params if p is None else p
        return table(self.rate(*point, p) for point in points)

    def outputs(self, points: Iterable[Point], p: Any = None) -> Array:
        """Outputs at many points, called on floats, as a (points, outputs) array."""
        p = self.params if p is None else p
        return table(self.vehicle.outputs(*point, p) for point in points)


def table(records: Iterable[Any]) -> Array:
    """Records as rows."""
    return np.array([record.flatten(row) for row in records], dtype=float)


def differences(
    what: str,
    kind: type,
    values: Array,
    want: Array,
    tolerance: float,
    points: Sequence[Point],
    floor: float = 0.0,
) -> list[str]:
    """A sentence for each field in which two tables differ by more than rounding.

    `tolerance` is relative to the larger of the value and the column's scale, which is at least
    `floor`; NaN never agrees.
    """
    faults: list[str] = []
    for j, name in enumerate(record.names(kind)):
        a, b = values[:, j], want[:, j]
        scale = np.maximum(np.abs(b), np.abs(b[np.isfinite(b)]).max(initial=floor))
        with np.errstate(invalid="ignore"):
            wrong = ~(np.abs(a - b) <= tolerance * scale)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            faults.append(f"{what}: {name} is {a[i]:.15g}, expected {b[i]:.15g}, at {points[i].x}")
    return faults
