"""From what the user gives to the parts of a planning simulator: parameters, settings, model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from ... import record
from ...errors import InvalidValue
from ...vehicles.autoware.parameters import AssumedParameter, gather, written_in_files
from ...vehicles.autoware.schema import ALIASES, LEARNED, NAMES, PARAMETERS
from . import settings as node
from .learned import LISTS
from .motion_model import MotionModel


class Parts(NamedTuple):
    """What a planning simulator is made of."""

    parameters: dict[str, Any]
    """All parameters by name."""
    settings: node.Settings
    """Those of the simulator around the model."""
    model: MotionModel


def parts(
    model: Any,
    parameters: Any,
    compat: str | None,
    overrides: Mapping[str, Any],
    *,
    allow_import: bool = False,
) -> Parts:
    """The parts for the arguments of `PlanningSimulator`; raises `InvalidValue`."""
    if hasattr(model, "set_input"):
        return _around(model, parameters, compat, overrides)
    if not _is_name(model):
        if parameters is not None and model is not None:
            raise InvalidValue(
                f"model = {model!r} must be the name of a model or a MotionModel; "
                f"names are {', '.join(NAMES)}"
            )
        model, parameters = None, model if parameters is None else parameters
    sources = _sources(parameters, overrides)
    values = gather(sources, model, compat)
    if model is None and not sources:
        warnings.warn(
            f"no parameters are given; the model {values['vehicle_model_type']} with a wheel_base "
            f"of {values['wheel_base']} m is used, as Autoware's defaults have it",
            AssumedParameter,
            stacklevel=3,
        )
    if values["vehicle_model_type"] in LEARNED and not allow_import:
        _refuse_imports(sources, values)
    chosen = node.settings(values, compat)
    # The compiler comes in here, not with the records.
    from .motion import motion_model

    name = values["vehicle_model_type"]
    return Parts(values, chosen, motion_model(name, values, chosen.period, compat))


def _refuse_imports(sources: list[Any], values: Mapping[str, Any]) -> None:
    """Raise where a file, and not the caller, says which Python code to run."""
    places = written_in_files(sources, LISTS)
    if places:
        modules = ", ".join(values["model_module_paths"])
        raise InvalidValue(
            f"{'; '.join(places)}: the file would import and call {modules}; pass "
            "allow_import=True if you trust the file"
        )


def _around(
    model: MotionModel, parameters: Any, compat: str | None, overrides: Mapping[str, Any]
) -> Parts:
    """A simulator around a model that is ready, so that only its own parameters can be given."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidValue(
            f"parameters = {parameters!r}: around a model that is ready they are a mapping"
        )
    values = {**(parameters or {}), **overrides}
    for name in values:
        if name not in node.NAMES:
            raise InvalidValue(record.unknown_name("Settings", name, node.NAMES, "parameter"))
    chosen = node.settings(values, compat)
    return Parts(dict(vars(chosen)), chosen, model)


def _is_name(model: Any) -> bool:
    """Whether this names a model and is not the parameters; raises for a name that is unknown."""
    if not isinstance(model, str) or model.endswith((".yaml", ".yml")):
        return False
    if model not in NAMES:
        raise InvalidValue(record.unknown_name("skidpad", model, NAMES, "model"))
    return True


def _sources(parameters: Any, overrides: Mapping[str, Any]) -> list[Any]:
    """One list of files and mappings in which later ones win."""
    groups = {name.partition(".")[0] for name in PARAMETERS}
    for name in overrides:
        # A file may hold what other nodes read; a keyword is meant for this one.
        if name not in groups and name not in (*PARAMETERS, *ALIASES):
            known = (*PARAMETERS, *ALIASES)
            raise InvalidValue(record.unknown_name("PlanningSimulator", name, known, "parameter"))
    many = isinstance(parameters, (list, tuple))
    sources = [*parameters] if many else [] if parameters is None else [parameters]
    return [*sources, dict(overrides)] if overrides else sources
