"""Initial states from the seven quantities that all of CommonRoad's cars share."""

from __future__ import annotations

from typing import Any

from ...core import record
from ...core.checks import finite
from ...core.model import Vehicle, vehicle_of
from ...errors import InvalidValue
from ...ops import cos, sin
from ...units import m, m_s, rad, rad_s
from . import bicycles, multi_body, single_track


def start(
    vehicle: Vehicle, *, x: m = 0.0, y: m = 0.0, steer: rad = 0.0, v: m_s = 0.0, yaw: rad = 0.0,
    omega: rad_s = 0.0, beta: rad = 0.0, hitch: rad = 0.0,
) -> Any:  # fmt: skip
    """State of a CommonRoad vehicle that drives at `v` in the direction `beta` from its heading.

    Quantities that the model lacks are ignored. Wheels roll without slip, and the multi-body car
    is in balance on its springs. Under `compat="upstream"` the state is that of upstream's
    `init_std` and `init_mb`: wheel spins follow from v alone, and the springs are not in
    balance.
    """
    kind, p = vehicle_of(vehicle).State, vehicle.params
    v, beta = finite("v", v, "m/s"), finite("beta", beta, "rad")
    values: dict[str, float] = {
        "x": x, "y": y, "steer": steer, "yaw": yaw, "omega": omega, "hitch": hitch, "beta": beta,
        "v": v, "v_x": v * cos(beta), "v_y": v * sin(beta),
    }  # fmt: skip
    if kind not in _KNOWN:
        raise InvalidValue(
            f"{vehicle.name!r} is no car of CommonRoad with a place and a steering angle"
        )
    state = record.build(
        kind, {name: value for name, value in values.items() if name in kind._fields}
    )
    if vehicle.model.settle is not None:
        return vehicle.model.settle(state, p)
    return _upstream(state, p) if vehicle.model.reproduces else state


_KNOWN: tuple[Any, ...] = (
    bicycles.KinematicBicycleState,
    bicycles.DynamicBicycleState,
    single_track.KsState,
    single_track.KstState,
    single_track.StState,
    single_track.StdState,
    multi_body.State,
)


def _upstream(state: Any, p: Any) -> Any:
    """State with wheel spins and tyre deflections as upstream's initialisers set them."""
    if isinstance(state, single_track.StdState):
        rim = state.v * cos(state.beta) * (1.0 / p.R_w)
        return state._replace(omega_f=rim * cos(state.steer), omega_r=rim)
    if isinstance(state, multi_body.State):
        front, rear = multi_body.standing_tyres(p)
        rim = state.v_x * (1.0 / p.R_w)
        return state._replace(
            drop_f=front,
            drop_r=rear,
            v_y_f=state.v_y + p.l_f * state.omega,
            v_y_r=state.v_y - p.l_r * state.omega,
            **dict.fromkeys(("omega_fr", "omega_fl", "omega_rr", "omega_rl"), rim),
        )
    return state
