"""Manoeuvres and worlds as a plan file writes them down."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, get_type_hints

from ..body import Wish
from ..errors import InvalidValue
from ..manoeuvres import Manoeuvre, chosen
from ..model import Vehicle
from . import world_metrics
from .drivers import numbers_of, vehicle_of
from .manoeuvre_runs import ManoeuvreRuns
from .named_code import code_of
from .plan_node import Node
from .world_metrics import WorldMetric, metric_of
from .world_runs import WorldRuns

METRICS: Mapping[str, Callable[..., WorldMetric]] = {
    name: getattr(world_metrics, name)
    for name in (
        "collided", "collision_time", "final", "nearest", "reached", "time_to_reach", "travelled"
    )
}  # fmt: skip
"""Ready metrics of worlds that a file may name."""


def manoeuvre_runs_of(node: Node) -> ManoeuvreRuns:
    """The section `manoeuvre`."""
    known = ("vehicle", "params", "manoeuvres", "dt", "replayed")
    entries = node.entries(known, ("vehicle", "manoeuvres"))
    vehicle = _vehicle(entries)
    settings: dict[str, Any] = {}
    if "dt" in entries:
        settings["dt"] = entries["dt"].number()
    if "replayed" in entries:
        settings["replayed"] = entries["replayed"].text()
    manoeuvres = _manoeuvres(entries["manoeuvres"])
    with node.reading():
        return ManoeuvreRuns(vehicle, manoeuvres, **settings)


def _vehicle(entries: Mapping[str, Node]) -> Vehicle:
    vehicle = vehicle_of(entries["vehicle"])
    if "params" not in entries:
        return vehicle
    with entries["params"].reading():
        return vehicle.with_params(numbers_of(entries["params"], vehicle.model.Params))


def _manoeuvres(node: Node) -> Any:
    """A name, a list of names, or names of one's own with a manoeuvre each."""
    if isinstance(node.value, str):
        return [_manoeuvre(node)]
    if isinstance(node.value, list):
        return [_manoeuvre(one) for one in node.items()]
    return {name: _manoeuvre(one) for name, one in node.entries().items()}


def _manoeuvre(node: Node) -> Manoeuvre:
    """`step_steer`, `{step_steer: {speed: 20}}` or `module:name`."""
    if isinstance(node.value, str):
        return code_of(node) if ":" in node.value else _standard(node, node.value)
    entries = node.entries()
    if len(entries) != 1:
        raise node.fault("must be the name of a manoeuvre, or one name with its settings")
    ((name, about),) = entries.items()
    standard: Any = _standard(node, name)
    settings = about.entries(tuple(field.name for field in fields(standard)))
    hints = get_type_hints(type(standard))
    values = {
        key: one.number() if hints[key] is float else _frozen(one) for key, one in settings.items()
    }
    with about.reading():
        return replace(standard, **values)


def _standard(node: Node, name: str) -> Manoeuvre:
    with node.reading():
        return chosen([name])[0]


def _frozen(node: Node) -> Any:
    """A text, a number, a truth value, or a tuple of such."""
    if isinstance(node.value, list):
        return tuple(map(_frozen, node.items()))
    if isinstance(node.value, Mapping):
        raise node.fault("must be a text, a number or a list of these")
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.whole()
    return node.value


def world_runs_of(node: Node) -> WorldRuns:
    """The section `world`."""
    known = ("file", "scene", "duration", "drive", "metrics", "variables", "units", "replayed")
    entries = node.entries(known, ("duration",))
    if ("file" in entries) == ("scene" in entries):
        raise node.fault("must have either file, a world file, or scene, a function module:name")
    world: Any = entries["file"].path() if "file" in entries else code_of(entries["scene"])
    settings: dict[str, Any] = {}
    if "drive" in entries:
        settings["drive"] = _drive(entries["drive"])
    if "metrics" in entries:
        settings["metrics"] = {
            name: _metric(one) for name, one in entries["metrics"].entries().items()
        }
    if "variables" in entries:
        numbers = entries["variables"].entries()
        settings["variables"] = {name: one.number() for name, one in numbers.items()}
    if "units" in entries:
        units = entries["units"].entries()
        settings["units"] = {name: one.text() for name, one in units.items()}
    if "replayed" in entries:
        settings["replayed"] = entries["replayed"].text()
    with node.reading():
        return WorldRuns(world, entries["duration"].number(), **settings)


def _drive(node: Node) -> Any:
    """A function of the world and the time, or for each vehicle what it does."""
    if isinstance(node.value, str):
        return code_of(node)
    return {name: _pilot(one) for name, one in node.entries().items()}


def _pilot(node: Node) -> Any:
    """`{wish: {a: -1}}`, `{inputs: {steer: 0.1}}`, or `module:name`."""
    if isinstance(node.value, str):
        return code_of(node)
    entries = node.entries(("wish", "inputs"))
    if len(entries) != 1:
        raise node.fault("must be wish, inputs or module:name")
    if "wish" in entries:
        wished = entries["wish"].entries(Wish._fields)
        return Wish(**{name: one.number() for name, one in wished.items()})
    return {name: one.number() for name, one in entries["inputs"].entries().items()}


def _metric(node: Node) -> WorldMetric:
    """`{collided: [car, crate]}`, `{nearest: {name: car, other: crate}}` or `module:name`."""
    if isinstance(node.value, str):
        with node.reading():
            return metric_of(node.place, code_of(node))
    entries = node.entries(tuple(METRICS))
    if len(entries) != 1:
        raise node.fault(f"must be one of {', '.join(METRICS)}, or module:name")
    ((name, about),) = entries.items()
    make = METRICS[name]
    names = tuple(inspect.signature(make).parameters)
    if isinstance(about.value, Mapping):
        arguments = {key: one.value for key, one in about.entries(names).items()}
    else:
        values = about.value if isinstance(about.value, list) else [about.value]
        arguments = dict(zip(names, values, strict=False))
        if len(values) > len(names):
            raise about.fault(f"must be [{', '.join(names)}]")
    with about.reading():
        try:
            return make(**arguments)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidValue(f"{name} takes [{', '.join(names)}]: {error}") from error
