"""Command-driven models of Autoware's simple_planning_simulator, by their upstream names.

    bus = autoware("DELAY_STEER_ACC_GEARED", "simulator_model.param.yaml", wheel_base=2.79)

Each model is assembled from the components listed in `models.KINDS`; the argument
`upstream` of its functions selects the errors of the upstream program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core import record
from ...core.model import Model, Vehicle, built_once
from ...errors import InvalidValue
from ..parts.assembly import NoTable, table, table_type
from .models import command_model
from .parameters import UPSTREAM, gather
from .records import LEARNED, maps, params_type, table_units


def autoware(
    name: str, params: Any = None, /, *, compat: str | None = None, **values: Any
) -> Vehicle:
    """Return the vehicle of an upstream `vehicle_model_type`, with upstream's parameters.

    Args:
        name: upstream's name of the model.
        params: a mapping, the path of one of Autoware's YAML files, or a sequence of these, in
            which later entries override earlier ones; keywords override all. A map is a table or
            the path of a CSV file.
        compat: "upstream" reproduces the upstream program, errors included; by default the errors
            listed in docs/errata.md are repaired.
    """
    if name in LEARNED:
        raise InvalidValue(
            f"{name} runs Python modules and cannot be compiled; use it through "
            "skidpad.PlanningSimulator"
        )
    sources = params if isinstance(params, (list, tuple)) else () if params is None else (params,)
    return assembled(name, gather([*sources, values], name, compat), compat)


def assembled(name: str, gathered: Mapping[str, Any], compat: str | None = None) -> Vehicle:
    """Return the vehicle for parameters from `parameters.gather`."""
    upstream = compat == UPSTREAM
    tables: dict[str, Any] = dict.fromkeys(maps(name), NoTable())
    for key in tables:
        if (given := gathered[key]) is not None:
            tables[key] = table(given.rows, given.columns, given.values, table_units(key, upstream))
    model = _model(name, upstream, *(getattr(item, "size", None) for item in tables.values()))
    wanted = {key: gathered[key] for key in record.names(model.Params) if key in gathered}
    return Vehicle(model, record.build(model.Params, wanted | tables))


@built_once
def _model(name: str, upstream: bool, *sizes: tuple[int, int] | None) -> Model:
    """Build the model for a name, the mode and the sizes of its maps, if any."""
    tables = (
        NoTable if size is None else table_type(*size, table_units(key, upstream))
        for key, size in zip(maps(name), sizes, strict=True)
    )
    return command_model(name, params_type(name, *tables), upstream)
