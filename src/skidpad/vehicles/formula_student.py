"""`formula_student`: the default car, one model from standstill to the limit.

It is `four_wheel` with four differences, small or absent in ordinary driving:

* Below `v_blend` the wheels of an axle move together into its middle, as in a bicycle, and the
  tyres turn into lateral dampers. As the lateral force that driving needs falls with the square of
  speed, the wheels then roll practically without slip: the car is kinematic at low speed, and at
  rest it rests. Forces only ever oppose slip, so no energy appears in the blend, which mixing the
  equations of two models would not ensure.
* Drive and brake share the friction of a tyre with cornering (friction ellipse).
* The front wheels are steered by Ackermann's geometry: a slow car rolls without scrub.
* Wheels lift: no load is negative, and what one axle cannot carry goes to the other.

Equations: docs/vehicles.md.
"""

from __future__ import annotations

from dataclasses import replace

from ..components.grip import each_tyre
from ..components.load_transfer import wheel_loads
from ..model import Model
from ..ops import where
from .car_body import CAR
from .car_brakes import braked_use, braking_state
from .car_factory import CarFactory
from .car_state import (
    External,
    Input,
    Outputs,
    State,
    actuator_rates,
    body_rates,
    energy,
    least,
    wheel_outputs,
)
from .former_formula_student import former_motion
from .formula_student_motion import Motion, Params, motion


def derivative(x: State, u: Input, w: External, p: Params) -> State:
    """Time derivative of the state."""
    return _rates(x, u, p, motion(x, w, p))


def outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """Accelerations, loads, slip angles and tyre forces. `wheel_lift` marks a wheel in the air."""
    return _shown(motion(x, w, p))


def braked_derivative(x: State, u: Input, w: External, p: Params) -> State:
    """`derivative` of the car with brakes."""
    return _rates(x, u, p, motion(braking_state(x, p), w, p, braked_use(x, p)))


def braked_outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """`outputs` of the car with brakes."""
    return _shown(motion(braking_state(x, p), w, p, braked_use(x, p)))


def former_derivative(x: State, u: Input, w: External, p: Params) -> State:
    """`derivative` of version 0.1."""
    return _rates(x, u, p, former_motion(x, w, p))


def former_outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """`outputs` of version 0.1."""
    return _shown(former_motion(x, w, p))


def _rates(x: State, u: Input, p: Params, now: Motion) -> State:
    return body_rates(x, now.balance.a, now.moment * (1.0 / p.I_z), actuator_rates(x, u, p))


def _shown(now: Motion) -> Outputs:
    F_z = wheel_loads(now.balance.load)
    pairs = list(zip(now.balance.friction, F_z, strict=True))
    return wheel_outputs(
        now.balance.a,
        F_z,
        [tyre.alpha for tyre in each_tyre(now.tyres)],
        [f.x * load for f, load in pairs],
        [f.y * load for f, load in pairs],
        where(least(F_z) <= 0.0, 1.0, 0.0),
    )


MODEL = Model(
    name="formula_student",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=Outputs,
    Disturbance=External,
    derivative=derivative,
    outputs=outputs,
    energy=energy,
    body=CAR,
    summary="The default car: one model from standstill to the limit",
)

FORMER_MODEL = replace(MODEL, derivative=former_derivative, outputs=former_outputs)
"""The car of version 0.1."""

formula_student = CarFactory(MODEL, FORMER_MODEL)
