"""Experiments as a plan file writes them down; manoeuvres and worlds are in `plan_scenes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import record
from ..errors import InvalidValue
from ..model import Vehicle
from ..policy import Nothing
from .drive import Drive
from .drivers import (
    disturbance_of,
    noise_of,
    numbers_of,
    params_of,
    policy_of,
    start_of,
    vehicle_of,
)
from .experiment import Column, Experiment
from .expressions import TRUTH, Expression
from .folds import READY, Fold, fold_of
from .function_runs import FunctionRuns
from .log_drive import LogDrive
from .named_code import code_of
from .plan_node import Node
from .task_runs import TaskRuns

Reader = Callable[[Node], Any]


def experiment_of(kind: str, node: Node) -> Experiment:
    """The experiment of a section of a plan file."""
    return EXPERIMENTS[kind](node)


def _drive(node: Node) -> Experiment:
    entries = node.entries(("vehicle", *_DRIVE), ("vehicle",))
    vehicle = vehicle_of(entries.pop("vehicle"))
    model = vehicle.model
    policy = policy_of(entries["policy"]) if "policy" in entries else None
    Reference, Params = (Nothing, Nothing) if policy is None else (policy.Reference, policy.Params)
    readers: dict[str, Reader] = {
        **_DRIVE,
        **_of_vehicle(vehicle),
        "x0": lambda one: start_of(one, model.State),
        "controls": lambda one: numbers_of(one, model.Input),
        "policy": lambda _: policy,
        "noise": lambda one: noise_of(one, model.State),
    }
    if policy is not None:  # without one, the drive says that these are for a policy
        readers["references"] = lambda one: numbers_of(one, Reference)
        readers["policy_params"] = lambda one: params_of(one, Params)
    settings = {name: readers[name](one) for name, one in entries.items()}
    references = {"r": Reference} if record.size(Reference) else {}
    outputs = {"y": model.Outputs} if record.size(model.Outputs) else {}
    kinds = {"x": model.State, "u": model.Input, "p": model.Params, **outputs, **references}
    _check_texts(entries, kinds)
    with node.reading():
        return Drive(vehicle, **settings)


def _log(node: Node) -> Experiment:
    entries = node.entries(("vehicle", "file", *_LOG), ("vehicle", "file"))
    vehicle, file = vehicle_of(entries.pop("vehicle")), entries.pop("file")
    readers = {**_LOG, **_of_vehicle(vehicle)}
    settings = {name: readers[name](one) for name, one in entries.items()}
    with node.reading():
        return LogDrive(vehicle, file.path(), **settings)


def _of_vehicle(vehicle: Vehicle) -> dict[str, Reader]:
    """What reads the settings that name fields of a vehicle."""
    model = vehicle.model
    return {
        "params": lambda one: params_of(one, model.Params),
        "disturbance": lambda one: disturbance_of(one, model.Disturbance, vehicle.name),
    }


def _function(node: Node) -> Experiment:
    entries = node.entries(("call", "gives", *_FUNCTION), ("call", "gives"))
    function, gives = code_of(entries.pop("call")), _columns(entries.pop("gives"))
    settings = {name: _FUNCTION[name](one) for name, one in entries.items()}
    with node.reading():
        if not callable(function):
            raise InvalidValue(f"call = {function!r} must be a function")
        return FunctionRuns(function, gives, **settings)


def _manoeuvre(node: Node) -> Experiment:
    from .plan_scenes import manoeuvre_runs_of

    return manoeuvre_runs_of(node)


def _world(node: Node) -> Experiment:
    from .plan_scenes import world_runs_of  # worlds take a second to import

    return world_runs_of(node)


def _task(node: Node) -> Experiment:
    entries = node.entries(("task", "driver", "options", "block"), ("task", "driver"))
    name, driver = entries["task"].text(), entries["driver"].text()
    option_nodes = entries["options"].entries() if "options" in entries else {}
    options = {key: one.value for key, one in option_nodes.items()}
    settings: dict[str, Any] = {"block": entries["block"].whole()} if "block" in entries else {}
    task: Any = code_of(entries["task"]) if ":" in name else name
    of_file = driver.endswith(".npz")
    drives: Any = str(entries["driver"].path()) if of_file else code_of(entries["driver"])
    with node.reading():
        return TaskRuns(task, drives, options=options, **settings)


def _columns(node: Node) -> list[Column]:
    """A list of names, or a mapping of names to unit, meaning and kind."""
    if isinstance(node.value, list):
        return [Column(one.text()) for one in node.items()]
    columns: list[Column] = []
    for name, about in node.entries().items():
        settings = {} if about.value is None else about.entries(("unit", "meaning", "kind"))
        column = Column(name, **{key: str(one.value) for key, one in settings.items()})
        if column.kind not in ("number", "truth"):
            raise settings["kind"].fault("must be number or truth")
        columns.append(column)
    return columns


def _metrics(node: Node) -> dict[str, Fold]:
    return {name: _fold(one) for name, one in node.entries().items()}


def _fold(node: Node) -> Fold:
    """`{highest: "abs(v_y)"}`, `{at: y, time: 2.0}` or `{at: {of: y, time: 2.0}}`."""
    entries = node.entries(("time", "unit", *READY))
    named = [name for name in entries if name in READY]
    if len(named) != 1:
        raise node.fault(f"must be one of {', '.join(READY)} of a text, as in {{highest: v_x}}")
    kind = entries.pop(named[0])
    if isinstance(kind.value, Mapping):
        inner = kind.entries(("of", "event", "time", "unit"))
        of = inner.pop("of", None) or inner.pop("event", None)
        if of is None:
            raise kind.fault("must say what it is of, as in {of: y, time: 2.0}")
        entries |= inner
        kind = of
    others = {name: one.value for name, one in entries.items()}
    with node.reading():
        return fold_of({named[0]: kind.text(), **others})


def _events(node: Node) -> dict[str, str]:
    return {name: one.text() for name, one in node.entries().items()}


def _names(node: Node) -> dict[str, str]:
    return {name: one.text() for name, one in node.entries().items()}


def _check_texts(entries: Mapping[str, Node], records: Mapping[str, type]) -> None:
    """Raise for an unknown name in a text, where it stands."""
    for name, node in (entries["metrics"].entries() if "metrics" in entries else {}).items():
        fold = _fold(node)
        with node.reading():
            assert isinstance(fold.of, str), f"{name} is of a text"
            Expression(fold.of).function(records, TRUTH if fold.of_truth else "number")
    events = [*(entries["events"].entries().values() if "events" in entries else ())]
    for node in (*events, *([entries["until"]] if "until" in entries else ())):
        with node.reading():
            Expression(node.text()).function(records, TRUTH)


_SHARED: dict[str, Reader] = {
    "dt": Node.number,
    "integrator": Node.text,
    "substeps": Node.whole,
    "precision": Node.text,
    "params": Node.entries,
    "metrics": _metrics,
    "events": _events,
    "until": Node.text,
    "disturbance": Node.entries,
}
"""What reads each setting; those that name fields of a vehicle are read with it."""
_DRIVE: dict[str, Reader] = {
    **_SHARED,
    "duration": Node.number,
    "steps": Node.whole,
    "x0": Node.entries,
    "controls": Node.entries,
    "policy": policy_of,
    "references": Node.entries,
    "policy_params": Node.entries,
    "noise": Node.entries,
}
_LOG: dict[str, Reader] = {**_SHARED, "names": _names}
_FUNCTION: dict[str, Reader] = {
    "vectorised": Node.flag,
    "block": Node.whole,
    "trajectory": code_of,
}
EXPERIMENTS: Mapping[str, Callable[[Node], Experiment]] = {
    "drive": _drive,
    "manoeuvre": _manoeuvre,
    "world": _world,
    "log": _log,
    "function": _function,
    "task": _task,
}
"""What reads each kind of experiment, by its key in the file."""
