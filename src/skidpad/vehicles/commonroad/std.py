"""`commonroad_std`: single track for drifting, CommonRoad's STD: spinning wheels on Pacejka tyres.

Engine and brakes turn the wheels, whose slip against the road pushes the car. An axle stands for a
left and a right tyre that are mirror images, so what one pulls aside the other cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...components.additive_disturbance import additive
from ...components.centre_track import path_acceleration
from ...model import Model, NoDisturbance
from .body import on_spinning_wheels, slipping_body, spinning_limits
from .factory import VEHICLE_MODELS, CommonRoadFactory
from .records import CarInput
from .std_motion import Motion, motion, rolling_wheels
from .std_records import Outputs, Params, State
from .std_upstream import upstream_motion, upstream_velocity


def _model(move: Callable[[State, CarInput, Params], Motion]) -> Model:
    def derivative(x: State, u: CarInput, w: NoDisturbance, p: Params) -> State:
        """Time derivative of the state."""
        return move(x, u, p).rate

    def outputs(x: State, u: CarInput, w: NoDisturbance, p: Params) -> Outputs:
        """Accelerations of the motion, slip and forces."""
        now = move(x, u, p)
        t = now.tyres
        a = path_acceleration(x.v, x.beta, now.rate.v, now.rate.yaw + now.rate.beta)
        return Outputs(
            a.x, a.y, -t.front.alpha, -t.rear.alpha, t.front.kappa, t.rear.kappa,
            t.force_f.x, t.force_r.x, t.force_f.y, t.force_r.y, t.F_z_f, t.F_z_r,
        )  # fmt: skip

    return additive(
        Model(
            name="commonroad_std",
            State=State,
            Input=CarInput,
            Params=Params,
            Outputs=Outputs,
            derivative=derivative,
            outputs=outputs,
            body=slipping_body(on_spinning_wheels, limits=spinning_limits),
            mirror_odd={"omega_f": False, "omega_r": False},
            summary="CommonRoad STD: single track with spinning wheels, drifts",
        )
    )


MODEL = replace(_model(motion), settle=rolling_wheels, fills=("omega_f", "omega_r"))
UPSTREAM_MODEL = replace(
    _model(upstream_motion),
    body=slipping_body(on_spinning_wheels, upstream_velocity, spinning_limits),
    reproduces=VEHICLE_MODELS,
    exempt={
        "mirror": "one tyre per axle, which pulls to its side under drive or brake",
        "dimensions": "the vertical shift of the longitudinal force, in N, is added to an angle",
        "rest": "the same shift pushes a car at rest, and a slow car forgets no error of yaw rate",
    },
)

commonroad_std = CommonRoadFactory(MODEL, upstream=UPSTREAM_MODEL, sets=(1, 2, 3))
