"""Assembly of vehicles from parts: composite records, usual bodies, disturbances, and tables.

A record such as `MotorDrive(motor, battery, final, layout)` is written once, for parts of any
class. `assembled` converts it to a class whose fields have the classes of the given parts: one
class for each combination, with the methods of the original. All fields of such a record are
records.

`rolling_car` and `sliding_car` are bodies of cars with the usual state fields: x, y and yaw of the
reference point and the steering angle `steer`. Vehicles add geometry, limits and command.

`with_disturbance` adds a disturbance to the derivative, x' = f(x, u) + w, with one entry of w for
each state.

    windy = with_disturbance(sp.vehicles.four_wheel())
    sim = sp.Simulator(windy, dt=0.001)
    sim.disturb(v_y=0.3)            # m/s²: pushes the car to the left

Every continuous vehicle can be disturbed this way, which is how control toolboxes write
uncertainty: a disturbance of a position is a velocity, one of a velocity an acceleration.

A table over one or two coordinates is a record, so that every number of it is a parameter. Its
class holds its size and units; an absent table is of the class `NoTable`. Interpolation is linear
in both coordinates, with edge values outside the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_type_hints

from ...core import record
from ...core.body import (
    Acceleration,
    Body,
    Demand,
    Geometry,
    GroundUnder,
    Limits,
    Pose,
    Velocity,
    car_geometry,
)
from ...core.files import brief_repr
from ...core.model import Model, Vehicle, made_by
from ...core.record import Recipe, made_once, recipe_of
from ...errors import InvalidValue
from ...ops import hats, maximum, ramps, weighted_sum
from ...tyres.contract import tyre_set
from ...units import N, Nm, Unit, kg, m, m_s, one, rad, rad_s
from .kinematics import Acceleration as PlaneAcceleration
from .kinematics import body_acceleration, following, yaw_rate


class PlanarState(NamedTuple):
    """Pose and velocity of a car that moves in the plane. ISO 8855: x forward, y left, z up."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    v_x: m_s = 0.0
    """Velocity of the centre of mass along the car, forward positive."""
    v_y: m_s = 0.0
    """Velocity of the centre of mass across the car, positive to the left."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""


class Push(NamedTuple):
    """External forces and yaw moment on a car; the defaults do nothing."""

    F_x: N = 0.0
    """Force at the centre of mass along the car, forward positive."""
    F_y: N = 0.0
    """Force at the centre of mass across the car, positive to the left."""
    M_z: Nm = 0.0
    """Yaw moment, positive to the left."""


class NoStates(NamedTuple):
    """Empty record: states, inputs or outputs of a component without any."""


def base_of(kind: type) -> Any:
    """Return the original class of an assembled one."""
    own = recipe_of(kind)
    return own.arguments[0] if isinstance(own, Recipe) and own.make is _class_of else kind


def assembled(whole: Any) -> Any:
    """Convert a composite record, recursively, to the class for its parts.

    Other records are returned unchanged.
    """
    if not len(whole) or not all(record.is_record_type(type(part)) for part in whole):
        return whole
    parts = [assembled(part) for part in whole]
    hints = get_type_hints(type(whole), include_extras=True)
    if all(hints[name] is type(part) for name, part in zip(whole._fields, parts, strict=True)):
        return whole
    return _class_of(base_of(type(whole)), *map(type, parts))(*parts)


@made_once
def _class_of(base: Any, *kinds: type) -> Any:
    """Return a record class like `base`, with its methods, whose fields have these classes."""
    hints = dict(zip(base._fields, kinds, strict=True))
    kind = record.define(base.__name__, hints, doc=base.__doc__ or "")
    for name, value in vars(base).items():
        if not name.startswith("_") and name not in base._fields:
            setattr(kind, name, value)
    kind.__repr__ = brief_repr
    return kind


def redefined(
    base: Any,
    kinds: Mapping[str, Any] = MappingProxyType({}),
    defaults: Mapping[str, Any] = MappingProxyType({}),
    docs: Mapping[str, str] = MappingProxyType({}),
    without: Collection[str] = (),
    doc: str = "",
) -> Any:
    """Return a record class like `base` with some fields replaced, added or removed.

    Args:
        base: the record class.
        kinds: classes or units of fields to replace or add.
        defaults: defaults of fields; None removes the default.
        docs: docstrings of fields.
        without: fields to leave out.
        doc: docstring of the class; that of `base` if empty.
    """
    hints = {**get_type_hints(base, include_extras=True), **kinds}
    values = {**base._field_defaults, **defaults}
    return record.define(
        base.__name__,
        {name: hint for name, hint in hints.items() if name not in without},
        {n: v for n, v in values.items() if v is not None and n not in without},
        lambda: {**record.field_docs(base), **docs},
        doc or base.__doc__ or "",
    )


Fields = dict[str, tuple[Any, Any, str]]
"""Unit or record, default (None for no default) and docstring of each field."""


def record_type(name: str, doc: str, fields: Fields) -> Any:
    """Return a record type from the unit, default and docstring of each field."""
    hints = {field: unit for field, (unit, _, _) in fields.items()}
    defaults = {field: value for field, (_, value, _) in fields.items() if value is not None}
    docs = {field: meaning for field, (_, _, meaning) in fields.items()}
    return record.define(name, hints, defaults, docs, doc)


def tyres_among(values: dict[str, Any], groups: Sequence[tuple[str, ...]]) -> Any:
    """Remove the tyre keywords of one group from `values`; return their tyre set, or None."""
    names = tuple(name for group in groups for name in group if name in values)
    if names and names not in groups:
        several = (" and ".join((", ".join(g[:-1]), g[-1])) if g[1:] else g[0] for g in groups)
        allowed = ", or ".join(several)
        raise InvalidValue(f"tyres are given as {', '.join(names)}; allowed are {allowed}")
    return tyre_set(*(values.pop(name) for name in names)) if names else None


def widened(base: Any, *more: Any) -> Any:
    """Return a record class with the fields of `base`, then those of others, if any.

    Create its records by keyword, since fields without a default come first.
    """
    others = [kind for kind in more if kind._fields]
    return _widened(base, *others) if others else base


@made_once
def _widened(base: Any, *others: Any) -> Any:
    for kind in others:
        hints = get_type_hints(kind, include_extras=True)
        base = redefined(base, hints, kind._field_defaults, record.field_docs(kind))
    return base


CENTRE_OF_MASS, REAR_AXLE = "centre of mass", "middle of the rear axle"
ShapeOf = Callable[[Any], Geometry]
LimitsOf = Callable[[Any], Limits]
CommandOf = Callable[[Any, Demand, Any], Any]


def pose(x: Any, p: Any) -> Pose:
    """`Body.pose` of a state with x, y and yaw."""
    return Pose(x.x, x.y, x.yaw)


def steer(x: Any, u: Any, p: Any) -> rad:
    """`Body.steer` of a state with the angle of the front wheels."""
    return x.steer


def sliding_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """`Body.velocity` of a state with v_x, v_y and omega of the reference point."""
    return Velocity(x.v_x, x.v_y, x.omega)


def sliding_acceleration(x: Any, rate: Any, p: Any) -> Acceleration:
    """`Body.acceleration` of a state with v_x, v_y and omega of the reference point."""
    a = body_acceleration(PlaneAcceleration(rate.v_x, rate.v_y), x.v_x, x.v_y, x.omega)
    return Acceleration(a.x, a.y, rate.omega)


def sliding_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """`Body.placed` of a state with v_x, v_y and omega; actuator states are kept."""
    return x._replace(**pose._asdict(), **velocity._asdict())


def weight_along(ground: GroundUnder, mass: kg) -> dict[str, N]:
    """Disturbance forces by the component of gravity along the ground, at the centre of mass."""
    if ground.down is None:
        return {}
    weight = ground.g * mass
    return {"F_x": weight * ground.down.x, "F_y": weight * ground.down.y}


def geometry_about_axles(p: Any, shift: m | None = None, **others: Any) -> Geometry:
    """Geometry of a car centred between its axles.

    The reference point is the centre of mass, or is behind it by `shift`.
    """
    front_axle, rear_axle = p.l_f, -p.l_r
    if shift is not None:
        front_axle, rear_axle = p.l_f + shift, shift - p.l_r
    middle = 0.5 * (front_axle + rear_axle)
    return car_geometry(
        front_axle=front_axle,
        rear_axle=rear_axle,
        front=middle + 0.5 * p.length,
        rear=middle - 0.5 * p.length,
        width=p.width,
        centre_of_mass=(0.0 if shift is None else shift, 0.0),
        **others,
    )


def sliding_car(*, geometry: ShapeOf, limits: LimitsOf, command: CommandOf, **others: Any) -> Body:
    """Return the body of a car whose state has v_x, v_y and omega of its centre of mass.

    `others` are further functions of the `Body`, or replacements of those here.
    """
    usual: dict[str, Any] = {
        "reference": CENTRE_OF_MASS,
        "pose": pose,
        "velocity": sliding_velocity,
        "acceleration": sliding_acceleration,
        "placed": sliding_placed,
        "steer": steer,
    }
    return Body(**usual | others, geometry=geometry, limits=limits, command=command)


def rolling_car(
    *,
    wheel_base: Callable[[Any], m],
    geometry: ShapeOf,
    limits: LimitsOf,
    command: CommandOf,
    speed: str = "v_x",
    **others: Any,
) -> Body:
    """Return the body of a car whose reference point is the middle of the rolling rear axle.

    `speed` is the field of the state with the velocity of the rear axle; `wheel_base(p)` and the
    steering angle determine the yaw rate. `others` as in `sliding_car`.
    """

    def velocity(x: Any, u: Any, p: Any) -> Velocity:
        v = getattr(x, speed)
        return Velocity(v, 0.0 * v, yaw_rate(v, x.steer, wheel_base(p)))

    def acceleration(x: Any, rate: Any, p: Any) -> Acceleration:
        v, a = getattr(x, speed), getattr(rate, speed)
        omega, omega_rate = following(v, a, x.steer, rate.steer, wheel_base(p))
        return Acceleration(a, v * omega, omega_rate)

    def placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
        """State at another pose; lateral velocity and yaw rate follow from the rolling wheels."""
        return x._replace(**pose._asdict(), **{speed: velocity.v_x})

    usual: dict[str, Any] = {
        "reference": REAR_AXLE,
        "pose": pose,
        "velocity": velocity,
        "acceleration": acceleration,
        "placed": placed,
        "steer": steer,
    }
    return Body(**usual | others, geometry=geometry, limits=limits, command=command)


OWN = "own_"
"""Prefix of a model's own disturbance whose name is also that of a state."""
_RATES = {"m": "m/s", "m/s": "m/s²", "m/s²": "m/s³", "rad": "rad/s", "rad/s": "rad/s²", "1": "1/s"}
"""Symbols of rates that are shorter than `unit/s`."""


def with_disturbance(vehicle: Vehicle) -> Vehicle:
    """Return the vehicle with an additive disturbance of every state; see `additive`."""
    return Vehicle(additive(vehicle.model), vehicle.params)


def additive(model: Model) -> Model:
    """Return the model with x' = f + w.

    Its `Disturbance` has a field for each leaf of the state, under the same name (with `_` for
    the dot of a nested one), in the unit of the state per second and 0 by default; then the
    model's own disturbances under their names, with the prefix `own_` if a state has the same
    name. A model with additive disturbances is returned as it is; the result is cached.
    """
    if model.derivative is None:
        raise InvalidValue(
            f"{model.name!r} is a discrete model: it has no derivative that a disturbance could be "
            "added to"
        )
    if getattr(model.Disturbance, "added_to", None) is model.State:
        return model
    kept = vars(model)
    if "_additive" not in kept:
        kept["_additive"] = made_by(additive, model, model=_disturbed(model, model.derivative))
    return kept["_additive"]


def _disturbed(model: Model, derivative: Callable[..., Any]) -> Model:
    size = record.size(model.State)
    kind = _disturbance_type(model.State, model.Disturbance)
    hold = model.hold

    def disturbed(x: Any, u: Any, w: Any, p: Any) -> Any:
        leaves = record.flatten(w)
        rates = record.flatten(derivative(x, u, own(leaves), p))
        total = [rate + push for rate, push in zip(rates, leaves[:size], strict=True)]
        return record.unflatten(model.State, total)

    def own(leaves: tuple[Any, ...]) -> Any:
        return record.unflatten(model.Disturbance, leaves[size:])

    def passing(function: Callable[[Any, Any, Any, Any], Any]) -> Callable[..., Any]:
        """Wrap a function of the model so that it receives only the model's own disturbance."""
        return lambda x, u, w, p: function(x, u, own(record.flatten(w)), p)

    return replace(
        model,
        Disturbance=kind,
        derivative=disturbed,
        outputs=passing(model.outputs),
        hold=None if hold is None else passing(hold),
    )


@made_once
def _disturbance_type(State: type, Own: type) -> type:
    """Record type of an additive disturbance; cached by the pair of records."""
    hints: dict[str, Any] = {}
    defaults: dict[str, float] = {}
    docs: dict[str, str] = {}
    for leaf in record.fields(State):
        name = leaf.name.replace(".", "_")
        hints[name] = Annotated[float, rate_unit(leaf.unit)]
        defaults[name] = 0.0
        docs[name] = f"Added to the rate of {leaf.name}."
    for leaf in record.fields(Own):
        name = leaf.name.replace(".", "_")
        name = OWN + name if name in hints else name
        plain = Annotated[float, leaf.unit]
        hints[name] = plain if leaf.allowed is None else Annotated[plain, leaf.allowed]
        defaults[name] = leaf.default if leaf.default is not None else 0.0
        docs[name] = leaf.doc
    kind = record.define(
        "Disturbance", hints, defaults, docs, "What is added to the derivative, and what acts else."
    )
    kind.added_to = State
    return kind


def rate_unit(unit: Unit) -> Unit:
    symbol = _RATES.get(unit.symbol, f"{unit.symbol}/s")
    return Unit(symbol, unit.length, unit.mass, unit.time - 1.0)


Units = tuple[Any, Any, Any]
"""Units of row coordinates, column coordinates and values, as in record fields."""

PLAIN: Units = (one, one, one)


class NoTable(NamedTuple):
    """Placeholder for an omitted table."""


@made_once
def table_type(rows: int, columns: int, units: Units) -> Any:
    """Return the record class (cached) of tables of this size with these units.

    Its fields are `row_0`, ..., `column_0`, ..., and the values row by row, `v_0_0`, `v_0_1`, ...
    """
    row, column, value = units
    hints: dict[str, Any] = {f"row_{i}": row for i in range(rows)}
    hints |= {f"column_{j}": column for j in range(columns)}
    hints |= {f"v_{i}_{j}": value for i in range(rows) for j in range(columns)}
    docs = {
        **{name: "Coordinate of a row; they increase." for name in list(hints)[:rows]},
        **{f"column_{j}": "Coordinate of a column; they increase." for j in range(columns)},
        **{f"v_{i}_{j}": "Value." for i in range(rows) for j in range(columns)},
    }
    doc = f"A table of {rows} rows and {columns} columns."
    kind = record.define(f"Table{rows}x{columns}", hints, docs=docs, doc=doc)
    kind.size = (rows, columns)
    return kind


def table(
    rows: Sequence[float],
    columns: Sequence[float],
    values: Sequence[Sequence[float]],
    units: Units = PLAIN,
) -> Any:
    """Return a table record; `values[i][j]` is the value at (`rows[i]`, `columns[j]`)."""
    kind = table_type(len(rows), len(columns), units)
    return kind(*rows, *columns, *(cell for line in values for cell in line))


def checked_table(name: str, numbers: Any, units: Units = PLAIN) -> Any:
    """Return a `table` after checking the user's (rows, columns, values); `name` is for errors."""
    rows, columns, values = numbers
    for what, knots in (("rows", rows), ("columns", columns)):
        if len(knots) < 2 or not all(a < b for a, b in pairwise(knots)):
            raise InvalidValue(
                f"{what} of {name} must be 2 or more numbers that increase, got {list(knots)}"
            )
    if len(values) != len(rows) or any(len(line) != len(columns) for line in values):
        raise InvalidValue(
            f"{name} has {len(rows)} rows and {len(columns)} columns, so it needs as many rows of "
            f"as many values; got rows of {[len(line) for line in values]} values"
        )
    return table(rows, columns, values, units)


class Curve(NamedTuple):
    """Piecewise linear function: a table at a fixed row coordinate."""

    knots: tuple[Any, ...]
    first: Any
    """Value at the first knot."""
    rises: tuple[Any, ...]
    """Difference of the value at each later knot from that at the knot before."""


def at_row(row: Any, table: Any) -> Curve:
    """Interpolate a table at a row coordinate; the result is a function of the column coordinate.

    After that each evaluation is only one sum over the columns.
    """
    rows, columns = type(table).size
    knots = table[rows : rows + columns]
    cells = table[rows + columns :]
    weights = hats(row, table[:rows])
    values = [weighted_sum(weights, cells[j::columns]) for j in range(columns)]
    return Curve(knots, values[0], tuple(b - a for a, b in pairwise(values)))


def at_column(column: Any, curve: Curve) -> Any:
    """Value of a curve at a column coordinate."""
    return curve.first + weighted_sum(ramps(column, curve.knots), curve.rises)


@made_once
def curve_type(count: int, units: tuple[Any, Any]) -> Any:
    """Return the record class (cached) of curves: `knot_0`, ..., `value_0`, ..."""
    hints = {f"knot_{i}": units[0] for i in range(count)}
    hints |= {f"value_{i}": units[1] for i in range(count)}
    docs = {name: "Coordinate; they increase." for name in list(hints)[:count]}
    docs |= {f"value_{i}": "Value." for i in range(count)}
    kind = record.define(f"Curve{count}", hints, docs=docs, doc=f"A curve of {count} points.")
    kind.size = count
    return kind


def curve(
    knots: Sequence[float], values: Sequence[float], units: tuple[Any, Any] = (one, one)
) -> Any:
    """Return a piecewise linear curve, constant outside; `values[i]` is at `knots[i]`."""
    if len(knots) != len(values) or len(knots) < 2 or any(not a < b for a, b in pairwise(knots)):
        raise InvalidValue(
            f"a curve needs 2 or more increasing knots and as many values, got {list(knots)} and "
            f"{list(values)}"
        )
    return curve_type(len(knots), units)(*knots, *values)


def on_curve(x: Any, curve: Any) -> Any:
    """Value of a curve record at a coordinate."""
    count = type(curve).size
    rises = tuple(b - a for a, b in pairwise(curve[count:]))
    return at_column(x, Curve(curve[:count], curve[count], rises))


def curve_integral(x: Any, curve: Any) -> Any:
    """Exact integral of a curve record from its first knot to a coordinate."""
    count = type(curve).size
    knots, values = curve[:count], curve[count:]
    total: Any = values[0] * (x - knots[0])
    for (a, b), ramp, rise in zip(
        pairwise(knots), ramps(x, knots), (v - u for u, v in pairwise(values)), strict=True
    ):
        total = total + rise * (0.5 * (b - a) * (ramp * ramp) + maximum(x - b, 0.0))
    return total
