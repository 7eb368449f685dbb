"""Invariance: what must not change the behaviour of a vehicle, and what must stay at rest.

* `frame`: no position and no direction of the world is special on a plane.
* `mirror`: a vehicle that is symmetric behaves in a mirror as its mirror image.
* `rest`: a vehicle at rest without drive stays at rest, and residual motion decays.
* `standing`: the vehicle stands in a world, is seen by others and carries sensors.
* `purity`: the same call gives the same result on every kind of number, and changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.body import Demand, Geometry, Pose, Velocity
from ..errors import require
from ..geometry.pose import rotated
from ..world.scene import Imu, Laser, Scene, Settings, VehicleSpec
from ..world.scene import Pose as standing_Pose
from ..world.world import World
from .body import DT
from .subject import (
    DEMAND,
    Function,
    NotApplicable,
    Point,
    Subject,
    arguments,
    column,
    differences,
    headings,
    is_motion,
    lock,
    mirror_signs,
    mirrored,
    position_pairs,
    symbols,
    table,
    tokens,
)

TOLERANCE = 1e-9
SHIFT = (37.0, -81.0)
"""Metres by which the world is moved."""
TURN = 2.1
"""Angle by which the world is turned, in rad; not near a multiple of a quarter turn."""


def frame(subject: Subject) -> list[str]:
    """Moves and turns the world: rates of position turn with it, everything else stays."""
    model = subject.model
    if not position_pairs(model.State) and not headings(model.State):
        raise NotApplicable("the state has no position x, y and no yaw")
    points = subject.calm_points
    moved = [point._replace(x=_moved(point.x)) for point in points]
    turned = _turned(model.State, subject.rates(points))
    placed = [_moved_row(model.Outputs, row) for row in subject.outputs(points)]
    faults: list[str] = []
    for kind, values, want in (
        (model.State, subject.rates(moved), turned),
        (model.Outputs, subject.outputs(moved), np.array(placed).reshape(len(points), -1)),
    ):
        faults += differences("in a turned world", kind, values, want, TOLERANCE, points)
    return faults


def _turned(kind: type, table: Array) -> Array:
    """Vectors in the world turned, such as rates of position."""
    index = {name: j for j, name in enumerate(record.names(kind))}
    result = table.copy()
    for pair in position_pairs(kind):
        x, y = (index[name] for name in pair)
        result[:, x], result[:, y] = rotated(table[:, x], table[:, y], TURN)
    return result


def _moved_row(kind: type, row: Array) -> Array:
    """Positions turned and moved, headings turned, all else as it is."""
    index = {name: j for j, name in enumerate(record.names(kind))}
    result = _turned(kind, row[np.newaxis])[0]
    for pair in position_pairs(kind):
        for name, shift in zip(pair, SHIFT, strict=True):
            result[index[name]] += shift
    for name in headings(kind):
        result[index[name]] += TURN
    return result


def _moved(x: Point) -> Point:
    row = _moved_row(type(x), np.array(record.flatten(x), dtype=float))
    return record.unflatten(type(x), row.tolist())


def mirror(subject: Subject) -> list[str]:
    """Mirrors the arguments and expects the mirrored answer, for rates, outputs and the body."""
    model = subject.model
    kinds = (model.State, model.Input, model.Disturbance, model.Outputs)
    signs = {kind: mirror_signs(kind, model.mirror_odd) for kind in kinds}
    # Parameters describe the vehicle: they change sides but have no left-positive quantities.
    even = dict.fromkeys(record.names(model.Params), 1.0)
    p = mirrored(subject.params, even)
    points = subject.points
    images = [Point(*(mirrored(part, signs[type(part)]) for part in point)) for point in points]
    faults: list[str] = []
    for kind, answer, plain in (
        (model.State, subject.rates(images, p), subject.rates(points)),
        (model.Outputs, subject.outputs(images, p), subject.outputs(points)),
    ):
        want = _mirrored_table(kind, plain, signs[kind])
        faults += differences("in the mirror", kind, answer, want, TOLERANCE, points)
    return faults + (_body(subject, images, signs[model.Input]) if model.body else [])


def _body(subject: Subject, images: list[Point], of_input: Mapping[str, float]) -> list[str]:
    """Pose, velocity and command."""
    body, points, p = subject.body, subject.points, subject.params
    there = mirrored(DEMAND, mirror_signs(Demand, None))
    faults: list[str] = []
    functions: list[tuple[str, type, Mapping[str, float], Callable[[Point, Demand], Any]]] = [
        ("pose", Pose, mirror_signs(Pose, None), lambda q, _: body.pose(q.x, p)),
        ("velocity", Velocity, mirror_signs(Velocity, None), lambda q, _: body.velocity(*q[:2], p)),
        ("command", subject.model.Input, of_input, lambda q, demand: body.command(q.x, demand, p)),
    ]
    for what, kind, signs, call in functions:
        want = _mirrored_table(kind, table(call(q, DEMAND) for q in points), signs)
        values, what = table(call(q, there) for q in images), f"{what} in the mirror"
        faults += differences(what, kind, values, want, TOLERANCE, points, floor=1.0)
    return faults


def _mirrored_table(kind: type, rows: Array, signs: Mapping[str, float]) -> Array:
    columns = mirrored(record.unflatten(kind, list(rows.T)), signs)
    result = rows.copy()
    for j, values in enumerate(record.flatten(columns)):
        result[:, j] = values
    return result


RESIDUAL = 0.05
"""Leftover lateral velocity in m/s and yaw rate in rad/s that must not last."""


def rest(subject: Subject) -> list[str]:
    """At rest without drive, pose and velocity stay; residual lateral and yaw motion decays."""
    State, p = subject.model.State, subject.params
    faults: list[str] = []
    for steer in (0.0, lock(p), -lock(p)):
        rates = record.flatten(subject.rate(*_parked(subject, steer), p))
        faults += [
            f"at rest with steering {steer:g} rad, the rate of {leaf.name} is {value:.6g} "
            f"{leaf.unit}/s"
            for leaf, value in zip(record.fields(State), rates, strict=True)
            if is_motion(leaf.name) and not abs(value) <= TOLERANCE
        ]
    for name in (name for name in ("v_y", "omega") if name in record.names(State)):
        point = _parked(subject, **{name: RESIDUAL})
        residual, rate = getattr(point.x, name), getattr(subject.rate(*point, p), name)
        # It must decay, unless the model ties it to the speed.
        if residual != 0.0 and not residual * rate < 0.0:
            faults.append(
                f"at standstill {name} = {residual:g} does not die out: its rate is {rate:.6g}"
            )
    return faults


def _parked(subject: Subject, steer: float = 0.0, **moving: float) -> Point:
    """Standing at some place and heading, the wheels turned, the target where the wheels are."""
    state = subject.model.State
    poses = {name for pair in position_pairs(state) for name in pair} | set(headings(state))

    def value(leaf: record.Field) -> float:
        if leaf.name in moving:
            return moving[leaf.name]
        if leaf.unit.symbol == "rad" and {"steer", "steering", "delta"} & set(tokens(leaf.name)):
            return steer
        return 2.5 if leaf.name in poses else 0.0

    fields = (record.fields(state), record.fields(subject.model.Input))
    return subject.point(*([value(leaf) for leaf in leaves] for leaves in fields))


COUNT = 5
"""Number of vehicles, as in `driving`, so that no other code is compiled."""
GAP = 15.0
"""Gap between two of them in m."""
DURATION = 0.21
"""Duration in s, for two readings of each sensor."""


def standing(subject: Subject) -> list[str]:
    """Some of them behind each other on level ground: the second sees the first."""
    length = _length(subject.body.geometry(subject.params))
    sensors = (Laser("scan", fov=math.pi, nrays=3, max_range=2.0 * GAP, period=0.1), Imu("imu"))
    scene = Scene(
        settings=Settings(timestep=DT),
        vehicles=tuple(
            VehicleSpec(
                str(k), standing_Pose(-k * (GAP + length), 0.0), subject.vehicle, sensors=sensors
            )
            for k in range(COUNT)
        ),
    )
    world = World(scene)
    world.run(DURATION)
    shown, truth = world.vehicles["1"].sensors, world.vehicles["0"].truth
    faults: list[str] = []
    if not all(math.isfinite(value) for value in truth):
        faults.append(f"after {DURATION} s it is at {truth}")
    ahead = shown["scan"].ranges[1]
    if not 0.0 < ahead < 2.0 * GAP:
        faults.append(f"a laser straight ahead does not see it, {GAP} m away: {ahead} m")
    force = (shown["imu"].f_x, shown["imu"].f_y, shown["imu"].f_z)
    if not all(math.isfinite(value) for value in force):
        faults.append(f"an inertial unit on it shows {force}")
    return faults


def _length(shape: Geometry) -> float:
    """Distance of the farthest point from the reference point, trailers included."""
    reach = max(math.hypot(x, y) for outline in shape.outlines for x, y in outline)
    distance = 0.0
    for trailer in shape.trailers:
        distance += abs(trailer.hitch_x) + trailer.drawbar
        behind = max(math.hypot(x, y) for outline in trailer.outlines for x, y in outline)
        reach = max(reach, distance + behind)
    return reach


PURITY_TOLERANCE = 1e-12
"""Relative difference between libraries, which differ in sines and contraction."""


def purity(subject: Subject) -> list[str]:
    """Calls twice, with another call between them; then on NumPy, CasADi and, if installed, JAX."""
    backends: dict[str, Callable[[Subject, Function], Array]] = {
        "NumPy": _on_numpy,
        "CasADi": _on_casadi,
    }
    functions = subject.functions()
    if find_spec("jax") is not None:
        backends["JAX"] = _compiled_together(functions)
    return [fault for one in functions for fault in _impurities(one, subject, backends)]


def _impurities(
    function: Function, subject: Subject, backends: dict[str, Callable[[Subject, Function], Array]]
) -> list[str]:
    points, kind, p = subject.points, function.kind, subject.params
    values = table(function.call(*point, p) for point in points)
    again = table(function.call(*point, p) for point in reversed(points))[::-1]
    faults = differences(f"{function.name}called again", kind, again, values, 0.0, points)
    for name, evaluate in backends.items():
        try:
            other = evaluate(subject, function)
        except Exception as error:
            # One library refusing the model must not hide what the others say.
            faults.append(f"{function.name}on {name} it raised {type(error).__name__}: {error}")
            continue
        what = f"{function.name}on {name}, unlike on floats"
        faults += differences(what, kind, other, values, PURITY_TOLERANCE, points, function.floor)
    return faults + _changed_arguments(subject, function)


def _arrays(subject: Subject) -> list[Any]:
    """The sampled points as records of writable arrays."""
    parts: list[Any] = []
    for rows in zip(*subject.points, strict=True):
        leaves = table(rows).T
        parts.append(record.unflatten(type(rows[0]), [leaf.copy() for leaf in leaves]))
    return parts


def _stacked(value: Any, count: int) -> Array:
    leaves = [np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in record.flatten(value)]
    return np.column_stack(leaves) if leaves else np.empty((count, 0))


def _on_numpy(subject: Subject, function: Function) -> Array:
    x, u, w = _arrays(subject)
    return _stacked(function.call(x, u, w, subject.params), len(subject.points))


def _on_casadi(subject: Subject, function: Function) -> Array:
    import casadi

    symbol = symbols(subject)
    value = column(function.call(*symbol.records))
    traced = casadi.Function("f", list(symbol.columns), [value])
    rows = [np.asarray(traced(*arguments(subject, point))).ravel() for point in subject.points]
    return np.array(rows)


def _compiled_together(functions: list[Function]) -> Callable[[Subject, Function], Array]:
    """Values on JAX, which compiles all functions together in 60 % of the time of one by one.

    If that fails, each is compiled alone, to find those that fail. No function is called before its
    values are needed: side effects of a trace in an impure model must not show on floats.
    """

    @cache
    def tables(subject: Subject) -> dict[Function, Array]:
        try:
            return dict(zip(functions, _on_jax(subject, functions), strict=True))
        except Exception:
            return {}

    def evaluate(subject: Subject, function: Function) -> Array:
        every = tables(subject)
        return every[function] if function in every else _on_jax(subject, [function])[0]

    return evaluate


def _on_jax(subject: Subject, functions: list[Function]) -> list[Array]:
    purpose = "The purity check on JAX"
    jax = require("jax", purpose=purpose)

    def values(x: Any, u: Any, w: Any, p: Any) -> list[Any]:
        return [function.call(x, u, w, p) for function in functions]

    # Older releases have the switch to 64 bits among the experiments.
    home = jax if hasattr(jax, "enable_x64") else require("jax.experimental", purpose=purpose)
    with home.enable_x64(True):
        x, u, w = (jax.tree.map(jax.numpy.asarray, part) for part in _arrays(subject))
        p = jax.tree.map(lambda v: jax.numpy.asarray(float(v)), subject.params)
        return [_stacked(value, len(subject.points)) for value in jax.jit(values)(x, u, w, p)]


def _changed_arguments(subject: Subject, function: Function) -> list[str]:
    """Fields that a call changed in place, which only shows on arrays."""
    shown, kept = _arrays(subject), _arrays(subject)
    try:
        x, u, w = shown
        function.call(x, u, w, subject.params)
    except Exception:
        return []  # reported above, as a failure on NumPy
    return [
        f"the call changed its argument {letter}.{name}"
        for letter, after, before in zip("xuw", shown, kept, strict=True)
        for name, a, b in zip(
            record.names(type(after)), record.flatten(after), record.flatten(before), strict=True
        )
        if a.tobytes() != b.tobytes()
    ]
