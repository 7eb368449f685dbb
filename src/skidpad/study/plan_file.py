"""Plan files: campaigns in YAML, `campaign_of("corners.yaml").run("corners")`.

The text of the file is stored in the folder of the runs, so that the folder is enough to continue,
replay and report on them. Modules and logs that the file names are searched next to the file.

A `Node` is a value with its position in the file, so that every error can name it. `EXPERIMENTS`
has a reader for each section that defines an experiment; tables such as `_DRIVE` have a reader for
each of its keys. Code is named as `module:name`, searched next to the file and in installed
packages, and executed.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from .. import tyres
from ..core import record
from ..core.body import Demand
from ..core.files import parsed_yaml, path_of, shortened, shown, yaml_text_of
from ..core.model import Vehicle
from ..core.policy import Nothing, Policy
from ..core.record import unknown_name
from ..errors import InvalidValue, MissingExtra
from ..random.distributions import Gaussian, OrnsteinUhlenbeck, Truncated, Uniform, by_name
from ..random.factors import factor_of
from ..random.model import NoUncertainty, UncertaintyModel
from . import worlds
from .campaign import Campaign, design_of
from .experiment import Column, Experiment
from .folder import Folder, Keep, PlanText
from .manoeuvres.manoeuvre import Manoeuvre
from .manoeuvres.proving_ground import select
from .metrics import NUMBER, READY, TRUTH, Expression, Fold, fold_of
from .named_code import TYRE_NAMES, code_by_text, made_by_call, vehicle_by_text
from .rollouts import Drive, LogDrive
from .runs import FunctionRuns, ManoeuvreRuns, TaskRuns
from .tables import MANIFEST
from .worlds import WorldMetric, WorldRuns, metric_of


@dataclass(frozen=True)
class Node:
    """A value of a plan file, with its position such as `drive.metrics`."""

    value: Any
    place: str
    """Dotted position of the value; empty for the whole file."""
    file: str
    folder: Path
    """Folder to which paths in the file are relative."""

    def fault(self, words: str) -> InvalidValue:
        """Make an error about this value; `words` describe what is allowed."""
        value = shortened(shown(self.value), 80)
        return InvalidValue(f"{self.file}: {self._called} = {value} {words}")

    @contextmanager
    def reading(self) -> Generator[None]:
        """Context manager that prefixes errors with the file and this position."""
        try:
            yield
        except MissingExtra:
            raise
        except InvalidValue as error:
            if str(error).startswith(f"{self.file}: "):
                raise
            place = f"{self.place}: " if self.place else ""
            raise InvalidValue(f"{self.file}: {place}{error}") from error

    def entries(
        self, known: Sequence[str] | None = None, needed: Sequence[str] = ()
    ) -> dict[str, Node]:
        """Entries of a mapping by name; raises for unknown and for missing names."""
        if not isinstance(self.value, Mapping):
            raise self.fault(f"must be a mapping of {', '.join(known) if known else 'names'}")
        for name in self.value:
            if not isinstance(name, str):
                raise self.fault(f"has the key {name!r}; keys must be texts, if need be in quotes")
            if known is not None and name not in known:
                text = unknown_name(self._called, name, known, "key")
                raise InvalidValue(f"{self.file}: {text}")
        for name in needed:
            if name not in self.value:
                raise InvalidValue(f"{self.file}: {self._called} has no {name}, which it needs")
        before = f"{self.place}." if self.place else ""
        return {
            name: Node(value, f"{before}{name}", self.file, self.folder)
            for name, value in self.value.items()
        }

    def settings(self, readers: Mapping[str, Reader], needed: Sequence[str] = ()) -> dict[str, Any]:
        """Entries of a mapping, each converted by the reader of its name."""
        entries = self.entries(tuple(readers), needed)
        return {name: readers[name](one) for name, one in entries.items()}

    def mapped(self, reader: Reader) -> dict[str, Any]:
        """Entries of a mapping with user-defined names, all converted by one reader."""
        return {name: reader(one) for name, one in self.entries().items()}

    def items(self) -> list[Node]:
        """Items of a list; raises for any other value."""
        if not isinstance(self.value, list):
            raise self.fault("must be a list")
        return [
            Node(value, f"{self.place}[{k}]", self.file, self.folder)
            for k, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """The value as a text; raises for any other value."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.fault("must be a text")
        return self.value.strip()

    def number(self) -> float:
        """The value as a number; raises for any other value."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.fault("must be a number")
        try:
            return float(self.value)
        except OverflowError:
            raise self.fault("must be a number below 1.8e308 in size") from None

    def whole(self) -> int:
        """The value as an integer; raises for any other value."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.fault("must be a whole number")
        if abs(self.value) >= 2**64:
            raise self.fault(f"must be a whole number below {2**64} in size")
        return self.value

    def flag(self) -> bool:
        """The value as a truth value; raises for any other value."""
        if not isinstance(self.value, bool):
            raise self.fault("must be true or false")
        return self.value

    def path(self) -> Path:
        """The value as a path, relative to the folder of the file."""
        return self.folder / Path(self.text()).expanduser()

    @property
    def _called(self) -> str:
        return self.place or "the file"


Reader = Callable[[Node], Any]


def code_of(node: Node) -> Any:
    return code_by_text(node.text(), node.folder, node.fault)


MODELS: Mapping[str, tuple[Callable[..., UncertaintyModel], tuple[str, ...]]] = {
    "gaussian": (Gaussian, ("mean", "std")),
    "uniform": (Uniform, ("lower", "upper")),
    "truncated": (Truncated, ("mean", "std", "lower", "upper")),
    "ornstein_uhlenbeck": (OrnsteinUhlenbeck, ("mean", "std", "time_constant")),
}
"""Uncertainty models of a single number by name, with the names of their settings."""


def vehicle_of(node: Node) -> Vehicle:
    """Vehicle named by a text (see `vehicle_by_text`), or by a mapping with `name` and, under
    `set`, parameters and tyres."""
    if not isinstance(node.value, Mapping):
        with node.reading():
            return vehicle_by_text(node.text(), folder=node.folder, fault=node.fault)
    entries = node.entries(("name", "set"), ("name",))
    name = entries["name"]
    settings: dict[str, float | str] = {}
    for key, one in (entries["set"].entries() if "set" in entries else {}).items():
        is_tyre = key in TYRE_NAMES
        own = not is_tyre or one.text() in tyres.names()
        settings[key] = (one.text() if own else str(one.path())) if is_tyre else one.number()
    with node.reading():
        return vehicle_by_text(name.text(), settings, folder=node.folder, fault=name.fault)


def policy_of(node: Node) -> Policy:
    """Policy named `module:name`: a policy, or a function without arguments that makes one."""
    target = code_of(node)
    if isinstance(target, Policy):
        return target
    if not callable(target):
        raise node.fault(f"must be a skidpad.Policy, got {type(target).__name__}")
    return made_by_call(target, Policy, node.fault)


def params_of(node: Node, kind: type) -> dict[str, Any]:
    """Fields of a record by dotted name: numbers, or models from which they are drawn."""
    values, known = dict(_leaves(node)), record.names(kind)
    for name in values:
        if name not in known:
            raise InvalidValue(f"{node.file}: {unknown_name(node.place, name, known)}")
    return values


def numbers_of(node: Node, kind: type) -> dict[str, float]:
    values = params_of(node, kind)
    for name, value in values.items():
        if isinstance(value, UncertaintyModel):
            raise InvalidValue(
                f"{node.file}: {node.place}.{name} must be a number: it is constant; values that "
                f"differ between runs are factors, input.{name}"
            )
    return values


def start_of(node: Node, State: type) -> Any:
    """Start state by field names; an uncertainty model if one of its values is drawn."""
    values = params_of(node, State)
    if not any(isinstance(value, UncertaintyModel) for value in values.values()):
        return values
    return _joint_model(node, State, values)


def _joint_model(node: Node, kind: type, values: Mapping[str, Any]) -> UncertaintyModel:
    """Model of a record, from models and constants of its fields."""
    models: dict[str | tuple[str, ...], UncertaintyModel] = {
        name: value
        if isinstance(value, UncertaintyModel)
        else NoUncertainty(1, nominal_value=[value])
        for name, value in values.items()
    }
    with node.reading():
        return by_name(kind, models)


def _leaves(node: Node, before: str = "") -> Sequence[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, inner in node.entries().items():
        if not isinstance(inner.value, Mapping):
            leaves.append((before + name, inner.number()))
        elif len(inner.value) == 1 and next(iter(inner.value)) in MODELS:
            ((model, settings),) = inner.entries().items()
            kind, names = MODELS[model]
            numbers = settings.settings(dict.fromkeys(names, Node.number), names)
            with settings.reading():
                leaves.append((before + name, kind(**numbers)))
        else:
            # A misspelt model such as `{gausian: {...}}` would be read as names.
            settings = {key for _, keys in MODELS.values() for key in keys}
            ((inner_name, below), *more) = inner.value.items() or [("", None)]
            if not more and isinstance(below, Mapping) and below and set(below) <= settings:
                text = unknown_name(inner.place, str(inner_name), tuple(MODELS), "distribution")
                raise InvalidValue(f"{inner.file}: {text}")
            leaves += _leaves(inner, f"{before}{name}.")
    return leaves


def _drive(node: Node) -> Experiment:
    entries = node.entries(("vehicle", *_DRIVE), ("vehicle",))
    vehicle = vehicle_of(entries.pop("vehicle"))
    model = vehicle.model
    policy = policy_of(entries["policy"]) if "policy" in entries else None
    Reference, Params = (Nothing, Nothing) if policy is None else (policy.Reference, policy.Params)
    readers: dict[str, Reader] = {
        **_DRIVE,
        **_vehicle_readers(vehicle),
        "x0": lambda one: start_of(one, model.State),
        "controls": lambda one: numbers_of(one, model.Input),
        "policy": lambda _: policy,
        "noise": lambda one: _joint_model(
            one,
            model.State,
            {**dict.fromkeys(record.names(model.State), 0.0), **params_of(one, model.State)},
        ),
    }
    if policy is not None:  # without a policy, the drive reports that these need one
        readers["references"] = lambda one: numbers_of(one, Reference)
        readers["policy_params"] = lambda one: params_of(one, Params)
    settings = {name: readers[name](one) for name, one in entries.items()}
    references = {"r": Reference} if record.size(Reference) else {}
    outputs = {"y": model.Outputs} if record.size(model.Outputs) else {}
    kinds = {"x": model.State, "u": model.Input, "p": model.Params, **outputs, **references}
    for one in (entries["metrics"].entries() if "metrics" in entries else {}).values():
        fold = _fold(one)
        with one.reading():
            Expression(str(fold.of)).function(kinds, TRUTH if fold.of_truth else NUMBER)
    events = [*(entries["events"].entries().values() if "events" in entries else ())]
    for one in (*events, *([entries["until"]] if "until" in entries else ())):
        with one.reading():
            Expression(one.text()).function(kinds, TRUTH)
    with node.reading():
        return Drive(vehicle, **settings)


def _log(node: Node) -> Experiment:
    entries = node.entries(("vehicle", "file", *_LOG), ("vehicle", "file"))
    vehicle, file = vehicle_of(entries.pop("vehicle")), entries.pop("file")
    readers = {**_LOG, **_vehicle_readers(vehicle)}
    settings = {name: readers[name](one) for name, one in entries.items()}
    with node.reading():
        return LogDrive(vehicle, file.path(), **settings)


def _vehicle_readers(vehicle: Vehicle) -> dict[str, Reader]:
    """Readers of the settings that name fields of a vehicle."""
    model = vehicle.model

    def disturbance(node: Node) -> UncertaintyModel:
        if not record.size(model.Disturbance):
            with node.reading():
                raise InvalidValue(f"{vehicle.name} takes no disturbance")
        return _joint_model(node, model.Disturbance, params_of(node, model.Disturbance))

    return {"params": lambda one: params_of(one, model.Params), "disturbance": disturbance}


def _function(node: Node) -> Experiment:
    settings = node.settings(_FUNCTION, ("call", "gives"))
    function, gives = settings.pop("call"), settings.pop("gives")
    with node.reading():
        if not callable(function):
            raise InvalidValue(f"call = {function!r} must be a function")
        return FunctionRuns(function, gives, **settings)


def _task(node: Node) -> Experiment:
    settings = node.settings(_TASK, ("task", "driver"))
    with node.reading():
        return TaskRuns(**settings)


def _columns(node: Node) -> list[Column]:
    """Columns from a list of names, or from a mapping of names to unit, meaning and kind."""
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


def _fold(node: Node) -> Fold:
    """Fold from `{highest: "abs(v_y)"}`, `{at: y, time: 2.0}` or `{at: {of: y, time: 2.0}}`."""
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


def _texts(node: Node) -> dict[str, str]:
    return node.mapped(Node.text)


_SHARED: dict[str, Reader] = {
    "dt": Node.number,
    "integrator": Node.text,
    "substeps": Node.whole,
    "precision": Node.text,
    "params": Node.entries,
    "metrics": lambda one: one.mapped(_fold),
    "events": _texts,
    "until": Node.text,
    "disturbance": Node.entries,
}
"""Readers by setting; `_vehicle_readers` replaces those for fields of a vehicle."""
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
_LOG: dict[str, Reader] = {**_SHARED, "names": _texts}
_FUNCTION: dict[str, Reader] = {
    "call": code_of,
    "gives": _columns,
    "vectorised": Node.flag,
    "block": Node.whole,
    "trajectory": code_of,
}
_TASK: dict[str, Reader] = {
    "task": lambda one: code_of(one) if ":" in one.text() else one.text(),
    "driver": lambda one: str(one.path()) if one.text().endswith(".npz") else code_of(one),
    "options": lambda one: one.mapped(lambda option: option.value),
    "block": Node.whole,
}


def _manoeuvre_section(node: Node) -> ManoeuvreRuns:
    known = ("vehicle", "params", "manoeuvres", "dt", "replayed")
    entries = node.entries(known, ("vehicle", "manoeuvres"))
    vehicle = vehicle_of(entries.pop("vehicle"))
    if params := entries.pop("params", None):
        with params.reading():
            vehicle = vehicle.with_params(numbers_of(params, vehicle.model.Params))
    listed = entries.pop("manoeuvres")
    if isinstance(listed.value, str):
        manoeuvres: Any = [_manoeuvre(listed)]
    elif isinstance(listed.value, list):
        manoeuvres = [_manoeuvre(one) for one in listed.items()]
    else:  # manoeuvres by user-defined names
        manoeuvres = listed.mapped(_manoeuvre)
    readers: dict[str, Reader] = {"dt": Node.number, "replayed": Node.text}
    settings = {name: readers[name](one) for name, one in entries.items()}
    with node.reading():
        return ManoeuvreRuns(vehicle, manoeuvres, **settings)


def _manoeuvre(node: Node) -> Manoeuvre:
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
        return select([name])[0]


def _frozen(node: Node) -> Any:
    """Hashable form of a value: a text, a number, a truth value, or a tuple of these."""
    if isinstance(node.value, list):
        return tuple(map(_frozen, node.items()))
    if isinstance(node.value, Mapping):
        raise node.fault("must be a text, a number or a list of these")
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.whole()
    return node.value


def _world_section(node: Node) -> WorldRuns:
    entries = node.entries(("duration", *_WORLD), ("duration",))
    if ("file" in entries) == ("scene" in entries):
        raise node.fault("must have either file, a world file, or scene, a function module:name")
    duration = entries.pop("duration")
    settings = {name: _WORLD[name](one) for name, one in entries.items()}
    world = settings.pop("file", None) or settings.pop("scene")
    with node.reading():
        return WorldRuns(world, duration.number(), **settings)


def _pilot(node: Node) -> Any:
    """Controller from `{demand: {a: -1}}`, `{inputs: {steer: 0.1}}`, or `module:name`."""
    if isinstance(node.value, str):
        return code_of(node)
    entries = node.entries(("demand", "inputs"))
    if len(entries) != 1:
        raise node.fault("must be demand, inputs or module:name")
    if "demand" in entries:
        readers = dict.fromkeys(Demand._fields, Node.number)
        return Demand(**entries["demand"].settings(readers))
    return entries["inputs"].mapped(Node.number)


def _world_metric(node: Node) -> WorldMetric:
    """Metric from `{collided: [car, crate]}`, `{nearest: {name: car, other: crate}}` or
    `module:name`."""
    if isinstance(node.value, str):
        with node.reading():
            return metric_of(node.place, code_of(node))
    entries = node.entries(tuple(WORLD_METRICS))
    if len(entries) != 1:
        raise node.fault(f"must be one of {', '.join(WORLD_METRICS)}, or module:name")
    ((name, about),) = entries.items()
    make = WORLD_METRICS[name]
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


WORLD_METRICS: Mapping[str, Callable[..., WorldMetric]] = {
    name: getattr(worlds, name)
    for name in (
        "collided", "collision_time", "final", "nearest", "reached", "time_to_reach", "travelled"
    )
}  # fmt: skip
_WORLD: dict[str, Reader] = {
    "file": Node.path,
    "scene": code_of,
    "drive": lambda one: code_of(one) if isinstance(one.value, str) else one.mapped(_pilot),
    "metrics": lambda one: one.mapped(_world_metric),
    "variables": lambda one: one.mapped(Node.number),
    "units": _texts,
    "replayed": Node.text,
}

EXPERIMENTS: Mapping[str, Callable[[Node], Experiment]] = {
    "drive": _drive,
    "manoeuvre": _manoeuvre_section,
    "world": _world_section,
    "log": _log,
    "function": _function,
    "task": _task,
}
_KEEP: dict[str, Reader] = {
    "highest": lambda one: one.mapped(Node.whole),
    "lowest": lambda one: one.mapped(Node.whole),
    "random": Node.whole,
    "failed": Node.whole,
}
KEYS = ("name", *EXPERIMENTS, "factors", "design", "seed", "keep")


def campaign_of(file: str | os.PathLike[str]) -> Campaign:
    """Read a campaign from a YAML file.

    Errors name the file, the position in it, the value and what is allowed. Code that the file
    names as `module:name`, next to the file or in installed packages, is imported and executed:
    inspect files from others first.
    """
    path = path_of(file, "file")
    return campaign_of_text(PlanText(path.name, str(path.resolve().parent), yaml_text_of(path)))


def campaign_of_folder(folder: Folder) -> Campaign:
    """Campaign from the plan file stored in a folder; raises if it was made in Python."""
    kept = PlanText.kept_in(folder)
    if kept is None and any(MANIFEST in reason for reason in folder.damaged()):
        raise InvalidValue(
            f"{folder.path}: {MANIFEST}, which held the plan of the campaign, is damaged; its "
            f"runs are not lost: skidpad campaign run FILE --out {folder.path} continues with "
            "them, and so does Campaign.run in Python"
        )
    if kept is None:
        raise InvalidValue(
            f"{folder.path} has no plan file, since its campaign was made in Python: use "
            "Study.open(folder, campaign)"
        )
    return campaign_of_text(kept)


def campaign_of_text(text: PlanText) -> Campaign:
    name = text.name
    whole = Node(parsed_yaml(text.text, name, strict=True), "", name, Path(text.folder))
    entries = whole.entries(KEYS, ("design",))
    kinds = [kind for kind in EXPERIMENTS if kind in entries]
    if len(kinds) != 1:
        there = " and ".join(kinds) or "none"
        raise InvalidValue(
            f"{name}: it must have one of {', '.join(EXPERIMENTS)}, which says what a run is; it "
            f"has {there}"
        )
    experiment = EXPERIMENTS[kinds[0]](entries[kinds[0]])
    with whole.reading():
        plain = entries["factors"].entries() if "factors" in entries else {}
        factors = {key: factor_of(key, one.value) for key, one in plain.items()}
        return Campaign(
            experiment=experiment,
            factors=factors,
            design=design_of(entries["design"].value, factors),
            seed=entries["seed"].whole() if "seed" in entries else 0,
            keep=Keep(**(entries["keep"].settings(_KEEP) if "keep" in entries else {})),
            name=entries["name"].text() if "name" in entries else Path(name).stem,
            text=text,
        )
