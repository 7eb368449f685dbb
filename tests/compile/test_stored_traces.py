"""Traces on disk: found by the next process, and never those of other equations."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import skidpad as sp
from skidpad.compile import pipeline
from skidpad.compile.program import Program
from skidpad.core.model import Model
from waiting import PATIENCE

SCRIPT = """
import sys
import skidpad as sp

sim = sp.Simulator(sp.vehicles.single_track(), dt=0.001)
sim.reset(v_x=10.0)
sim.step(steer=0.1)
print("casadi" in sys.modules, sim.state)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("SKIDPAD_CACHE", str(tmp_path))
    return tmp_path


def again(model: Model) -> Program:
    """The step of a model as a process has it that made no trace yet."""
    vars(model).pop("_programs", None)
    return pipeline.step_program(model, "rk4")


def traces(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.trace"))


def test_the_next_process_does_not_trace_and_has_the_same_bits(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
        ).stdout.split(maxsplit=1)
        for _ in range(2)
    ]
    assert [traced for traced, _ in runs] == ["True", "False"]
    assert runs[0][1] == runs[1][1]


def test_what_is_found_is_what_was_traced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sp.vehicles.kinematic_bicycle().model
    traced = again(model)
    assert len(traces(folder)) == 1
    monkeypatch.setattr(pipeline, "trace_records", None)  # nothing is traced any more
    found = again(model)
    assert found is not traced
    assert "code" not in vars(found)  # it is read when it is asked for
    assert (found.digest, found.operations) == (traced.digest, traced.operations)
    assert found == traced


def test_a_damaged_entry_is_traced_again(folder: Path) -> None:
    model = sp.vehicles.kinematic_bicycle().model
    traced = again(model)
    traces(folder)[0].write_bytes(b"nothing")
    assert again(model) == traced


def test_other_source_is_another_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sp.vehicles.kinematic_bicycle().model
    again(model)
    monkeypatch.setattr(pipeline, "package_digest", lambda: "changed")
    again(model)
    assert len(traces(folder)) == 2


class Own(NamedTuple):
    """A state."""

    v: float = 0.0


class Pushed(NamedTuple):
    """An input."""

    a: float = 0.0


class Nothing(NamedTuple):
    """No parameters."""


def _rate(x: Own, u: Pushed, w: object, p: Nothing) -> Own:
    return Own(u.a)


def test_a_users_model_is_traced_by_everyone(folder: Path) -> None:
    again(Model("own", Own, Pushed, Nothing, derivative=_rate))
    assert not traces(folder)


def test_a_users_part_in_our_car_is_traced_by_everyone(folder: Path) -> None:
    class Tyre(type(sp.vehicles.two_track().params.tyres.tyre)):
        """The usual one under another name."""

        __slots__ = ()

    car = sp.vehicles.single_track(tyre=Tyre())
    again(car.model)
    assert not traces(folder)


def test_programs_are_pickled_with_their_functions() -> None:
    program = pipeline.step_program(sp.vehicles.single_track(), "rk4")
    copy = pickle.loads(pickle.dumps(program))
    assert copy == program
    assert hash(copy.digest) == hash(program.digest)
    with pytest.raises(AttributeError, match="has no attribute 'cod'"):
        _ = copy.cod
