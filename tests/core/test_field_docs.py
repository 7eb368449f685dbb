"""`help` of a record says what its fields mean, in a fresh interpreter, too."""

from __future__ import annotations

import inspect
import os
import pydoc
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import pytest

import skidpad as sp
from skidpad import units as si
from skidpad.core import record
from skidpad.core.record import field_docs


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        (
            "from skidpad.vehicles.parts import Suspension as R",
            ("Unsprung mass of the front axle", "in kg"),
        ),
        ("import skidpad as sp; R = sp.vehicles.two_track.model.Params", ("kg·m²", "Mass")),
        ("import skidpad as sp; R = sp.vehicles.four_wheel.model.State", ("in rad/s",)),
        ("from skidpad.tyres import LinearTyre as R", ("Cornering stiffness",)),
        (
            "from skidpad.tyres.magic_formula.formula import MagicFormula52 as R",
            ("Magic Formula 5.2", "Limits"),
        ),
        ("from skidpad.tyres import MagicFormula62 as R", ("Magic Formula 6.2",)),
        ("from skidpad.vehicles.parts import Suspension; R = Suspension.k_f", ("in N/m",)),
        ("from skidpad.compat.autoware import ControlCommand as R", ("ControlCommand",)),
    ],
)
def test_help_in_a_fresh_interpreter(statement: str, wanted: tuple[str, ...]) -> None:
    code = f"{statement}\nhelp(R)\n"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Alias for field" not in run.stdout
    for text in wanted:
        assert text in run.stdout


PACKAGES = [
    *(
        "",
        "tyres.magic_formula",
        "control",
        "vehicles",
        "vehicles.parts",
    ),
    *("sensors", "tyres", "road", "world", "geometry.maps", "view.recording", "study.manoeuvres"),
    *(
        "study",
        "learn",
        "run",
        "study.logs",
        "study.identify",
        "compat.autoware",
        "compat.commonroad",
    ),
    *("compat.truck", "ros2", "view.stage", "core.model", "core.body"),
]
FIRST_LOOK = """
import importlib, inspect, os, sys
import numba  # once for all of them

for package in sys.argv[1:]:
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        continue
    module = importlib.import_module(package)
    for name in sorted({*dir(module), *getattr(module, "__all__", ())}):
        kind = getattr(module, name, None)
        if name[0] == "_" or not isinstance(kind, type) or not hasattr(kind, "_fields"):
            continue
        if any("Alias" in (inspect.getdoc(getattr(kind, f)) or "") for f in kind._fields):
            print(f"{package}.{name}")
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fresh interpreter for each takes long")
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("", "vehicles", "vehicles.parts", "tyres", "core.model", "world"), id="some"),
        pytest.param(PACKAGES, id="all", marks=pytest.mark.slow),
    ],
)
def test_every_record_of_every_package_is_documented_at_the_first_look(
    names: Sequence[str],
) -> None:
    """Whichever package comes first, without the others."""
    packages = [f"skidpad.{name}".strip(".") for name in names]
    command = [sys.executable, "-W", "ignore", "-c", FIRST_LOOK, *packages]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("[inspect.getdoc(getattr(kind, f)) or '' for f in kind._fields]", id="fields"),
        pytest.param("pydoc.render_doc(kind)", id="help", marks=pytest.mark.slow),
    ],
)
def test_help_of_every_record_of_every_module(shown: str) -> None:
    """The documentation of fields is what `help` shows, in a fifth of its time."""
    code = """
import inspect
import importlib, pkgutil, pydoc, skidpad
for module in pkgutil.walk_packages(skidpad.__path__, "skidpad."):
    try:
        importlib.import_module(module.name) if "__main__" not in module.name else None
    except ImportError as error:  # an optional package
        assert "skidpad" not in str(error.name), error
skidpad.core.record.document_all()
kinds = tuple.__subclasses__()
for kind in kinds:
    kinds += kind.__subclasses__()
    if kind.__module__.startswith("skidpad") and hasattr(kind, "_fields"):
        assert "Alias for field" not in "".join(SHOWN), kind
""".replace("SHOWN", shown)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


class State(NamedTuple):
    """State of a point."""

    v: si.m_s = 0.5
    """Speed along the line."""
    share: si.one = 0.0


class Input(NamedTuple):
    """What pushes it."""

    a: si.m_s2
    """Acceleration."""


class Params(NamedTuple):
    """Nothing to choose."""

    start: State = State()
    """Where it begins."""


def test_fields_of_a_users_model() -> None:
    sp.Model("point", State, Input, Params, lambda x, u, w, p: State(u.a))
    assert inspect.getdoc(State) == "State of a point."
    assert State.__doc__ == State().__doc__ == "State of a point."
    assert inspect.getdoc(State.v) == "Speed along the line. (in m/s, default 0.5)"
    assert inspect.getdoc(State.share) == "(default 0)"
    assert "Acceleration. (in m/s²)" in pydoc.render_doc(Input)
    assert "Where it begins. (State)" in pydoc.render_doc(Params)


def test_source_is_read_only_when_somebody_asks() -> None:
    before = field_docs.cache_info().misses
    record.document_all()
    assert field_docs.cache_info().misses == before
