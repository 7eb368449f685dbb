"""Motion in a plane of two states, the others held: what a phase portrait shows.

The plane is of a lateral quantity, `v_y` or `beta`, and another state, mostly the yaw rate `omega`.
Speed and steering angle are held; the rest of the state is as given. So a point stands for a car
that is thrown into that motion, and the field says where it goes from there. The rates are those of
the compiled derivative.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ... import record
from ...arrays import Array
from ...body import Velocity, own_fields
from ...checks import finite, positive
from ...compile import pipeline
from ...compile.cpu import CpuMap
from ...errors import InvalidValue
from ...model import Vehicle
from ...run.trim import straight

LATERAL = ("v_y", "beta")


class Plane:
    """The motion of a vehicle in the plane of two of its quantities, in SI units.

    Args:
        vehicle: with a derivative, and states `v_x`, `v_y` or `v`, `beta`.
        names: the two quantities: states, and `v_y` or `beta` whichever the state has.
        speed: held, in m/s: along the car where `v_y` is in the plane, of the centre of mass where
            `beta` is.
        steer: held, in rad: the state of that name, or the input where there is no such state.
        state, inputs: values of the others. What is not given is as in straight driving at the
            speed, so that the wheels are driven as much as holding it needs.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        names: tuple[str, str],
        *,
        speed: float,
        steer: float = 0.0,
        state: Mapping[str, float] | None = None,
        inputs: Mapping[str, float] | None = None,
    ) -> None:
        model = vehicle.model
        if not model.continuous:
            raise InvalidValue(
                f"{vehicle.name!r} is a discrete model: it has no derivative to draw"
            )
        speed, steer = positive("speed", speed, "m/s"), finite("steer", steer, "rad")
        self.vehicle, self.names, self.speed, self.steer = vehicle, names, speed, steer
        self._fields = _places(vehicle)
        self._check_names()
        self._set(state or {}, inputs or {})
        self._derivative = CpuMap(pipeline.derivative_program(vehicle), "float64", 1)

    def _check_names(self) -> None:
        first, second = self.names
        components, polar = ({"v_x", "v_y"}, {"v", "beta"})
        if not (components <= set(self._fields) or polar <= set(self._fields)):
            raise InvalidValue(
                f"{self.vehicle.name!r} has no lateral motion of its own: a phase portrait needs "
                f"the states v_x and v_y or v and beta; it has {', '.join(self._fields)}"
            )
        if any(name.startswith("tan_alpha") for name in self._fields):
            raise InvalidValue(
                f"{self.vehicle.name!r} has the slip of its tyres as states, which a plane of two "
                "others would hold: draw the car with slip=SteadySlip()"
            )
        known = {*LATERAL, *self._fields}
        for name in self.names:
            if name not in known:
                raise InvalidValue(record.unknown_name("the plane", name, sorted(known), "state"))
        if first == second or set(self.names) == set(LATERAL):
            raise InvalidValue(f"{first!r} and {second!r} do not span a plane")

    def _set(self, state: Mapping[str, float], inputs: Mapping[str, float]) -> None:
        model = self.vehicle.model
        x, u, _ = straight(self.vehicle, self.speed, inputs)
        states = record.names(model.State)
        held = {states[self._fields["steer"]]: self.steer} if "steer" in self._fields else {}
        driven = {"steer": self.steer} if "steer" in record.names(model.Input) else {}
        x = record.build(model.State, {**held, **state}, base=x)
        self._base = np.array(record.flatten(x), dtype=float)
        rows = (
            record.build(model.Input, {**driven, **inputs}, base=u),
            record.build(model.Disturbance),
            self.vehicle.params,
        )
        self._rest = [np.array(record.flatten(row), dtype=float).reshape(1, 1, -1) for row in rows]

    def states(self, points: Array) -> Array:
        """Whole states (n, nx) at points (n, 2) of the plane."""
        rows = np.tile(self._base, (len(points), 1))
        for name, values in zip(self.names, points.T, strict=True):
            if name == "beta" and "v_x" in self._fields:
                rows[:, self._fields["v_x"]] = self.speed * np.cos(values)
                rows[:, self._fields["v_y"]] = self.speed * np.sin(values)
            elif name == "v_y" and "v_y" not in self._fields:
                rows[:, self._fields["beta"]] = np.arctan2(values, self.speed)
                rows[:, self._fields["v"]] = np.hypot(values, self.speed)
            else:
                rows[:, self._fields[name]] = values
        settle = self.vehicle.model.settle
        if settle is not None:
            settled = settle(
                record.unflatten(self.vehicle.State, list(rows.T)), self.vehicle.params
            )
            columns = [np.broadcast_to(c, (len(rows),)) for c in record.flatten(settled)]
            rows = np.column_stack(columns)
        return rows

    def rates(self, points: Array) -> Array:
        """Rates (n, 2) of the two quantities at points (n, 2)."""
        x = self.states(np.ascontiguousarray(points))
        rates = self._derivative.run([x[None], x[None], *self._rest], len(x))[0][0]
        return np.column_stack([self._rate(name, x, rates) for name in self.names])

    def _rate(self, name: str, x: Array, rates: Array) -> Array:
        at = self._fields
        if name == "beta" and "v_x" in at:
            v_x, v_y = x[:, at["v_x"]], x[:, at["v_y"]]
            across = v_x * rates[:, at["v_y"]] - v_y * rates[:, at["v_x"]]
            return across / self.speed**2
        if name == "v_y" and "v_y" not in at:
            # v_y = v sin(beta) with v_x = v cos(beta) held: v_y' = v_x beta' / cos²(beta).
            return self.speed * rates[:, at["beta"]] / np.cos(x[:, at["beta"]]) ** 2
        return rates[:, at[name]]

    def unit(self, name: str) -> str:
        """Unit symbol of one of the two quantities."""
        if name in self._fields:
            return record.fields(self.vehicle.State)[self._fields[name]].unit.symbol
        return {"v_y": "m/s", "beta": "rad"}[name]


def _places(vehicle: Vehicle) -> dict[str, int]:
    """Places of the states by their names, and of those that are the velocity or the steering angle
    of the body by the names of these."""
    places = {name: k for k, name in enumerate(record.names(vehicle.State))}
    body, u, p = vehicle.model.body, record.build(vehicle.Input), vehicle.params
    if body is None:
        return places
    own = dict(
        zip(
            Velocity._fields,
            own_fields(vehicle.State, lambda x: body.velocity(x, u, p)),
            strict=True,
        )
    )
    if (steer := body.steer) is not None:
        (own["steer"],) = own_fields(vehicle.State, lambda x: (steer(x, u, p),))
    return places | {name: places[field] for name, field in own.items() if field is not None}
