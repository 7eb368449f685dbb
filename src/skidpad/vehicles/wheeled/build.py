"""From the description of a wheeled vehicle to one that runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ... import record
from ...components.drivetrain import Splits
from ...controllers.pid import Form
from ...errors import InvalidValue
from ...model import Model, Vehicle, built_once
from .body import WheeledBody
from .description import Description
from .kinds import KINDS
from .mass import mass_properties
from .records import Body, WheelParams, disturbance_type, outputs_type, params_type, state_type
from .rules import REPAIRED, UPSTREAM
from .update import Assembly

COMPAT = (None, "upstream")


def vehicle(description: Description, compat: str | None = None) -> Vehicle:
    """The vehicle of a description; the model is the same for all that differ in numbers only.

    `compat="upstream"` repeats the program MVSim, errors included; by default those listed in
    docs/errata.md are repaired, and loads follow the forces.
    """
    if compat not in COMPAT:
        raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, 'upstream'")
    model = _model(*_structure(description, compat == "upstream"))
    params = record.build(model.Params, _numbers(description, model))
    return Vehicle(model, params, outlines=(tuple(description.chassis.shape),))


def assembly(vehicle: Vehicle) -> Assembly:
    """The parts that a vehicle of `vehicle` consists of, for those who need its wheel forces."""
    return assembly_of(vehicle.model)


def _structure(d: Description, upstream: bool) -> tuple[Any, ...]:
    """Everything about a description that is not a number."""
    form = replace(d.control.form, upstream=upstream)
    drivetrain = None if d.drivetrain is None else d.drivetrain.kind
    leans = d.loads == "dynamic" and not upstream
    circle = d.friction_circle and not upstream
    return d.kind, d.control.kind, form, type(d.friction), drivetrain, circle, leans, upstream


@built_once
def _model(
    name: str,
    control: str,
    form: Form,
    friction: type,
    drivetrain: str | None,
    circle: bool,
    leans: bool,
    upstream: bool,
) -> Model:
    kind, rules = KINDS[name], UPSTREAM if upstream else REPAIRED
    controller = kind.controller(control, form)
    leans = leans and not controller.ideal
    State = state_type(kind.wheels, kind.steered, leans, controller)
    Outputs = outputs_type(kind.wheels)
    splits = None if drivetrain is None else Splits
    Params = params_type(kind.wheels, kind.steered, leans, friction, splits, controller.Params)
    parts = Assembly(kind, rules, controller, State, Outputs, drivetrain, circle)
    return Model(
        name=name,
        State=State,
        Input=controller.Input,
        Params=Params,
        Outputs=Outputs,
        Disturbance=disturbance_type(kind.wheels),
        update=parts.update,
        outputs=parts.outputs,
        energy=parts.energy,
        body=WheeledBody(parts).body(),
        reproduces=rules.reproduces,
        summary=f"{name} with {control} control and {friction.__name__} friction",
    )


def _numbers(d: Description, model: Model) -> dict[str, Any]:
    """Parameters of the model from the description."""
    kind = KINDS[d.kind]
    rules = assembly_of(model).rules
    props = mass_properties(d, hull=rules.hull)
    body = Body(
        d.chassis.mass,
        props.com_x,
        props.com_y,
        props.com_z,
        props.I_z,
        *rules.damping(d.chassis),
        d.chassis.z_max,
    )
    numbers: dict[str, Any] = {"body": body, "friction": d.friction, "g": d.gravity}
    for name, wheel in zip(kind.wheels, d.wheels, strict=True):
        numbers[f"wheel_{name}"] = WheelParams(
            wheel.x,
            wheel.y,
            wheel.yaw,
            0.5 * wheel.diameter,
            wheel.mass,
            wheel.spin_inertia,
            wheel.width,
        )
    if kind.steered:
        numbers["steer_max"] = d.steer_max
    if d.drivetrain is not None:
        numbers["drivetrain"] = d.drivetrain.splits
    if "control" in model.Params._fields:
        numbers["control"] = d.control.gains or kind.default_gains(d.control.kind)
    return numbers


def assembly_of(model: Model) -> Assembly:
    """The parts that a model made here consists of."""
    parts = getattr(model.update, "__self__", None)
    if not isinstance(parts, Assembly):
        raise InvalidValue(f"{model.name!r} is not a wheeled vehicle")
    return parts
