"""Vehicles, what drives them and what disturbs them, as a plan file names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import record, tyres
from ..by_text import TYRE_NAMES, made_by_call, vehicle_by_text
from ..errors import InvalidValue
from ..model import Vehicle
from ..policy import Policy
from ..random import (
    Gaussian,
    NoUncertainty,
    OrnsteinUhlenbeck,
    Truncated,
    UncertaintyModel,
    Uniform,
    by_name,
)
from ..record import unknown_name
from .named_code import code_of
from .plan_node import Node

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
