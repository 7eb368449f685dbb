"""Parameters of Autoware's planning simulator and of its command converter, as a node has them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ... import record
from ...compat.autoware import PlanningSimulator
from ...compat.autoware.converter import CommandConverter, SteeringWheel, SteerMap, TyreAngle
from ...compat.autoware.settings import size
from ...compat.autoware.steering_feedback import SteerFeedback
from ...errors import InvalidValue
from ...vehicles.autoware.schema import GEAR_RATIO, LEARNED, PARAMETERS, SILENT, STEER_MAPPED
from ..node import Node

_DYNAMIC = ("x_stddev", "y_stddev")
_ELSEWHERE = ("use_sim_time",)
"""Of the silent names, those that other parts of a node declare."""
_IGNORED = (
    *(name for name in sorted(SILENT) if name not in _ELSEWHERE),
    *("is_debugging", "convert_actuation_to_steering_status", "use_vehicle_adaptor"),
)
"""Names that Autoware's files hold and that have no effect here."""
_MAPS = {
    "csv_path_accel_map": "accel_map_path",
    "csv_path_brake_map": "brake_map_path",
    "csv_path_steer_map": "steer_map_path",
}
"""The converter's names of maps, and the simulator's."""
_NO_LIMIT = 1e9
"""Parameters are finite; no command is as large."""


def simulator_maker(
    node: Node, *, allow_import: bool, **options: Any
) -> Callable[[], PlanningSimulator]:
    """What makes the simulator for the parameters that a node is given."""
    wanted = node.parameters.wanted
    values = {name: wanted[name] for name in PARAMETERS if name in wanted}
    if values.get("vehicle_model_type") in LEARNED and not allow_import:
        raise InvalidValue(
            f"vehicle_model_type = {values['vehicle_model_type']} would import and call the Python "
            f"modules {values.get('model_module_paths')}; allow it if you trust the parameters"
        )
    told: set[str] = set()

    def make() -> PlanningSimulator:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            simulator = PlanningSimulator(None, values, **options)
        for text in {str(note.message) for note in notes} - told:
            told.add(text)
            node.log("warn", text)
        return simulator

    return make


def declare_all(node: Node, effective: Mapping[str, Any]) -> None:
    """Show every parameter that the model has, and what was given besides."""
    wanted, model = node.parameters.wanted, effective["vehicle_model_type"]
    for name, parameter in PARAMETERS.items():
        value: Any = effective[name]
        used = (not parameter.models or model in parameter.models) and not parameter.unread
        if value is None or not (used or name in wanted):
            continue
        # Declared as what they are: a whole number is a real one here, a tuple a list.
        typed = {"double": float, "strings": list}.get(parameter.kind, lambda same: same)
        node.parameters.declare(
            name,
            typed(value),
            f"{parameter.meaning}, {parameter.unit}",
            dynamic=name in _DYNAMIC,
            check=_deviation(name) if name in _DYNAMIC else None,
        )
    for name in _IGNORED:
        if wanted.get(name) is not None:
            node.parameters.declare(name, wanted[name], "no effect")


def _deviation(name: str) -> Any:
    return lambda value: size(name, value)


def converter_for(
    node: Node, parameters: Mapping[str, Any], compat: str | None
) -> CommandConverter:
    """What turns accelerations and tyre angles into pedals for the model of these parameters.

    It uses the maps of the model unless the converter's own parameters name others.
    """
    declare = node.parameters.declare
    maps = {
        path: declare(own, "", f"CSV map of the converter; empty: that of {path}")
        for own, path in _MAPS.items()
    }
    limits = {
        "max_throttle": declare("max_throttle", _NO_LIMIT, "largest accelerator command"),
        "max_brake": declare("max_brake", _NO_LIMIT, "largest brake command"),
        "max_steer": declare("max_steer", _NO_LIMIT, "largest steering command"),
        "min_steer": declare("min_steer", -_NO_LIMIT, "smallest steering command"),
    }

    def table(name: str) -> Any:
        """The map of a conversion that is on, the converter's own if it has one."""
        model_map = parameters[name]
        return None if model_map is None else (maps[f"{name}_path"] or model_map)

    return CommandConverter(
        table("accel_map"),
        table("brake_map"),
        _steering(node, parameters, table),
        compat=compat,
        **limits,
    )


def _steering(node: Node, parameters: Mapping[str, Any], table: Any) -> Any:
    model = parameters["vehicle_model_type"]
    if model in STEER_MAPPED:
        declare = node.parameters.declare
        gains = {
            leaf.name: declare(f"steer_pid.{leaf.name}", leaf.default, leaf.doc)
            for leaf in record.fields(SteerFeedback)
        }
        feedback = SteerFeedback(**gains)
        return SteerMap(
            table("steer_map"),
            feedback if declare("use_steer_fb", True, "whether steering is fed back") else None,
            parameters["steer_time_constant"],
        )
    if model in GEAR_RATIO:
        return SteeringWheel(*(parameters[f"vgr_coef_{letter}"] for letter in "abc"))
    return TyreAngle()
