"""Trailers and a tractor as numbers of `two_track`: `two_track("suv", trailers=CARAVAN)`.

    two_track(**TRACTOR, trailers=SEMI_TRAILER)                    # 40 t on five axles
    two_track("compact", trailers=CARAVAN)
    two_track(**TRACTOR, trailers=(SEMI_TRAILER, DOLLY, SEMI_TRAILER._replace(behind=0.0)))

All numbers are estimates: of no particular vehicle, but within what Directive 96/53/EC allows of
lengths, axle loads (11.5 t on the driven axle, 24 t on three, 40 t in all) and the room in a turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..components.trailer import Trailer
from ..components.tyre import Carcass, LoadSensitiveLaw, LoadSensitiveTyre

__all__ = ["CARAVAN", "DOLLY", "SEMI_TRAILER", "TRACTOR"]

CARAVAN = Trailer()
"""A caravan of 1.2 t on one axle, with 70 kg on the hitch."""


def truck_tyre(load: float, count: float = 1.0) -> LoadSensitiveTyre:
    """A tyre of 22.5 inches at a nominal load, or several side by side that share it.

    Cornering stiffness over load 6 1/rad and friction 0.8: usual of heavy vehicles (estimates).
    """
    K = 1.25 * load * 6.0
    return LoadSensitiveTyre(
        lateral=LoadSensitiveLaw(mu=0.75, mu_fall=0.12, K=K, F_K=2.0 * load, C=1.3),
        longitudinal=LoadSensitiveLaw(mu=0.8, mu_fall=0.1, K=1.5 * K, F_K=2.0 * load, C=1.5),
        F_z0=load,
        trail=0.05,
        carcass=Carcass(radius=0.52, C_z=1e6 * count, sigma_x=0.25, sigma_y=0.6, rolling=0.006),
    )


TRACTOR: Mapping[str, Any] = {
    "m": 7500.0,
    "I_z": 21e3,
    "I_w": 25.0,
    "l_f": 1.15,
    "l_r": 2.55,
    "track_f": 2.05,
    "track_r": 1.85,
    "z_cg": 1.0,
    "roll_front": 0.3,
    "t_load": 0.1,
    "F_lift": 500.0,
    "C_drag": 6.5,
    "ackermann": 0.7,
    "t_tau": 0.1,
    "t_steer": 0.1,
    "tau_max": 16e3,
    "brake_max": 22e3,
    "steer_max": 0.75,
    "steer_rate_max": 0.5,
    "drive_front": 0.0,
    "brake_front": 0.45,
    "length": 5.9,
    "width": 2.5,
    "height": 3.8,
    "front": truck_tyre(34e3),
    "rear": truck_tyre(56e3, 2.0),
}
"""A tractor on two axles, with twin tyres at the rear that count as one wheel a side."""

SEMI_TRAILER = Trailer(
    m=32e3,
    I_z=450e3,
    behind=-0.6,
    l_axle=7.7,
    l_cg=5.1,
    track=2.04,
    z_cg=1.9,
    z_hitch=1.15,
    wheels=3.0,
    I_w=20.0,
    brake=0.9,
    C_drag=1.0,
    hitch_max=1.5,
    k_stop=3e6,
    length=13.6,
    tail=4.3,
    width=2.55,
    height=4.0,
    tyre=truck_tyre(35e3),
)
"""A laden semi-trailer on three axles, its kingpin 0.6 m ahead of the tractor's rear axle."""

DOLLY = Trailer(
    m=2800.0,
    I_z=3000.0,
    behind=4.0,
    l_axle=4.0,
    l_cg=3.95,
    track=2.04,
    z_cg=0.7,
    z_hitch=0.7,
    wheels=2.0,
    I_w=20.0,
    brake=0.9,
    C_drag=0.0,
    hitch_max=1.3,
    k_stop=3e6,
    length=2.6,
    tail=1.3,
    width=2.5,
    height=1.2,
    tyre=truck_tyre(35e3),
)
"""A converter dolly with a drawbar, which carries the front of another semi-trailer."""
