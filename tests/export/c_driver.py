"""Vehicles in C, built and driven beside the Simulator."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Demand
from skidpad.errors import SimulationDiverged, StepNotConverged
from skidpad.export import Export, toolchain, write_c

STRUCTS = ("state", "before", "input", "disturbance", "params")

_SHIM = """\
#include "{name}.h"
int shim_{name}_size(void) {{ return (int)sizeof({name}); }}
"""
_MEMBER = "{T}* shim_{name}_{member}({name}* car) {{ return ({T}*)&car->{member}; }}\n"


def shim(exported: Export) -> str:
    """C that tells where the members of a vehicle are, as its compiler lays them out."""
    model, kind = exported.model, {"float64": "double", "float32": "float"}[exported.precision]
    records = dict(zip(STRUCTS, (model.State, model.State, model.Input), strict=False))
    records |= {"disturbance": model.Disturbance, "params": model.Params}
    text = _SHIM.format(name=exported.name)
    for member, kept in records.items():
        if record.size(kept):
            text += _MEMBER.format(T=kind, name=exported.name, member=member)
    return text


def build(
    cars: Sequence[Export], folder: Path, compiler: str = "gcc", flags: Sequence[str] = ()
) -> ctypes.CDLL:
    """All of them in one library."""
    sources: list[Path] = []
    for car in cars:
        sources.append(write_c(car, folder)[1])
        extra = folder / f"shim_{car.name}.c"
        extra.write_text(shim(car), "utf-8")
        sources.append(extra)
    path = folder / f"{cars[0].name}.so"
    library = toolchain.build_library(sources, path, compiler=compiler, flags=flags)
    return ctypes.CDLL(str(library))


class Car:
    """A vehicle in C, seen through ctypes."""

    def __init__(self, exported: Export, library: ctypes.CDLL) -> None:
        self.exported, self.library = exported, library
        self.dtype = np.dtype(exported.precision)
        self.memory = ctypes.create_string_buffer(self._function(f"shim_{exported.name}_size")())
        self._call("init")

    def _function(self, name: str, result: Any = ctypes.c_int) -> Any:
        function = getattr(self.library, name)
        function.restype = result
        return function

    def _call(self, name: str, *arguments: Any, result: Any = ctypes.c_int) -> Any:
        function = self._function(f"{self.exported.name}_{name}", result)
        return function(ctypes.byref(self.memory), *arguments)

    def member(self, name: str) -> np.ndarray:
        """One of the records in the struct, as an array that shares its memory."""
        model = self.exported.model
        kinds = {"state": model.State, "before": model.State, "input": model.Input}
        kinds |= {"disturbance": model.Disturbance, "params": model.Params}
        count = record.size(kinds[name])
        if count == 0:
            return np.empty(0, self.dtype)
        at = self._function(f"shim_{self.exported.name}_{name}", ctypes.c_void_p)
        address = at(ctypes.byref(self.memory))
        buffer: Any = (ctypes.c_char * (count * self.dtype.itemsize)).from_address(address)
        return np.frombuffer(buffer, self.dtype)

    def _input(self, command: Sequence[float]) -> tuple[Any, ...]:
        row = np.array(command, self.dtype)
        self._kept = row
        return (row.ctypes.data_as(ctypes.c_void_p),) if row.size else ()

    def step(self, command: Sequence[float]) -> int:
        return self._call("step", *self._input(command))

    def step_of(self, command: Sequence[float], dt: float) -> int:
        return self._call("step_of", *self._input(command), ctypes.c_double(dt))

    def reset(self, state: Sequence[float], time: float) -> int:
        return self._call("reset", *self._input(state), ctypes.c_double(time))

    @property
    def time(self) -> float:
        return self._call("time", result=ctypes.c_double)

    def outputs(self) -> np.ndarray:
        values = np.empty(record.size(self.exported.model.Outputs), self.dtype)
        if values.size:
            self._call("outputs_of", values.ctypes.data_as(ctypes.c_void_p), result=None)
        return values


def simulator_of(exported: Export) -> Any:
    return sp.Simulator(
        exported.vehicle,
        exported.dt,
        exported.method,
        precision=exported.precision,
        substeps=exported.substeps,
    )


def commands(exported: Export, rng: np.random.Generator, state: Any) -> list[float]:
    """Inputs of a driver who wants something else every time."""
    vehicle = exported.vehicle
    demand = Demand(
        steer=rng.uniform(-0.2, 0.2),
        a=rng.uniform(-2.0, 4.0),
        v=rng.uniform(0.0, 10.0),
        omega=rng.uniform(-0.5, 0.5),
    )
    return [float(v) for v in record.flatten(vehicle.body.command(state, demand, vehicle.params))]


def same(got: np.ndarray, expected: Any, what: str) -> None:
    """The same bits; a NaN is a NaN."""
    wanted = np.array(record.flatten(expected), got.dtype)
    numbers = ~np.isnan(wanted)
    assert np.array_equal(np.isnan(got), np.isnan(wanted)), what
    assert got[numbers].tobytes() == wanted[numbers].tobytes(), (what, got, wanted)


def drive_beside(exported: Export, library: ctypes.CDLL, steps: int = 60, seed: int = 1) -> int:
    """Drive both through the same steps of several lengths, disturbances and resets, and compare
    everything after each; returns how many steps were refused by both."""
    rng = np.random.default_rng(seed)
    sim, car = simulator_of(exported), Car(exported, library)
    same(car.member("state"), sim.state, "start")
    refused = 0
    for k in range(steps):
        if k in (20, 40):
            start = sim.reset(sim.state, time=1.5 * k)
            assert car.reset(record.flatten(start), 1.5 * k) == 0
        if k % 10 == 5:
            neutral = np.array(record.flatten(record.build(exported.model.Disturbance)))
            shaken = sim.disturb(neutral + 0.01 * rng.standard_normal(neutral.size))
            car.member("disturbance")[:] = record.flatten(shaken)
        row = commands(exported, rng, sim.state)
        dt = exported.dt * rng.uniform(0.3, 1.0) if k % 7 == 3 else None
        before = bytes(car.memory)
        code = car.step(row) if dt is None else car.step_of(row, dt)
        try:
            sim.step(row, dt=dt)
        except SimulationDiverged:
            wanted = 2
        except StepNotConverged:
            wanted = 3
        else:
            wanted = 0
        where = f"{exported.name}, step {k}"
        assert code == wanted, where
        if wanted:
            assert bytes(car.memory) == before or code == 3
            refused += 1
        same(car.member("state"), sim.state, where)
        same(car.member("input"), sim.input, f"input of {where}")
        assert car.time == sim.time, where
        if k % 4 == 0:
            same(car.outputs(), sim.outputs(), f"outputs of {where}")
    return refused
