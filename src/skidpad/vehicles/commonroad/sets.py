"""CommonRoad's parameter sets 1 to 4, as plain numbers.

Source: `parameters/parameters_vehicle1.yaml` to `parameters_vehicle4.yaml` of the package
`commonroad-vehicle-models` 3.0.2 (M. Althoff, G. Würsching, TU München), in SI units there. Sets 1
to 3 go back to vehicles measured for the US Department of Transportation, whence the odd digits:
they were converted from feet and pounds. All share one tyre, the defaults of
`components.magic_formula.Coefficients`. The names are skidpad's; docs/commonroad_vehicles.md lists
them beside CommonRoad's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import record
from ...errors import InvalidValue

FORD_ESCORT: Mapping[str, float] = {
    "length": 4.298,
    "width": 1.674,
    "l_f": 0.88392,
    "l_r": 1.50876,
    "steer_max": 0.91,
    "steer_rate_max": 0.4,
    "v_min": -13.9,
    "v_max": 45.8,
    "v_switch": 4.755,
    "a_max": 11.5,
    "m": 1225.8878467253344,
    "I_z": 1538.8533713561394,
    "h_s": 0.59436,
    "R_w": 0.344,
    "I_w": 1.7,
    "brake_split": 0.76,
    "engine_split": 1.0,
    "m_s": 1094.542720290477,
    "I_x_s": 244.04723069965206,
    "I_y_s": 1342.2597688480864,
    "I_xz_s": 0.0,
    "K_zt": 189785.5477234252,
    "K_lt": 1.0278264878518764e-05,
    "K_ras": 175186.65943700788,
    "K_rad": 10215.732056044453,
    "front.m": 65.67256321742863,
    "front.I": 32.53963075995361,
    "front.track": 1.389888,
    "front.K_s": 21898.332429625985,
    "front.K_sd": 1459.3902937206362,
    "front.K_ts": -12880.270509148304,
    "front.D": -0.6233595800524934,
    "front.E": 0.0,
    "front.h_ra": 0.0,
    "rear.m": 65.67256321742863,
    "rear.I": 32.53963075995361,
    "rear.track": 1.423416,
    "rear.K_s": 21898.332429625985,
    "rear.K_sd": 1459.3902937206362,
    "rear.K_ts": 0.0,
    "rear.D": -0.20997375328083986,
    "rear.E": 0.0,
    "rear.h_ra": 0.0,
}

BMW_320I: Mapping[str, float] = {
    "length": 4.508,
    "width": 1.61,
    "l_f": 1.1561957064,
    "l_r": 1.4227170936,
    "steer_max": 1.066,
    "steer_rate_max": 0.4,
    "v_min": -13.9,
    "v_max": 50.8,
    "v_switch": 7.319,
    "a_max": 11.5,
    "m": 1093.2952334674046,
    "I_z": 1791.5995300122856,
    "h_s": 0.61373004,
    "R_w": 0.344,
    "I_w": 1.7,
    "brake_split": 0.66,
    "engine_split": 0.0,
    "m_s": 965.7108098804363,
    "I_x_s": 207.26524557936952,
    "I_y_s": 1565.8178787125541,
    "I_xz_s": 0.0,
    "K_zt": 158294.1398119115,
    "K_lt": 1.6430724599974725e-05,
    "K_ras": 175186.65943700788,
    "K_rad": 10215.732056044453,
    "front.m": 63.7921826056784,
    "front.I": 30.673279563178017,
    "front.track": 1.38684,
    "front.K_s": 24453.137879749014,
    "front.K_sd": 1786.2441002440723,
    "front.K_ts": -6914.881688272133,
    "front.D": -0.39370078740157477,
    "front.E": 0.0,
    "front.h_ra": 0.0,
    "rear.m": 63.7921826056784,
    "rear.I": 29.670408143156248,
    "rear.track": 1.36398,
    "rear.K_s": 19635.504745231297,
    "rear.K_sd": 1649.0833034887382,
    "rear.K_ts": -2643.6009520155308,
    "rear.D": -0.905511811023622,
    "rear.E": 0.0,
    "rear.h_ra": 0.0,
}

VW_VANAGON: Mapping[str, float] = {
    "length": 4.569,
    "width": 1.844,
    "l_f": 1.1507916024,
    "l_r": 1.3211363976000001,
    "steer_max": 1.023,
    "steer_rate_max": 0.4,
    "v_min": -11.2,
    "v_max": 41.7,
    "v_switch": 7.824,
    "a_max": 11.5,
    "m": 1478.8979637767998,
    "I_z": 2473.1176915564442,
    "h_s": 0.804490644,
    "R_w": 0.344,
    "I_w": 1.7,
    "brake_split": 0.64,
    "engine_split": 0.0,
    "m_s": 1316.6086552490374,
    "I_x_s": 479.88430581318335,
    "I_y_s": 2204.322715845899,
    "I_xz_s": 0.0,
    "K_zt": 212641.56722464017,
    "K_lt": 1.2231329122034703e-05,
    "K_ras": 175186.65943700788,
    "K_rad": 10215.732056044453,
    "front.m": 81.14428941630796,
    "front.I": 50.276902138127426,
    "front.track": 1.574292,
    "front.K_s": 33577.44305875984,
    "front.K_sd": 2405.564099800005,
    "front.K_ts": -33948.217142834066,
    "front.D": -0.32808398950131235,
    "front.E": 0.0,
    "front.h_ra": 0.0,
    "rear.m": 81.14428941630796,
    "rear.I": 48.34891545742069,
    "rear.track": 1.5438120000000002,
    "rear.K_s": 39125.020607598424,
    "rear.K_sd": 2769.727219182409,
    "rear.K_ts": -7731.374238208578,
    "rear.D": -0.32808398950131235,
    "rear.E": 0.0,
    "rear.h_ra": 0.0,
}

TRUCK_WITH_TRAILER: Mapping[str, float] = {
    "length": 5.1,
    "width": 2.55,
    "l_f": 1.8,
    "l_r": 1.8,
    "steer_max": 0.55,
    "steer_rate_max": 0.7103,
    "v_min": -2.78,
    "v_max": 22.22,
    "v_switch": 7.824,
    "a_max": 11.5,
    "l_trailer": 8.1,
    "trailer_length": 13.6,
    "trailer_width": 2.55,
    "total_length": 16.5,
}

SETS: Mapping[int, Mapping[str, float]] = {
    1: FORD_ESCORT,
    2: BMW_320I,
    3: VW_VANAGON,
    4: TRUCK_WITH_TRAILER,
}
"""The sets by CommonRoad's numbers."""

BMW_3_SERIES: Mapping[str, float] = {
    "l_f": 1.156,
    "l_r": 1.422,
    "m": 1093.0,
    "I_z": 1791.0,
    "C_f": 20.89 * 1.048,
    "C_r": 20.89 * 1.048,
    "z_cg": 0.574,
    "a_long_max": 11.5,
    "a_lat_max": 11.5,
    "steer_max": 1.066,
    "steer_rate_max": 0.4,
    "g": 9.81,
    # Those of set 2, which commonroad-control's car rounds.
    "length": 4.508,
    "width": 1.61,
}
"""The car of the bicycles: `BMW3seriesParams` of commonroad-control, a rounded set 2."""


def chosen(model: str, Params: type, number: Any, allowed: tuple[int, ...]) -> dict[str, float]:
    """The values of a parameter set that a model has fields for."""
    if isinstance(number, bool) or number not in allowed:
        raise InvalidValue(
            f"parameters = {number!r} is no parameter set of {model!r}; allowed are "
            + (", ".join(map(str, allowed)) or "none")
        )
    values = SETS[number]
    return {name: values[name] for name in record.names(Params) if name in values}
