"""Campaigns written down in YAML: `campaign_of("corners.yaml").run("corners")`.

The text goes into the folder of the runs, so that they can be gone on with, replayed and reported
on by whoever has the folder. Modules and logs that the file names are looked for beside it.

A value in a plan file that knows where it stands, so that every error can say it.

Code that a plan file names as `module:name`: beside the file, or installed. It is run.

Vehicles, what drives them and what disturbs them, as a plan file names them.

Experiments as a plan file writes them down; manoeuvres and worlds are in `plan_scenes`.

Manoeuvres and worlds as a plan file writes them down.
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
from .campaign import Campaign
from .design_forms import design_of
from .experiment import Column, Experiment
from .expressions import TRUTH, Expression
from .folder import Folder, Keep, PlanText
from .manoeuvres.catalogue import chosen
from .manoeuvres.proving_ground import Manoeuvre
from .metrics import READY, Fold, fold_of
from .named_code import TYRE_NAMES, code_by_text, made_by_call, vehicle_by_text
from .rollouts import Drive, LogDrive
from .runs import FunctionRuns, ManoeuvreRuns, TaskRuns
from .tables import MANIFEST
from .worlds import WorldMetric, WorldRuns, metric_of


@dataclass(frozen=True)
class Node:
    """A value, its place such as `drive.metrics`, and the file that it stands in."""

    value: Any
    place: str
    """Empty for the whole file."""
    file: str
    """As errors name it."""
    folder: Path
    """What paths in the file are relative to."""

    def fault(self, words: str) -> InvalidValue:
        """The error about this value; `words` say what is allowed."""
        return InvalidValue(f"{self.file}: {self._called} = {self._shown()} {words}")

    @contextmanager
    def reading(self) -> Generator[None]:
        """What the block raises on purpose begins with the file and this place."""
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
        """What a mapping holds, by name; only names that are known, and all that are needed."""
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

    def items(self) -> list[Node]:
        """What a list holds."""
        if not isinstance(self.value, list):
            raise self.fault("must be a list")
        return [
            Node(value, f"{self.place}[{k}]", self.file, self.folder)
            for k, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.fault("must be a text")
        return self.value.strip()

    def number(self) -> float:
        """A number."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.fault("must be a number")
        try:
            return float(self.value)
        except OverflowError:
            raise self.fault("must be a number below 1.8e308 in size") from None

    def whole(self) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.fault("must be a whole number")
        if abs(self.value) >= 2**64:
            raise self.fault(f"must be a whole number below {2**64} in size")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.fault("must be true or false")
        return self.value

    def path(self) -> Path:
        """A path, relative to the file."""
        return self.folder / Path(self.text()).expanduser()

    @property
    def _called(self) -> str:
        return self.place or "the file"

    def _shown(self) -> str:
        return shortened(shown(self.value), 80)


def code_of(node: Node) -> Any:
    """What a text such as `my_module:policy` or `package.module:Class.method` names."""
    return code_by_text(node.text(), node.folder, node.fault)


MODELS: Mapping[str, tuple[Callable[..., UncertaintyModel], tuple[str, ...]]] = {
    "gaussian": (Gaussian, ("mean", "std")),
    "uniform": (Uniform, ("lower", "upper")),
    "truncated": (Truncated, ("mean", "std", "lower", "upper")),
    "ornstein_uhlenbeck": (OrnsteinUhlenbeck, ("mean", "std", "time_constant")),
}
"""Models of one number by name, with their settings."""


def vehicle_of(node: Node) -> Vehicle:
    """The vehicle of a name (`two_track`), of a name and a parameter set (`two_track:sports`), or
    of `module:name`: a vehicle, or a function without arguments that makes one; or of a mapping
    with such a `name` and the parameters and tyres that are its own."""
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
    """The policy of `module:name`: one, or a function without arguments that makes one."""
    target = code_of(node)
    if isinstance(target, Policy):
        return target
    if not callable(target):
        raise node.fault(f"must be a skidpad.Policy, got {type(target).__name__}")
    return made_by_call(target, Policy, node.fault)


def params_of(node: Node, kind: type) -> dict[str, Any]:
    """Fields of a record by dotted name: numbers, or models that they are drawn from."""
    values, known = dict(_values(node)), record.names(kind)
    for name in values:
        if name not in known:
            raise InvalidValue(f"{node.file}: {unknown_name(node.place, name, known)}")
    return values


def numbers_of(node: Node, kind: type) -> dict[str, float]:
    """Fields of a record by dotted name, which are held."""
    values = params_of(node, kind)
    for name, value in values.items():
        if isinstance(value, UncertaintyModel):
            raise InvalidValue(
                f"{node.file}: {node.place}.{name} must be a number: it is held, and what differs "
                f"between runs is a factor, input.{name}"
            )
    return values


def start_of(node: Node, State: type) -> Any:
    """A start by names; one that is drawn if there is a model in it."""
    values = params_of(node, State)
    if not any(isinstance(value, UncertaintyModel) for value in values.values()):
        return values
    with node.reading():
        return by_name(State, _as_models(values))


def disturbance_of(node: Node, Disturbance: type, vehicle: str) -> UncertaintyModel:
    """What each field of a disturbance is drawn from at every step; a number is held."""
    with node.reading():
        if not record.size(Disturbance):
            raise InvalidValue(f"{vehicle} takes no disturbance")
        return by_name(Disturbance, _as_models(params_of(node, Disturbance)))


def noise_of(node: Node, State: type) -> UncertaintyModel:
    """What is added to each field of the state that a policy sees; nothing where none is named."""
    with node.reading():
        nothing = dict.fromkeys(record.names(State), 0.0)
        return by_name(State, _as_models({**nothing, **params_of(node, State)}))


def _as_models(values: Mapping[str, Any]) -> dict[str | tuple[str, ...], UncertaintyModel]:
    return {
        name: value
        if isinstance(value, UncertaintyModel)
        else NoUncertainty(1, nominal_value=[value])
        for name, value in values.items()
    }


def _values(node: Node, before: str = "") -> Sequence[tuple[str, Any]]:
    """Leaves of nested mappings by dotted name."""
    leaves: list[tuple[str, Any]] = []
    for name, inner in node.entries().items():
        if not isinstance(inner.value, Mapping):
            leaves.append((before + name, inner.number()))
        elif len(inner.value) == 1 and next(iter(inner.value)) in MODELS:
            leaves.append((before + name, _model(inner)))
        else:
            _check_no_misspelt_model(inner)
            leaves += _values(inner, f"{before}{name}.")
    return leaves


def _model(node: Node) -> UncertaintyModel:
    ((name, settings),) = node.entries().items()
    kind, settings_of = MODELS[name]
    entries = settings.entries(settings_of, settings_of)
    with settings.reading():
        return kind(**{key: one.number() for key, one in entries.items()})


def _check_no_misspelt_model(node: Node) -> None:
    """Raise for `{gausian: {...}}`, which would be read as nested names."""
    inner = node.value
    if len(inner) == 1 and isinstance(next(iter(inner.values())), Mapping):
        settings = {key for _, keys in MODELS.values() for key in keys}
        ((name, below),) = inner.items()
        if below and set(below) <= settings:
            text = unknown_name(node.place, str(name), tuple(MODELS), "distribution")
            raise InvalidValue(f"{node.file}: {text}")


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

    return manoeuvre_runs_of(node)


def _world(node: Node) -> Experiment:

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

KEYS = ("name", *EXPERIMENTS, "factors", "design", "seed", "keep")
_KEEP = ("highest", "lowest", "random", "failed")


def campaign_of(file: str | os.PathLike[str]) -> Campaign:
    """The campaign that a YAML file describes; raises with the file, the place, the value and what
    is allowed.

    Code that the file names as `module:name` is imported, from beside it or from what is installed:
    read files of strangers before.
    """
    path = path_of(file, "file")
    return campaign_of_text(PlanText(path.name, str(path.resolve().parent), yaml_text_of(path)))


def campaign_of_folder(folder: Folder) -> Campaign:
    """The campaign that a folder was run from, if it was written in a file."""
    kept = PlanText.kept_in(folder)
    if kept is None and any(MANIFEST in reason for reason in folder.damaged()):
        raise InvalidValue(
            f"{folder.path}: {MANIFEST} is damaged, which had the file of the campaign; its runs "
            f"are not lost: skidpad campaign run FILE --out {folder.path} goes on with them, or "
            "Campaign.run in Python"
        )
    if kept is None:
        raise InvalidValue(
            f"{folder.path} does not hold the file of its campaign, which was made in Python: "
            "Study.open(folder, campaign)"
        )
    return campaign_of_text(kept)


def campaign_of_text(text: PlanText) -> Campaign:
    """The campaign of a text that stood, or stands, in a file."""
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
    experiment = experiment_of(kinds[0], entries[kinds[0]])
    with whole.reading():
        plain = entries["factors"].entries() if "factors" in entries else {}
        factors = {key: factor_of(key, one.value) for key, one in plain.items()}
        return Campaign(
            experiment=experiment,
            factors=factors,
            design=design_of(entries["design"].value, factors),
            seed=entries["seed"].whole() if "seed" in entries else 0,
            keep=_keep(entries["keep"]) if "keep" in entries else Keep(),
            name=entries["name"].text() if "name" in entries else Path(name).stem,
            text=text,
        )


def _keep(node: Node) -> Keep:
    settings: dict[str, Any] = {}
    for name, one in node.entries(_KEEP).items():
        if name in ("highest", "lowest"):
            settings[name] = {column: count.whole() for column, count in one.entries().items()}
        else:
            settings[name] = one.whole()
    return Keep(**settings)


METRICS: Mapping[str, Callable[..., WorldMetric]] = {
    name: getattr(worlds, name)
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
        return [_plan_scenes_manoeuvre(node)]
    if isinstance(node.value, list):
        return [_plan_scenes_manoeuvre(one) for one in node.items()]
    return {name: _plan_scenes_manoeuvre(one) for name, one in node.entries().items()}


def _plan_scenes_manoeuvre(node: Node) -> Manoeuvre:
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
        settings["drive"] = _plan_scenes_drive(entries["drive"])
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


def _plan_scenes_drive(node: Node) -> Any:
    """A function of the world and the time, or for each vehicle what it does."""
    if isinstance(node.value, str):
        return code_of(node)
    return {name: _pilot(one) for name, one in node.entries().items()}


def _pilot(node: Node) -> Any:
    """`{demand: {a: -1}}`, `{inputs: {steer: 0.1}}`, or `module:name`."""
    if isinstance(node.value, str):
        return code_of(node)
    entries = node.entries(("demand", "inputs"))
    if len(entries) != 1:
        raise node.fault("must be demand, inputs or module:name")
    if "demand" in entries:
        demanded = entries["demand"].entries(Demand._fields)
        return Demand(**{name: one.number() for name, one in demanded.items()})
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
