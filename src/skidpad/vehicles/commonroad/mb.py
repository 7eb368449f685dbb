"""`commonroad_mb`: CommonRoad's multi-body car: a body on springs, two axles, four wheels.

29 states: besides the planar motion the body leans, squats and drops, each axle leans, drops and
moves sideways under it, and every wheel spins on a tyre of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...components.additive_disturbance import additive
from ...components.rigid_body import Acceleration, body_acceleration
from ...components.wheel import in_wheel_frame
from ...model import Model, NoDisturbance
from ...ops import logical_and, where
from ...units import m
from .body import springs_body
from .factory import VEHICLE_MODELS, CommonRoadFactory
from .mb_motion import Motion, corners, motion, of_wheels, spins_of, steering
from .mb_records import MIRROR_ODD, Outputs, Params, State
from .mb_upstream import upstream_motion, upstream_velocity
from .records import CarInput

_BY_SIDE = (1, 0, 3, 2)
"""Places of fl, fr, rl, rr in the order of the state."""


def standing_tyres(p: Params) -> tuple[m, m]:
    """How far the front and the rear tyres of a car that stands are pressed together."""
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    by_tyres = 0.5 * p.g * (1.0 / p.K_zt)
    return (
        (p.m_s * p.l_r * by_wheelbase + p.front.m) * by_tyres,
        (p.m_s * p.l_f * by_wheelbase + p.rear.m) * by_tyres,
    )


def settled(x: State, p: Params) -> State:
    """The state on its wheels, if its tyres were given without load, and on rolling ones, if all
    four were given as standing."""
    front, rear = standing_tyres(p)
    squat = (rear - front) * (1.0 / (p.l_f + p.l_r))
    aloft = logical_and(x.drop_f == 0.0, x.drop_r == 0.0)
    rims = [
        in_wheel_frame(corner.hub, c, s).x * (1.0 / p.R_w)
        for corner, (c, s) in zip(corners(x, p), steering(x), strict=True)
    ]
    spins = spins_of(x)
    still = logical_and(
        logical_and(spins[0] == 0.0, spins[1] == 0.0),
        logical_and(spins[2] == 0.0, spins[3] == 0.0),
    )
    fr, fl, rr, rl = (where(still, rim, omega) for rim, omega in zip(rims, spins, strict=True))
    return x._replace(
        squat=where(aloft, x.squat + squat, x.squat),
        drop=where(aloft, x.drop + front + p.l_f * squat, x.drop),
        drop_f=where(aloft, front, x.drop_f),
        drop_r=where(aloft, rear, x.drop_r),
        v_y_f=where(aloft, x.v_y + p.l_f * x.omega, x.v_y_f),
        v_y_r=where(aloft, x.v_y - p.l_r * x.omega, x.v_y_r),
        omega_fr=fr,
        omega_fl=fl,
        omega_rr=rr,
        omega_rl=rl,
    )


def _model(move: Callable[[State, CarInput, Params], Motion]) -> Model:
    def derivative(x: State, u: CarInput, w: NoDisturbance, p: Params) -> State:
        """Time derivative of the state."""
        return move(x, u, p).rate

    def outputs(x: State, u: CarInput, w: NoDisturbance, p: Params) -> Outputs:
        """Accelerations of the motion, loads, slip and forces."""
        now = move(x, u, p)
        a = body_acceleration(Acceleration(now.rate.v_x, now.rate.v_y), x.v_x, x.v_y, x.omega)
        loads = of_wheels(now.parts, "load")
        wheels = [now.wheels[k] for k in _BY_SIDE]
        return Outputs(
            *a,
            *(loads[k] for k in _BY_SIDE),
            *(-wheel.slip.alpha for wheel in wheels),
            *(wheel.slip.kappa for wheel in wheels),
            *(wheel.force.x for wheel in wheels),
            *(wheel.force.y for wheel in wheels),
        )

    return additive(
        Model(
            name="commonroad_mb",
            State=State,
            Input=CarInput,
            Params=Params,
            Outputs=Outputs,
            derivative=derivative,
            outputs=outputs,
            body=springs_body(),
            mirror_odd=MIRROR_ODD,
            summary="CommonRoad MB: multi-body car on springs, 29 states",
        )
    )


MODEL = replace(
    _model(motion), settle=settled, fills=("omega_fr", "omega_fl", "omega_rr", "omega_rl")
)
_BACKWARDS = "the slip of a wheel that rolls backwards is a quotient by 0, and so NaN"
UPSTREAM_MODEL = replace(
    _model(upstream_motion),
    body=springs_body(upstream_velocity),
    reproduces=VEHICLE_MODELS,
    exempt={
        "purity": _BACKWARDS,
        "mirror": "left and right tyres are alike, not mirror images, and all pull to one side",
        "frame": _BACKWARDS,
        "gradients": _BACKWARDS,
        "dimensions": "the vertical shift of the longitudinal force, in N, is added to an angle",
        "driving": _BACKWARDS,
        "rest": "below 0.1 m/s it integrates increments of the yaw rate and forgets no error",
    },
)

commonroad_mb = CommonRoadFactory(MODEL, upstream=UPSTREAM_MODEL, sets=(1, 2, 3))
