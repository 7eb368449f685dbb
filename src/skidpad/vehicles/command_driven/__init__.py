"""The command-driven models of Autoware's simple_planning_simulator, by upstream's names.

    bus = autoware("DELAY_STEER_ACC_GEARED", "simulator_model.param.yaml", wheel_base=2.79)

A model is put together from the components it names; `rules` holds what the two modes differ in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core import record
from ...core.model import Model, Vehicle, built_once
from ...errors import InvalidValue
from ..parts.table import NoTable, Units, table, table_type
from .models import command_model
from .parameters import UPSTREAM as COMPAT
from .parameters import gather
from .records import (
    LEARNED,
    REPAIRED,
    TABLE_UNITS,
    UPSTREAM,
    maps,
    params_type,
    steer_map_units,
)
from .records import NAMES as NAMES


def autoware(
    name: str, params: Any = None, /, *, compat: str | None = None, **values: Any
) -> Vehicle:
    """A vehicle of upstream's `vehicle_model_type` with upstream's parameters.

    `params` is a mapping, the path of one of Autoware's YAML files, or a sequence of these in which
    later ones win; keywords win over all. A map is the path of a CSV file or a table.
    `compat="upstream"` repeats the upstream program, errors included; by default those listed in
    docs/errata.md are repaired.
    """
    if name in LEARNED:
        raise InvalidValue(
            f"{name} runs Python modules and cannot be compiled; use it through "
            "skidpad.PlanningSimulator"
        )
    sources = params if isinstance(params, (list, tuple)) else () if params is None else (params,)
    return assembled(name, gather([*sources, values], name, compat), compat)


def assembled(name: str, gathered: Mapping[str, Any], compat: str | None = None) -> Vehicle:
    """A vehicle of parameters that `parameters.gather` gave."""
    upstream = compat == COMPAT
    tables: dict[str, Any] = dict.fromkeys(maps(name), NoTable())
    for key in tables:
        if (given := gathered[key]) is not None:
            tables[key] = table(given.rows, given.columns, given.values, _units(key, upstream))
    model = _model(name, upstream, *(getattr(item, "size", None) for item in tables.values()))
    wanted = {key: gathered[key] for key in record.names(model.Params) if key in gathered}
    return Vehicle(model, record.build(model.Params, wanted | tables))


def _units(key: str, upstream: bool) -> Units:
    return steer_map_units(upstream) if key == "steer_map" else TABLE_UNITS[key]


@built_once
def _model(name: str, upstream: bool, *sizes: tuple[int, int] | None) -> Model:
    """The one model of this name, these rules and these sizes of maps (None without a map)."""
    tables = (
        NoTable if size is None else table_type(*size, _units(key, upstream))
        for key, size in zip(maps(name), sizes, strict=True)
    )
    return command_model(name, params_type(name, *tables), UPSTREAM if upstream else REPAIRED)
