"""Everything about a vehicle that a page computes, as Programs of one module.

The page itself has no equation of a vehicle: what steps it, what keys ask of it, where it is and
how it comes to rest are the functions that the rest of the package uses, traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import record
from ...body import Trailer, Velocity, body_of
from ...compile.operations import Port
from ...compile.program import Program
from ...compile.trace import trace
from ...controllers.abilities import Abilities, abilities_of
from ...controllers.driving import Axes, Memory, wish_of_keys, wish_to_stop
from ...export.exported import Exported
from ...integrate.as_written import as_written
from ...model import Vehicle
from ...ops import where
from ...plane.pose import Pose, towed

POSE = ("x", "y", "yaw")
VELOCITY = ("v_x", "v_y", "omega")


def programs_of(exported: Exported) -> dict[str, Program]:
    """The Programs of a page by name, lowered.

    `step`, `outputs` and, where the model has one, `settle` are those of the simulator. `command`
    makes an input of keys: x, u, p, the axes, what is remembered, the period of the steps, whether
    anybody holds the keys and the parameters of the start (`p_start`: a heavier car is driven
    alike) to the port `command` and what is remembered. `motion` is x, u and p to pose, velocity
    and the poses of what is towed; `rest` puts the vehicle to rest at the pose in that port.
    """
    vehicle = exported.vehicle
    programs = {
        "step": exported.step,
        "outputs": exported.outputs,
        "command": exported.finished(command_program(vehicle, abilities_of(vehicle))),
        "motion": exported.finished(motion_program(vehicle)),
        "rest": exported.finished(rest_program(vehicle)),
    }
    if exported.settle is not None:
        programs["settle"] = exported.settle
    return programs


def command_program(vehicle: Vehicle, can: Abilities) -> Program:
    """The input for keys that are held, or that nobody holds."""
    body = body_of(vehicle, "a page that drives")

    def function(x: Any, u: Any, p: Any, p_start: Any, axes: Any, memory: Any, how: Any) -> Any:
        keys, before, (period, held) = Axes(*axes), Memory(*memory), how
        now = body.velocity(x, u, p)
        driven, driven_memory = wish_of_keys(keys, before, now, can, period)
        stopped, stopped_memory = wish_to_stop(before, now, can, period)
        wish = _chosen(held, driven, stopped)
        after = _chosen(held, driven_memory, stopped_memory)
        return record.flatten(body.command(x, wish, p_start)), tuple(after)

    inputs = (
        Port("p_start", record.names(vehicle.model.Params)),
        Port("axes", Axes._fields),
        Port("memory", Memory._fields),
        Port("driver", ("period", "held")),
    )
    outputs = (Port("command", record.names(vehicle.Input)), Port("memory", Memory._fields))
    return _traced(vehicle, "command", function, inputs, outputs)


def motion_program(vehicle: Vehicle) -> Program:
    """Where the vehicle is, how it moves, and where what it tows is."""
    body, trailers = body_of(vehicle, "a page that drives"), vehicle.geometry.trailers

    def function(x: Any, u: Any, p: Any) -> Any:
        pose = body.pose(x, p)
        return tuple(pose), tuple(body.velocity(x, u, p)), _towed(vehicle, pose, x, trailers)

    fields = tuple(f"{k}.{name}" for k in range(len(trailers)) for name in POSE)
    outputs = (Port("pose", POSE), Port("velocity", VELOCITY), Port("towed", fields))
    return _traced(vehicle, "motion", function, (), outputs)


def rest_program(vehicle: Vehicle) -> Program:
    """The state of the vehicle at rest at a pose: as it starts, but for its place, its steering
    and the angles of what it tows."""
    body, settle = body_of(vehicle, "a page that drives"), vehicle.model.settle
    kept = [*(trailer.angle for trailer in vehicle.geometry.trailers), *steering_states(vehicle)]

    def function(x: Any, u: Any, p: Any, pose: Any) -> Any:
        start, still = record.build(vehicle.State), Velocity(0.0, 0.0, 0.0)
        standing = body.placed(start, Pose(*pose), still, p)
        angles = dict(zip(record.names(vehicle.State), record.flatten(x), strict=True))
        leaves = zip(record.names(vehicle.State), record.flatten(standing), strict=True)
        mixed = [angles[name] if name in kept else value for name, value in leaves]
        standing = record.unflatten(vehicle.State, mixed)
        return (record.flatten(standing if settle is None else settle(standing, p)),)

    outputs = (Port("x", record.names(vehicle.State)),)
    return _traced(vehicle, "rest", function, (Port("pose", POSE),), outputs)


def steering_states(vehicle: Vehicle) -> list[str]:
    """The states by which the driver steers: a vehicle that is put to rest keeps them."""
    angles = {"steer", *(wheel.steer for wheel in vehicle.geometry.wheels)}
    return [name for name in record.names(vehicle.State) if name in angles]


def _traced(
    vehicle: Vehicle,
    name: str,
    function: Callable[..., Any],
    more: Sequence[Port],
    outputs: Sequence[Port],
) -> Program:
    """The Program of a function of x, u and p as records and of further ports as they are."""
    kinds = {"x": vehicle.State, "u": vehicle.Input, "p": vehicle.model.Params}
    ports = [Port(port, record.names(kind)) for port, kind in kinds.items()]

    def called(*values: tuple[Any, ...]) -> Any:
        records = [record.unflatten(k, v) for k, v in zip(kinds.values(), values, strict=False)]
        rest = list(values[3:])
        if any(port.name == "p_start" for port in more):
            rest[0] = record.unflatten(vehicle.model.Params, rest[0])
        with as_written(next(iter(values[0]), None)):
            return function(*records, *rest)

    return trace(f"{vehicle.name}.{name}", called, [*ports, *more], outputs)


def _chosen(held: Any, driven: Any, stopped: Any) -> Any:
    pairs = zip(driven, stopped, strict=True)
    return type(driven)(*(where(held > 0.5, a, b) for a, b in pairs))


def _towed(vehicle: Vehicle, pose: Any, x: Any, trailers: Sequence[Trailer]) -> tuple[Any, ...]:
    angles = dict(zip(record.names(vehicle.State), record.flatten(x), strict=True))
    poses: list[Any] = []
    for trailer in trailers:
        pose = towed(pose, trailer.hitch_x, trailer.drawbar, angles[trailer.angle])
        poses += pose
    return tuple(poses)
