"""Parameter records of the models, put together from the table of all parameters."""

from __future__ import annotations

from typing import Annotated, Any

from ... import record, units
from ...components.mechanical_steering import MechanicalSteering
from ...components.table import Units
from ...recipes import made_once
from ...units import Unit, m_s, m_s2, one, positive, rad, s
from .schema import LAGGED, MAPPED, MECHANICAL, PARAMETERS, STEER_MAPPED, WHEELED

_UNITS: dict[str, Any] = {
    "1": one,
    "m": units.m,
    "m/s": m_s,
    "m/s²": m_s2,
    "rad": rad,
    "rad/s": units.rad_s,
    "s": s,
    "s²/m²": Annotated[float, Unit("s²/m²", length=-2, time=2)],
    "1/rad": Annotated[float, Unit("1/rad")],
}
"""The units of the models' parameters by their symbols."""

_FLOORS: dict[str, tuple[Any, float, str, tuple[str, ...]]] = {
    "least_time_constant": (
        Annotated[s, positive],
        0.03,
        "Time constants below this count as this.",
        LAGGED,
    ),
    "least_dt": (
        Annotated[s, positive],
        1e-5,
        "Least duration that an update is taken to have where it is divided by.",
        WHEELED,
    ),
}
"""Constants that upstream's program has: unit, value, meaning, models that need it."""

TABLE_UNITS: dict[str, Units] = {
    "acceleration_map": (m_s2, m_s, m_s2),
    "accel_map": (one, m_s, m_s2),
    "brake_map": (one, m_s, m_s2),
    "steer_map": (rad, rad, rad),
}
"""Units of rows, columns and values of each map. The rows of a steering map may be anything that
its command is; its values are rates, but used as angles over the time constant of steering."""


def steer_map_units(by_velocity: bool) -> Units:
    """Units of a steering map; upstream looks its columns up by velocity."""
    row, column, value = TABLE_UNITS["steer_map"]
    return row, m_s if by_velocity else column, value


def maps(name: str) -> tuple[str, ...]:
    """The maps that a model may have."""
    if name in MAPPED:
        return ("acceleration_map",)
    if not name.startswith("ACTUATION"):
        return ()
    return ("accel_map", "brake_map", "steer_map")[: 3 if name in STEER_MAPPED else 2]


@made_once
def params_type(name: str, *tables: type) -> Any:
    """The parameter record of a model; `tables` are the classes of its maps, in their order."""
    assert name in WHEELED
    hints: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    docs: dict[str, str] = {}
    for leaf in PARAMETERS.values():
        if name in leaf.models and leaf.kind == "double" and "." not in leaf.name:
            unit = _UNITS[leaf.unit]
            hints[leaf.name] = Annotated[unit, leaf.allowed] if leaf.allowed else unit
            docs[leaf.name] = f"{leaf.meaning[0].upper()}{leaf.meaning[1:]}."
            if leaf.default is not None:
                defaults[leaf.name] = leaf.default
    if name in MECHANICAL:
        hints["mechanical_params"] = MechanicalSteering
    hints |= dict(zip(maps(name), tables, strict=True))
    for floor, (unit, value, doc, models) in _FLOORS.items():
        if name in models:
            hints[floor], defaults[floor], docs[floor] = unit, value, doc
    return record.define("Params", hints, defaults, docs, f"The {name} parameters.")
