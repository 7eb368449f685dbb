"""Cars whose negative torques are brakes.

    car = sp.vehicles.with_brakes(sp.vehicles.formula_student())

The motors of `four_wheel`, `formula_student` and `kinematic_bicycle` drive backwards when their
torque is negative: who brakes for too long reverses. A brake turns no wheel round. It resists the
way its wheel moves over the ground, so a locked wheel that slides is pulled against its motion and
not along the car, and it holds a car that stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..body import Body, Limits, Wish
from ..components.actuator import limited
from ..errors import InvalidValue
from ..model import Model, Vehicle, made_by
from .car_body import torque_for
from .car_brakes import braking_state
from .car_state import Input, State, actuator_rates
from .formula_student import braked_derivative, braked_outputs
from .formula_student import derivative as formula_student_derivative
from .on_road import off_road, on_road
from .road_felt import model_without_road

__all__ = ["with_brakes"]


def with_brakes(vehicle: Vehicle) -> Vehicle:
    """The same car with the same inputs, of which negative torques brake and do not reverse.

    For `four_wheel`, `formula_student` and `kinematic_bicycle`.
    """
    if model_without_road(vehicle.model) is not None:
        return on_road(with_brakes(off_road(vehicle)), vehicle.params.road)
    return Vehicle(braked(vehicle.model), vehicle.params)


def braked(model: Model) -> Model:
    """The same model with brakes; there is one such model of each."""
    if model.State is not State or model.Input is not Input or model.reproduces:
        raise InvalidValue(
            f"{model.name!r} has no torques that could brake; allowed are four_wheel, "
            "formula_student and kinematic_bicycle"
        )
    kept = vars(model)
    if "_braked" not in kept:
        kept["_braked"] = made_by(braked, model, model=_with_brakes(model))
    return kept["_braked"]


def _with_brakes(model: Model) -> Model:
    inner, shown = model.derivative, model.outputs
    assert inner is not None
    assert shown is not None
    assert model.body is not None
    body = _body(model.body)
    if inner is formula_student_derivative:
        # Its tyres share their friction, so how far a brake locks them decides which way they push.
        return replace(model, derivative=braked_derivative, outputs=braked_outputs, body=body)

    def derivative(x: State, u: Input, w: Any, p: Any) -> State:
        """Time derivative of the state."""
        rate = inner(braking_state(x, p), u, w, p)
        actuators = actuator_rates(x, u, p)
        return rate._replace(**actuators._asdict())

    def outputs(x: State, u: Input, w: Any, p: Any) -> Any:
        """The outputs of the car."""
        return shown(braking_state(x, p), u, w, p)

    return replace(model, derivative=derivative, outputs=outputs, body=body)


def _body(body: Body) -> Body:
    motors = body.limits

    def limits(p: Any) -> Limits:
        """Of the car, which does not drive backwards; one that has spun may roll so."""
        return replace(motors(p), v_min=0.0, not_kept=("v",))

    def command(x: State, wish: Wish, p: Any) -> Input:
        """All wheels drive and brake alike; the handbrake locks the rear ones."""
        tau = limited(torque_for(wish.a, x.v_x, p), p.tau_max)
        rear = limited(tau - wish.handbrake * p.tau_max, p.tau_max)
        return Input(limited(wish.steer, p.steer_max), tau, tau, rear, rear)

    return replace(body, limits=limits, command=command)
