"""The work of the group `export`: one drive of one car, made by each form that it is exported to.

A contender drives the car from the same start with the same input, so many steps at once, and gives
the state at the end, which is the same to the bit.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import record, vehicles
from ..arrays import Array
from ..compile.plant import Plant
from ..export import Exported, exported, write_fmu
from ..export.c_drive import built_drive
from ..export.toolchain import has_zig, host
from ..export.webassembly import LOADER, WebAssembly, modules_of
from ..model import Vehicle
from ..run.stepper import CompiledStepper
from ..units import m_s, s

SPEED: m_s = 15.0
"""At the start."""
DT: s = 1e-3
CARS: dict[str, str] = {"four_wheel": "rk4", "two_track": "radau"}
"""The cars and how they are stepped: a simple one, and one whose tyres need an implicit method."""
FLAGS = ("-mfma",)
"""Of the C compiler, besides those that keep the bits: for the processor at hand."""

Drive = Callable[[int], Array]
"""Drives so many steps from the start; the state at the end."""


def car(name: str) -> Exported:
    """A car of this group, ready to be exported."""
    return exported(vehicles.named(name), DT, CARS[name])


def start_of(vehicle: Vehicle) -> Array:
    """At its speed, straight ahead, on wheels that roll."""
    start = record.build(vehicle.State, v_x=SPEED)
    if vehicle.model.settle is not None:
        start = vehicle.model.settle(start, vehicle.params)
    return np.array(record.flatten(start))


def input_of(vehicle: Vehicle) -> Array:
    """A gentle bend: the steering turned a little, all else as it is by default."""
    u = np.array(record.flatten(record.build(vehicle.Input)))
    names = record.names(vehicle.Input)
    steered = [k for k, name in enumerate(names) if name.startswith("steer")]
    u[steered] = 0.02
    return u


def compilers() -> list[str]:
    """C compilers that are there."""
    return [name for name in ("gcc", "zig") if (has_zig() if name == "zig" else shutil.which(name))]


def native(work: Exported) -> Drive:
    """The compiled step of `Simulator`, without Python between steps."""
    stepper = CompiledStepper(Plant.of(work.vehicle, work.method), work.settings)
    start, row = tuple(start_of(work.vehicle)), input_of(work.vehicle)

    def drive(steps: int) -> Array:
        stepper.reset(start, 0.0)
        _, error = stepper.drive(np.tile(row, (steps, 1)))
        assert error is None
        return np.array(record.flatten(stepper.state))

    return drive


def as_c(work: Exported, folder: Path, compiler: str) -> Drive:
    """The exported C, built for this processor."""
    built = built_drive(work, folder, compiler, FLAGS)
    start, row = start_of(work.vehicle), input_of(work.vehicle)
    return lambda steps: built(np.tile(row, (steps, 1)), start)[-1]


class Unit:
    """The car as an FMU for co-simulation, run by fmpy."""

    def __init__(self, work: Exported, folder: Path, compiler: str) -> None:
        import fmpy
        from fmpy.fmi3 import FMU3Slave

        self.work = work
        file = write_fmu(work, folder / "car.fmu", compiler=compiler, platforms=[host()])
        unpacked = fmpy.extract(str(file), unzipdir=str(folder / "fmu"))
        about: Any = fmpy.read_model_description(str(file))
        self.places = {v.name: v.valueReference for v in about.modelVariables}
        self.fmu: Any = FMU3Slave(
            guid=about.guid,
            unzipDirectory=unpacked,
            modelIdentifier=about.coSimulation.modelIdentifier,
            instanceName="car",
        )
        self.fmu.instantiate()
        start, row = start_of(work.vehicle), input_of(work.vehicle)
        self._set("state", record.names(work.vehicle.State), start)
        self._set("input", record.names(work.vehicle.Input), row)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        self.begin = self.fmu.getFMUState()

    def _set(self, kind: str, names: Sequence[str], values: Array) -> None:
        self.fmu.setFloat64([self.places[f"{kind}.{name}"] for name in names], values.tolist())

    def drive(self, steps: int, calls: int = 1) -> Array:
        """From the start, `steps` in each of so many calls of `doStep`."""
        fmu, dt = self.fmu, self.work.dt
        fmu.setFMUState(self.begin)
        for k in range(calls):
            fmu.doStep(k * steps * dt, steps * dt)
        names = record.names(self.work.vehicle.State)
        return np.array(fmu.getFloat64([self.places[f"state.{name}"] for name in names]))

    def close(self) -> None:
        """End it, so that its library can go."""
        self.fmu.freeFMUState(self.begin)
        self.fmu.terminate()
        self.fmu.freeInstance()


_IN_PAGE = """async ({loader, fused, exact, layout, want, p, x, u, w, dt}) => {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const { loadModule } = await import("data:text/javascript;base64," + loader);
  const module = await loadModule({fused: bytes(fused), exact: bytes(exact), layout, want});
  const put = (name, values) => { if (layout.ports[name]) module.view(name).set(values); };
  put("p", p); put("u", u); put("w", w); put("dt", [dt]);
  window.drive = (steps) => {
    const state = module.view("x"), held = layout.ports.start?.fields.length;
    state.set(x);
    const begin = performance.now();
    for (let k = 0; k < steps; k += 1) {
      if (held) module.view("start").set(state);
      module.call("step");
    }
    return { seconds: (performance.now() - begin) / 1000, state: Array.from(state) };
  };
}"""


def modules(work: Exported) -> WebAssembly:
    """The step as WebAssembly."""
    return modules_of({"step": work.step})


def in_page(tab: Any, work: Exported, wasm: WebAssembly, want: str) -> Callable[[int], Any]:
    """The step in a page of a browser; a drive gives its `seconds` there and its `state`."""
    assert work.substeps == 1
    text = {"fused": wasm.fused, "exact": wasm.exact, "loader": LOADER.read_bytes()}
    arguments = {
        **{name: base64.b64encode(block).decode() for name, block in text.items()},
        "layout": wasm.layout,
        "want": want,
        "p": [float(value) for value in record.flatten(work.vehicle.params)],
        "x": start_of(work.vehicle).tolist(),
        "u": input_of(work.vehicle).tolist(),
        "w": list(record.flatten(record.build(work.model.Disturbance))),
        "dt": work.dt,
    }
    tab.goto("about:blank")
    tab.evaluate(_IN_PAGE, arguments)
    return lambda steps: tab.evaluate("steps => window.drive(steps)", steps)
