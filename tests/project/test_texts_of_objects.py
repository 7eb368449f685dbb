"""The text of a public object is one short line, whatever the object holds.

Records of plain numbers show all their numbers; everything else says what it is and how much of it.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Literal

import numpy as np
import pytest

import skidpad as sp
from skidpad.compile.plant import Plant
from skidpad.control.nmpc import Plan
from skidpad.core.files import brief_repr, counted, listed, shortened
from skidpad.demo.lap import Track
from skidpad.geometry.line import Line as PlaneLine
from skidpad.run.trajectory_table import Column
from skidpad.tyres.tir_file import Document
from skidpad.view.film import Film, ScanAt
from skidpad.view.recording import Recorder, read
from skidpad.world.scene import ActorSpec, BlockSpec, VehicleSpec

LONGEST = 300
HANDED_OUT = (
    Film,
    ScanAt,
    Column,
    Plan,
    Plant,
    Track,
    PlaneLine,
    BlockSpec,
    ActorSpec,
    VehicleSpec,
)
"""Not public by name, but what public objects hold and functions give."""


def public_classes() -> list[type]:
    packages = [m.name for m in walk_packages(sp.__path__, "skidpad.") if m.ispkg]
    modules = [import_module(name) for name in ("skidpad", *packages)]
    named = [getattr(module, n) for module in modules for n in getattr(module, "__all__", ())]
    classes = {cls for cls in (*named, *HANDED_OUT) if inspect.isclass(cls)}
    return sorted(
        (
            cls
            for cls in classes
            if not issubclass(cls, (BaseException, Enum))
            and not getattr(cls, "_is_protocol", False)
            and not inspect.isabstract(cls)
        ),
        key=lambda cls: (cls.__module__, cls.__name__),
    )


def plain(hint: Any, within: tuple[Any, ...] = ()) -> bool:
    """Whether a field holds a number or a name: what has a short text of its own.

    What may contain its own kind is none.
    """
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return plain(typing.get_args(hint)[0], within)
    if origin is not None:
        return origin is Literal or all(plain(part, within) for part in typing.get_args(hint))
    record = inspect.isclass(hint) and issubclass(hint, tuple) and hasattr(hint, "_fields")
    if record or (inspect.isclass(hint) and is_dataclass(hint)):
        inner = hints(hint).values()
        return hint not in within and all(plain(one, (*within, hint)) for one in inner)
    return inspect.isclass(hint) and issubclass(hint, (float, int, str, Enum, Path, type(None)))


def hints(cls: type) -> dict[str, Any]:
    """Types of the fields of a record; any where a name is only there for type checkers."""
    names = [f.name for f in fields(cls)] if is_dataclass(cls) else cls._fields
    try:
        known = typing.get_type_hints(cls, include_extras=True)
    except NameError:
        known = {}
    return {name: known.get(name, Any) for name in names}


class Monster:
    """A thing whose text is long and has an address in it."""

    shape = ()

    def __repr__(self) -> str:
        return "<Monster object at 0x7f00>" + 10_000 * "x"


def nothing() -> None: ...


def full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


BIG: list[Any] = [
    Monster(),
    np.zeros((1000, 30)),
    (Monster(),) * 1000,
    {str(k): Monster() for k in range(1000)},
    nothing,
    lambda: 0,
    "x" * 100_000,
    ("a name",) * 1000,
    1.0,
]

RECORDS = [cls for cls in public_classes() if is_dataclass(cls) or issubclass(cls, tuple)]


def filled(cls: type, value: Any) -> Any:
    """A record with a value in every field that is no plain one, unchecked."""
    values = {name: 1.0 if plain(hint) else value for name, hint in hints(cls).items()}
    if issubclass(cls, tuple):
        return tuple.__new__(cls, values.values())
    made = object.__new__(cls)
    for name, one in values.items():
        object.__setattr__(made, name, one)
    return made


@pytest.mark.parametrize("cls", public_classes(), ids=full_name)
def test_every_public_class_says_what_its_objects_are(cls: type) -> None:
    assert cls.__repr__ is not object.__repr__


OWN = {sp.Model, sp.Vehicle, sp.VehicleFactory, sp.Trajectory, sp.Map, sp.geometry.maps.Grid}
OWN |= {sp.tyres.Tyre, Document}
"""Records whose text is their own, looked at below; the text of a recording is, too."""


@pytest.mark.parametrize("cls", RECORDS, ids=full_name)
def test_the_text_of_a_record_is_short_whatever_it_holds(cls: type) -> None:
    if cls in OWN or cls.__name__ == "Recording" or all(map(plain, hints(cls).values())):
        return
    for value in BIG:
        text = repr(filled(cls, value))
        assert len(text) <= LONGEST, text[:400]
        assert " at 0x" not in text
        assert "\n" not in text
        assert text.startswith(cls.__name__)


def _simulator() -> Any:
    # The vehicle with most names, by the method that is compiled soonest.
    return sp.Simulator(sp.vehicles.get("commonroad_mb")(), dt=1e-4, integrator="euler")


def _run() -> Any:
    return _simulator().run(steps=2)


def _study() -> Any:
    fleet = sp.Fleet(sp.vehicles.kinematic_bicycle(), dt=0.1)
    names = {f"a quantity with a rather long name {k}": lambda x: x.x for k in range(20)}
    return fleet.monte_carlo({}, {}, runs=8, steps=4, quantities=names)


OBJECTS: dict[str, Callable[[], Any]] = {
    "trajectory": _run,
    "sample": lambda: _run()[0],
    "map": lambda: sp.Map(segments=np.ones((5000, 4)) * np.arange(4), name="m" * 5000),
    "grid": lambda: sp.geometry.maps.Grid(np.zeros((500, 500), bool), 0.1),
    "simulator": _simulator,
    "simulation": lambda: sp.Simulation(sp.vehicles.kinematic_bicycle()),
    "planning simulator": lambda: sp.PlanningSimulator("IDEAL_STEER_VEL"),
    "engine": sp.Engine,
    "rays": lambda: sp.geometry.raycast.Scene(np.arange(4000.0).reshape(-1, 4)),
    "checker": lambda: sp.geometry.collision.Checker(
        sp.Map(segments=np.arange(4000.0).reshape(-1, 4))
    ),
    "pid": lambda: sp.control.PIDLongLat(1, 2, 3, 4, 5, 6, 0.1),
    "study": _study,
    "world": lambda: sp.World(sp.world.Scene()),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_the_text_of_an_object_is_short(name: str) -> None:
    text = repr(OBJECTS[name]())
    assert 5 < len(text) <= LONGEST, text[:400]
    assert " at 0x" not in text
    assert "\n" not in text


def test_the_text_of_a_recording_is_short(tmp_path: Path) -> None:
    bodies = tuple(sp.view.stage.Body(f"block {k}", "block", (), 0, 1, 2) for k in range(300))
    channels = tuple(
        sp.view.stage.Channel(name, "m", "block 0", "state") for name in ("x", "y", "yaw")
    )
    stage = sp.view.stage.Stage("x" * 1000, channels, bodies)
    with Recorder(tmp_path / "a.mcap", stage) as recorder:
        recorder.add(0.0, np.zeros(3))
        assert len(repr(recorder).replace(str(tmp_path), "")) < LONGEST
    for thing in (recorder, read(tmp_path / "a.mcap"), read(tmp_path / "a.mcap").film()):
        text = repr(thing).replace(str(tmp_path), "")
        assert len(text) < LONGEST
        assert " at 0x" not in text


def test_texts_tell_what_is_not_as_usual() -> None:
    assert repr(sp.sensors.Lidar(rays=11)) == "Lidar(rays=11)"
    line = sp.view.stage.Line(tuple((0.0, float(k)) for k in range(9)), "edge")
    assert repr(line) == "Line(points=<9 x tuple>, kind='edge')"
    scan = sp.sensors.Scan(np.zeros(7), 0.25)
    assert repr(scan) == "Scan(ranges=array[7], stamp=0.25)"


def test_parts_of_texts() -> None:
    assert [counted(k, "body", "bodies") for k in (0, 1, 2)] == ["0 bodies", "1 body", "2 bodies"]
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(k) for k in range(9)]) == "0, 1, 2, 3, ... (9)"
    assert shortened("<" + "x" * 1000 + ">", 10) == "<xxxxx...>"
    assert shortened("two\n  lines") == "two lines"


def test_a_plain_object_shows_its_public_attributes() -> None:
    class Thing:
        __repr__ = brief_repr

        def __init__(self) -> None:
            self.size, self.rows, self._secret = 3, np.zeros((4, 2)), "no"

    assert repr(Thing()) == "Thing(size=3, rows=array[4 x 2])"
