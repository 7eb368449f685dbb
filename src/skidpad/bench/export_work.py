"""The work of the group `export`: one drive of one car, made by each form that it is exported to.

A contender drives the car from the same start with the same input, so many steps at once, and gives
the state at the end, which is the same to the bit.
"""

from __future__ import annotations

import base64
import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import record, vehicles
from ..arrays import Array
from ..compile.plant import Plant
from ..export import Exported, exported
from ..export.c_files import write_c
from ..export.toolchain import build_library
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


_DRIVE = """\
#include "{name}.h"
int drive({name}* car, const {name}_state* start, const {name}_input* u, int steps);
int drive({name}* car, const {name}_state* start, const {name}_input* u, int steps) {{
    {name}_init(car);
    {name}_reset(car, start, 0.0);
    for (int k = 0; k < steps; ++k) {{
        const int code = {name}_step(car, u);
        if (code != 0) return code;
    }}
    return 0;
}}
int size(void);
int size(void) {{ return (int)sizeof({name}); }}
"""


def as_c(work: Exported, folder: Path) -> Drive:
    """The exported C, built for this processor."""
    _, source, _ = write_c(work, folder)
    loop = folder / "drive.c"
    loop.write_text(_DRIVE.format(name=work.name), "utf-8")
    library = ctypes.CDLL(str(build_library([source, loop], folder / "car.so", flags=FLAGS)))
    room = ctypes.create_string_buffer(library.size())
    start, row = start_of(work.vehicle), input_of(work.vehicle)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (start, row)]

    def drive(steps: int) -> Array:
        assert library.drive(room, *pointers, steps) == 0
        return np.frombuffer(room, dtype=float, count=start.size).copy()

    return drive


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
