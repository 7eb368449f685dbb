"""Structure of an estimator: the estimated states and parameters, and the measurements.

`structure_of` turns the names a user gives into a `Structure` and checks them. Vehicle states fall
into three groups:

* *estimated*: corrected by the measurements, with a covariance;
* *simulated*: they influence those, but follow the vehicle's equations without a correction;
* left out: nothing that is estimated or measured depends on them, such as a position that is not
  measured. Their variance would grow without bound.

A *parameter* is any number that the equations take as constant: a leaf of the vehicle's parameters
(`m`, `tyres.front.C_alpha`), a disturbance (`F_y`), an input that is not known (`u_steer`), the
bias of a sensor (`log.omega_bias`, as of a fit), or one of these:

* `mu`, the friction of the road under all wheels relative to that of the tyre measurement;
* `demand_a`, `demand_steer`, ...: the demand of a driver whose inputs are not known. The vehicle's
  body turns the demand into the inputs that depend on it, such as four torques.

A parameter is estimated as a random walk.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...core import record
from ...core.body import Body, Demand, Pose, Velocity, body_of
from ...core.checks import finite, interval, not_negative, positive
from ...core.model import Model, Vehicle
from ...errors import InvalidValue
from ...ops import atan2, smooth_hypot, where
from ...units import Unit

FRICTION = "mu"
"""Parameter for the friction of the road under all wheels."""
INPUT, DEMAND = "u_", "demand_"
"""Beginning of the names of an unknown input and of a demand."""
PROBE = 10.0
"""Speed in m/s at which the inputs that follow a demand are found."""
TURNING = ("yaw", "sideslip")
"""Measurements whose differences are wrapped to half a turn."""
STANDSTILL = 1e-3
"""Speed in m/s below which speed and sideslip are smoothed."""
FLOOR = 0.01
"""Distance of an estimated parameter from the lowest value that its record allows, relative to its
start value."""

PROCESS = {"m": 0.02, "rad": 0.01, "m/s": 0.05, "rad/s": 0.015, "m/s²": 1.0, "1": 0.01}
"""Default process noise by unit: growth of the standard deviation per square root of a second.

Much more than the equations leave out would bias friction: the estimated slip angles then follow
the noise of the sensors, and the mean of a saturating force over noisy angles is smaller.
"""
START = {"m": 1.0, "rad": 0.1, "m/s": 1.0, "rad/s": 0.3, "m/s²": 1.0, "1": 0.1}
"""Default standard deviation of the start by unit."""
ANY = (-math.inf, math.inf)
"""Range without bounds."""
SURE = 1e-6
"""Default deviation of the start of a state that follows from others; its noise is that of them."""
DEMANDS = {"a": 5.0, "steer": 0.2}
"""Default random walks of demands per √s."""
FORCE = 0.1
"""Default process noise and start deviation of a force, relative to the weight."""
WALK, MU_WALK, PARAMETER = 0.01, 0.3, 0.2
"""Default random walk of a parameter per √s and of `mu`, and the default deviation of a parameter's
start; relative to the start value."""

FRICTION_SPREAD = 0.5
"""Standard deviation of the friction of roads, relative to its usual value: without information on
it, an estimated friction returns to this distribution."""

Target = tuple[str, int]
"""Port ("u", "w", "p" of the vehicle, "y" for a measurement, "d" for a `Demand`) and index of its
leaf."""


class Structure(NamedTuple):
    """Names and positions of everything that an estimator estimates."""

    states: tuple[str, ...]
    """State fields of the vehicle that are estimated."""
    simulated: tuple[str, ...]
    """State fields that influence them and are only simulated."""
    parameters: tuple[str, ...]
    targets: tuple[tuple[Target, ...], ...]
    """For each parameter the leaves that it replaces."""
    low: tuple[float, ...]
    """For each estimated state and parameter its lowest allowed value."""
    high: tuple[float, ...]
    measured: tuple[str, ...]
    commanded: tuple[int, ...] = ()
    """Inputs of the vehicle that follow from an estimated demand."""
    returns: tuple[tuple[float, float], ...] = ()
    """For each parameter the value to which it returns and its rate in 1/s, 0 for a random walk."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the estimated states and parameters, in order."""
        return self.states + self.parameters


def observe(
    model: Model, names: Iterable[str], x: Any, start: Any, u: Any, w: Any, p: Any
) -> list[Any]:
    """Measured quantities of a vehicle at `x`, reached by a step from `start` with input `u`.

    A name is a field of the state, an output, or a quantity of the body: pose, velocity,
    acceleration, `steer`, `speed` or `sideslip`.
    """
    held = model.held_input(start, u, w, p)
    known = dict(zip(record.names(model.State), record.flatten(x), strict=True))
    if set(names) - known.keys():
        values = record.flatten(model.outputs(x, held, w, p))
        known = dict(zip(record.names(model.Outputs), values, strict=True)) | known
    if model.body is not None and set(names) - known.keys():
        known = _of_body(model, model.body, x, u, held, w, p) | known
    return [known[name] for name in names]


def measurable(model: Model) -> tuple[str, ...]:
    """Names of all quantities that can be measured."""
    names = [*record.names(model.State), *record.names(model.Outputs)]
    if model.body is not None:
        names += ["x", "y", "yaw", "v_x", "v_y", "omega", "speed", "sideslip"]
        names += ["steer"] if model.body.steer is not None else []
        known = model.body.acceleration is not None and model.continuous
        names += ["a_x", "a_y"] if known else []
    return tuple(dict.fromkeys(names))


def _of_body(model: Model, body: Body, x: Any, u: Any, held: Any, w: Any, p: Any) -> dict[str, Any]:
    """Quantities that the body of a vehicle defines."""
    velocity = body.velocity(x, u, p)
    v_x, v_y = velocity.v_x, velocity.v_y
    moving = v_x * v_x + v_y * v_y > STANDSTILL * STANDSTILL
    known = body.pose(x, p)._asdict() | velocity._asdict()
    known |= {
        "speed": smooth_hypot(v_x, v_y, STANDSTILL),
        "sideslip": atan2(v_y, where(moving, v_x, STANDSTILL)),
    }
    if body.steer is not None:
        known["steer"] = body.steer(x, u, p)
    if body.acceleration is not None and model.derivative is not None:
        acceleration = body.acceleration(x, model.derivative(x, held, w, p), p)
        known |= {"a_x": acceleration.a_x, "a_y": acceleration.a_y}
    return known


def structure_of(
    vehicle: Vehicle,
    measured: Collection[str],
    states: Sequence[str] | None,
    parameters: Mapping[str, float | None],
    bounds: Mapping[str, tuple[float, float]],
) -> Structure:
    """Check the names that a user gives and find the states that matter."""
    if not measured:
        raise InvalidValue(
            "measured is empty: give at least one measurement with its standard deviation"
        )
    model = vehicle.model
    known = record.names(model.State)
    record.check_names(model.name, measured, measurable(model), "measurement")
    found = [_target(vehicle, name, tuple(measured)) for name in parameters]
    demands = [Demand._fields[place] for ((port, place), *_) in found if port == "d"]
    commanded = inputs_of_demands(vehicle, demands) if demands else ()
    rates, seen = _influences(vehicle, tuple(measured), commanded)
    needed = _closure(seen, rates)
    if states is not None:
        record.check_names(model.name, states, known, "state")
        wanted = {known.index(name) for name in states}
        needed |= _closure(wanted, rates)
    else:
        wanted = needed
    names = tuple(known[k] for k in sorted(wanted))
    ranges = dict.fromkeys(names, ANY)
    ranges |= {name: _range(vehicle, at[0]) for name, at in zip(parameters, found, strict=True)}
    record.check_names("bounds", bounds, ranges)
    ranges |= {name: interval(f"bounds[{name!r}]", pair) for name, pair in bounds.items()}
    return Structure(
        names,
        tuple(known[k] for k in sorted(needed - wanted)),
        tuple(parameters),
        tuple(found),
        tuple(low for low, _ in ranges.values()),
        tuple(high for _, high in ranges.values()),
        tuple(measured),
        commanded,
        tuple(
            _return(vehicle, name, walk, at[0])
            for (name, walk), at in zip(parameters.items(), found, strict=True)
        ),
    )


def _return(vehicle: Vehicle, name: str, walk: float | None, target: Target) -> tuple[float, float]:
    """Usual value of a friction and the rate at which it returns there; 0, 0 for other parameters.

    Driving below the limit bounds the friction from below only. A random walk would leave it free
    to wander, so it is a process with the given growth and a limited variance.
    """
    port, place = target
    leaf = record.fields(vehicle.Disturbance)[place] if port == "w" else None
    if leaf is None or not leaf.name.startswith(f"{FRICTION}_") or not leaf.default:
        return 0.0, 0.0
    if walk is None:
        walk = (MU_WALK if name == FRICTION else WALK) * leaf.default
    return leaf.default, 0.5 * (walk / (FRICTION_SPREAD * leaf.default)) ** 2


def inputs_of_demands(vehicle: Vehicle, demands: Sequence[str]) -> tuple[int, ...]:
    """Indices of the inputs that the body's command changes with these fields of a demand."""
    body, p, rest = body_of(vehicle, "an estimated demand"), vehicle.params, Demand(v=PROBE)
    motion = Velocity(PROBE, 0.0, 0.0)
    x = body.placed(record.at_rest(vehicle.State), Pose(0.0, 0.0, 0.0), motion, p)
    others = [rest._replace(**{name: change}) for name in demands for change in (-0.1, 0.1)]
    usual, *changed = (record.flatten(body.command(x, demand, p)) for demand in (rest, *others))
    return tuple(k for k, value in enumerate(usual) if any(other[k] != value for other in changed))


def with_demand(
    model: Model, commanded: Sequence[int], x: Any, u: Any, p: Any, demand: Mapping[str, Any]
) -> Any:
    """Input with the commanded fields from the body's command for a demand."""
    body = model.body
    assert body is not None
    wish = Demand(v=body.velocity(x, u, p).v_x)._replace(**demand)
    command, leaves = record.flatten(body.command(x, wish, p)), list(record.flatten(u))
    for place in commanded:
        leaves[place] = command[place]
    return record.unflatten(model.Input, leaves)


def _closure(start: set[int], rates: Sequence[set[int]]) -> set[int]:
    """The states of `start`, and all on which their rates depend."""
    reached, new = set[int](), set(start)
    while new:
        reached |= new
        new = set[int]().union(*(rates[k] for k in new)) - reached
    return reached


def _influences(
    vehicle: Vehicle, measured: tuple[str, ...], commanded: tuple[int, ...]
) -> tuple[list[set[int]], set[int]]:
    """For each state, the states that its rate depends on; and the states that are measured."""
    import casadi as ca

    from ...compile.trace import Calls, explained
    from ...core.backends import traced_by
    from ...core.model import port_kinds
    from ...integrate.base import as_written, flat_result
    from ...integrate.derivatives import column, dependencies

    model = vehicle.model
    leaves = [
        [ca.SX.sym(name) for name in record.names(kind)] for kind in port_kinds(model).values()
    ]
    kinds = port_kinds(model).values()
    x, u, w, p = (record.unflatten(k, part) for k, part in zip(kinds, leaves, strict=True))
    with explained(model.name), traced_by(Calls()), as_written(ca.SX()):
        u = with_demand(model, commanded, x, u, p, {}) if commanded else u
        held = model.held_input(x, u, w, p)
        if model.derivative is not None:
            rates = flat_result(model, "derivative", model.derivative(x, held, w, p))
        else:
            assert model.update is not None
            rates = flat_result(model, "update", model.update(x, held, w, p, ca.SX.sym("dt")))
        values = observe(model, measured, x, x, u, w, p)
    outputs = column(ca.SX(value) for value in (*rates, *values))
    places = dependencies(outputs, column(leaves[0])).places
    return places[: len(rates)], set[int]().union(*places[len(rates) :])


def _target(vehicle: Vehicle, name: str, measured: tuple[str, ...]) -> tuple[Target, ...]:
    """The leaves that a parameter replaces."""
    model = vehicle.model
    inputs = [INPUT + leaf for leaf in record.names(model.Input)]
    disturbances, own = record.names(model.Disturbance), record.names(model.Params)
    biases = [f"log.{leaf}_bias" for leaf in measured]
    demands = [DEMAND + leaf for leaf in Demand._fields]
    if name in own:
        return (("p", own.index(name)),)
    if name in disturbances:
        return (("w", disturbances.index(name)),)
    if name in inputs:
        return (("u", inputs.index(name)),)
    if name in biases:
        return (("y", biases.index(name)),)
    if name in demands and model.body is not None:
        return (("d", demands.index(name)),)
    friction = [k for k, leaf in enumerate(disturbances) if leaf.startswith(f"{FRICTION}_")]
    if name == FRICTION and friction:
        return tuple(("w", k) for k in friction)
    general = (FRICTION,) if friction else ()
    allowed = (*general, *disturbances, *inputs, *biases, *own)
    raise InvalidValue(record.unknown_name(f"an estimator of {model.name!r}", name, allowed))


def leaf_of(vehicle: Vehicle, structure: Structure, name: str) -> record.Field:
    """Field of an estimated state or parameter, with its start value as default."""
    model = vehicle.model
    if name in structure.states:
        return record.fields(model.State)[record.names(model.State).index(name)]
    (port, place), *_ = structure.targets[structure.parameters.index(name)]
    if port == "y":
        return measured_leaf(model, structure.measured[place])._replace(name=name, default=0.0)
    kind = {"u": model.Input, "w": model.Disturbance, "p": model.Params, "d": Demand}[port]
    leaf = record.fields(kind)[place]
    value = record.flatten(vehicle.params)[place] if port == "p" else leaf.default
    return leaf._replace(name=name, default=value or 0.0)


_BODY_UNITS = {
    **dict.fromkeys(("x", "y"), Unit("m", length=1)),
    **dict.fromkeys(("yaw", "steer", "sideslip"), Unit("rad")),
    **dict.fromkeys(("v_x", "v_y", "speed"), Unit("m/s", length=1, time=-1)),
    **dict.fromkeys(("a_x", "a_y"), Unit("m/s²", length=1, time=-2)),
    "omega": Unit("rad/s", time=-1),
}


def measured_leaf(model: Model, name: str) -> record.Field:
    """Field of a measured quantity."""
    for kind in (model.State, model.Outputs):
        if name in record.names(kind):
            return record.fields(kind)[record.names(kind).index(name)]
    return record.Field(name, _BODY_UNITS[name], f"Measured {name}.", 0.0, None)


def _range(vehicle: Vehicle, target: Target) -> tuple[float, float]:
    """Lowest and highest value of a parameter."""
    port, place = target
    if port not in "pw":
        return ANY
    leaf = record.fields(vehicle.Params if port == "p" else vehicle.Disturbance)[place]
    if leaf.allowed is None:
        return ANY
    start = record.flatten(vehicle.params)[place] if port == "p" else leaf.default or 0.0
    low = leaf.allowed.low
    return (low + FLOOR * (start - low) if math.isfinite(low) else low), leaf.allowed.high


def deviations_of(
    vehicle: Vehicle, structure: Structure, table: Mapping[str, float], given: Mapping[str, Any]
) -> list[float]:
    """Standard deviation of each estimated state and parameter.

    `table` is `PROCESS`, for the process noise per √s, or `START`, for the start; it has the
    defaults of names that are not given.
    """
    found: list[float] = []
    for name in structure.names:
        if name not in given:
            found.append(_default(vehicle, leaf_of(vehicle, structure, name), table, structure))
        elif table is PROCESS:
            found.append(not_negative(f"process noise of {name}", given[name]))
        else:
            found.append(positive(f"deviations[{name!r}]", given[name]))
    return found


def _default(
    vehicle: Vehicle, leaf: record.Field, table: Mapping[str, float], structure: Structure
) -> float:
    symbol, start, walks = leaf.unit.symbol, abs(leaf.default or 0.0), table is PROCESS
    model, names = vehicle.model, record.names(vehicle.State)
    general = table.get(symbol, table["1"])
    if symbol in ("N", "N·m") and model.body is not None:
        general = FORCE * 9.81 * vehicle.geometry.mass
    if walks and leaf.name.startswith(DEMAND):
        return DEMANDS.get(leaf.name.removeprefix(DEMAND), general)
    if leaf.name in structure.states:
        if model.settle is not None:
            # A state that follows from others, such as the lateral velocity of wheels without slip.
            probe = [0.1 + 0.01 * k for k in range(len(names))]
            settled = model.settle(record.unflatten(model.State, probe), vehicle.params)
            place = names.index(leaf.name)
            if record.flatten(settled)[place] != probe[place]:
                return 0.0 if walks else SURE
        return general
    if not start:
        return general
    share = (MU_WALK if leaf.name == FRICTION else WALK) if walks else PARAMETER
    return share * start


def start_values(
    vehicle: Vehicle, structure: Structure, state: Any, values: Mapping[str, Any]
) -> tuple[list[float], list[float]]:
    """Start values of the estimated states and parameters, and of the simulated states.

    Missing states have their defaults; dependent ones are made consistent.
    """
    from ...run.arguments import make_consistent

    model = vehicle.model
    own = {name: value for name, value in values.items() if name in structure.parameters}
    fields = {name: value for name, value in values.items() if name not in own}
    start = record.build(model.State, state, base=record.at_rest(model.State), **fields)
    start = make_consistent(model, start, vehicle.params, state, fields)
    known = dict(zip(record.names(model.State), record.flatten(start), strict=True))
    parameters = [
        finite(name, own.get(name, leaf_of(vehicle, structure, name).default))
        for name in structure.parameters
    ]
    means = [float(known[name]) for name in structure.states]
    return means + parameters, [float(known[name]) for name in structure.simulated]
