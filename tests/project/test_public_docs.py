"""Every public name says what it is; every field of a vehicle has a unit and a meaning."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import pytest

import skidpad
from skidpad import record, vehicles

MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(skidpad.__path__, "skidpad.")
    if not any(word.startswith("_") for word in info.name.split("."))
)
RECORDS = ("State", "Input", "Params", "Disturbance", "Outputs")


def public_definitions(module: ModuleType) -> list[tuple[str, Any]]:
    """Functions and classes written in the module, and the public members of the classes."""
    found: list[tuple[str, Any]] = []
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            found.append((name, value))
        elif inspect.isclass(value):
            found.append((name, value))
            found += [
                (f"{name}.{inner}", member)
                for inner, member in vars(value).items()
                if not inner.startswith("_") and is_method(member, f"{name}.{inner}")
            ]
    return found


def is_method(member: Any, path: str) -> bool:
    """Whether a member is a method or property, and not a function that is a field's default."""
    if isinstance(member, property):
        return True
    return inspect.isroutine(member) and getattr(member, "__qualname__", path) == path


def says_something(label: str, doc: Any) -> bool:
    """A dataclass or NamedTuple without a docstring gets its signature as one: not enough."""
    return isinstance(doc, str) and bool(doc.strip()) and not doc.startswith(f"{label}(")


@pytest.mark.parametrize("name", ["skidpad", *MODULES])
def test_public_names_have_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    silent = [
        label
        for label, value in public_definitions(module)
        if not says_something(label, value.__doc__)
    ]
    assert not silent


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("name", vehicles.names())
def test_vehicle_fields_have_unit_and_meaning(name: str, kind: str) -> None:
    leaves = record.fields(getattr(vehicles.get(name).model, kind))
    assert not [leaf.name for leaf in leaves if leaf.unit is record.NO_UNIT], "without unit"
    assert not [leaf.name for leaf in leaves if not leaf.doc], "without meaning"


@pytest.mark.parametrize("name", vehicles.names())
def test_vehicles_have_a_summary_of_one_line(name: str) -> None:
    summary = vehicles.get(name).model.summary
    assert summary
    assert "\n" not in summary
