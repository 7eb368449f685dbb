"""The public surface: what the packages declare, and that all of it says what it is.

Public names need docstrings; private ones only where name and types do not say all. Only the loaded
package shows which names are public, and the units and meanings of the fields of vehicles.
"""

from __future__ import annotations

import inspect
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import skidpad
from skidpad import vehicles
from skidpad.core import record

RECORDS = ("State", "Input", "Params", "Disturbance", "Outputs")


class Public(NamedTuple):
    """A public name, as users write it, and what it stands for."""

    path: str
    value: Any


def listed(module: ModuleType) -> list[str]:
    """The names a module declares as public; those it defines, where it declares none."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def below(module: ModuleType, path: str, seen: set[int]) -> Iterator[Public]:
    """A module and every public name in it, modules below included; each once."""
    if id(module) in seen:
        return
    seen.add(id(module))
    yield Public(path, module)
    for name in listed(module):
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            yield from below(value, f"{path}.{name}", seen)
        else:
            yield Public(f"{path}.{name}", value)


@cache
def public() -> list[Public]:
    """What `skidpad.__all__` leads to."""
    return list(below(skidpad, "skidpad", set()))


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties written in a class, not functions that are defaults."""
    for name, member in vars(kind).items():
        own = getattr(member, "__qualname__", "") == f"{kind.__qualname__}.{name}"
        method = isinstance(member, property) or (inspect.isroutine(member) and own)
        if method and not name.startswith("_"):
            yield name, member


def says_something(value: Any) -> bool:
    """A dataclass or NamedTuple without a docstring gets its signature as one: not enough."""
    text = value.__doc__
    return bool(text and text.strip()) and not text.startswith(f"{value.__name__}(")


def test_public_names_have_docstrings() -> None:
    silent: list[str] = []
    for path, value in public():
        # Anything else is a value: its text stands below it, where only a reader sees it.
        kinds = (ModuleType, FunctionType, type)
        if isinstance(inspect.unwrap(value), kinds) and not says_something(value):
            silent.append(path)
        if inspect.isclass(value):
            silent += [f"{path}.{name}" for name, member in members(value) if not member.__doc__]
    assert len(public()) > 300
    assert not silent


def test_the_page_of_public_names_is_current() -> None:
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "make_api_page.py"))
    assert tool["page"]() == tool["PAGE"].read_text("utf-8"), "run python tools/make_api_page.py"


ARRAYS = re.compile(r"\b(Array|AnyArray|ArrayLike|NDArray|Mask)\b")
SHAPE = re.compile(r"\([^()]+,[^()]*\)")
"""As in (n, 2) or (samples,)."""


def functions() -> Iterator[tuple[str, Any]]:
    """Public functions, and public methods and properties of public classes."""
    for path, value in public():
        if isinstance(value, FunctionType):
            yield path, value
        elif isinstance(value, type):
            for name, member in members(value):
                function = member.fget if isinstance(member, property) else member
                yield f"{path}.{name}", inspect.unwrap(getattr(function, "__func__", function))


def test_arrays_have_a_shape() -> None:
    shapeless = [
        path
        for path, function in functions()
        if any(ARRAYS.search(str(kind)) for kind in inspect.get_annotations(function).values())
        and not SHAPE.search(function.__doc__ or "")
    ]
    assert not shapeless


def test_vehicle_fields_have_unit_and_meaning() -> None:
    silent: list[str] = []
    for name in vehicles.names():
        for kind in RECORDS:
            for leaf in record.fields(getattr(vehicles.get(name).model, kind)):
                missing = (
                    "a unit" if leaf.unit is record.NO_UNIT else "" if leaf.doc else "a meaning"
                )
                silent += [f"{name}: {kind}.{leaf.name} has no {missing}"] if missing else []
    assert not silent


def test_vehicles_have_a_summary_of_one_line() -> None:
    summaries = {name: vehicles.get(name).model.summary for name in vehicles.names()}
    assert not [name for name, text in summaries.items() if not text or "\n" in text]
