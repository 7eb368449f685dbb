"""The group `export`: a step of a car as C, FMU and WebAssembly, compared with the simulator.

Each contender drives the car from the same start with the same input for a number of steps; the end
states agree to the bit.
"""

from __future__ import annotations

import base64
import ctypes
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np

from .. import vehicles
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.model import Vehicle
from ..errors import SkidpadError
from ..export.c import write_c
from ..export.exported import LOADER, Export, WebAssembly, modules_of
from ..export.fmu import write_fmu
from ..export.toolchain import build_library, has_zig, host
from ..run.simulator import CompiledStepper, Simulator
from ..units import m_s, s
from . import viewer
from .timing import TIME, Budget, Entry, Measured, interleaved
from .work import start_at


class RowsDrive(Protocol):
    """Function that drives rows of inputs (T, nu), one step each; returns the states after each,
    (T, nx)."""

    def __call__(self, rows: AnyArray, start: AnyArray | None = None) -> AnyArray:
        """Drive from the state `start` (nx,) without making it consistent; from the default start
        if None."""
        ...


_LOOP = """\
#include "{name}.h"
static {name} car;
int64_t {name}_drive(const {T}* start, const {T}* inputs, {T}* states, int64_t steps);
int64_t {name}_drive(const {T}* start, const {T}* inputs, {T}* states, int64_t steps) {{
    int64_t k;
    {name}_init(&car);
    if (start && {name}_reset(&car, (const {name}_state*)start, 0.0) != {name}_OK) return -1;
    for (k = 0; k < steps; ++k) {{
        if ({name}_step(&car{argument}) != {name}_OK) return k;
{copied}
        states += {nx};
    }}
    return k;
}}
"""


def built_drive(
    exported: Export,
    folder: str | Path,
    compiler: str | None = None,
    flags: Sequence[str] = (),
) -> RowsDrive:
    """Build a vehicle as C in a folder, with a loop around its step; see `toolchain`."""
    _, source, _ = write_c(exported, folder)
    model, name = exported.model, exported.name
    kind = {"float64": "double", "float32": "float"}[exported.precision]
    nx, nu = record.size(model.State), record.size(model.Input)
    loop = Path(folder) / f"{name}_drive.c"
    argument = f", (const {name}_input*)(inputs + {nu} * k)" if nu else ""
    copied = "\n".join(f"        states[{n}] = (({kind}*)&car.state)[{n}];" for n in range(nx))
    text = _LOOP.format(name=name, T=kind, argument=argument, copied=copied, nx=nx)
    loop.write_text(text, "utf-8")
    path = build_library([source, loop], loop.with_suffix(".so"), None, compiler, flags=flags)
    function = ctypes.CDLL(str(path))[f"{name}_drive"]
    function.restype = ctypes.c_int64
    function.argtypes = [*[ctypes.c_void_p] * 3, ctypes.c_int64]

    def drive(rows: AnyArray, start: AnyArray | None = None) -> AnyArray:
        inputs = np.ascontiguousarray(rows, exported.precision)
        states = np.empty((len(inputs), nx), exported.precision)
        at = None if start is None else np.ascontiguousarray(start, exported.precision)
        begin = None if at is None else at.ctypes.data
        made = function(begin, inputs.ctypes.data, states.ctypes.data, len(inputs))
        if made != len(inputs):
            raise SkidpadError(f"step {made} of {name} in C failed")
        return states

    return drive


SPEED: m_s = 15.0
"""Speed at the start, in m/s."""
DT: s = 1e-3
CARS: dict[str, str] = {"four_wheel": "rk4", "two_track": "radau"}
"""Integrators by car: an explicit one, and an implicit one, which its tyres need."""
FLAGS = ("-mfma",)
"""Additional flags of the C compiler, for this processor."""

Drive = Callable[[int], Array]
"""Function that drives a number of steps from the start and returns the end state."""


def car(name: str) -> Export:
    """Export of a car of this group."""
    return Export(vehicles.get(name)(), DT, CARS[name])


def input_of(vehicle: Vehicle) -> Array:
    """Inputs of a gentle bend: a small steering angle, all others at their defaults."""
    u = np.array(record.flatten(record.build(vehicle.Input)))
    names = record.names(vehicle.Input)
    steered = [k for k, name in enumerate(names) if name.startswith("steer")]
    u[steered] = 0.02
    return u


def installed_compilers() -> list[str]:
    return [name for name in ("gcc", "zig") if (has_zig() if name == "zig" else shutil.which(name))]


def native(work: Export) -> Drive:
    """Drive with the compiled step of `Simulator`, without Python between steps."""
    stepper = CompiledStepper(Plant.of(work.vehicle, work.method), work.settings)
    start, row = tuple(start_at(work.vehicle, SPEED)), input_of(work.vehicle)

    def drive(steps: int) -> Array:
        stepper.reset(start, 0.0)
        _, error = stepper.drive(np.tile(row, (steps, 1)))
        assert error is None
        return np.array(record.flatten(stepper.state))

    return drive


class Unit:
    """The car as an FMU for co-simulation, run by fmpy."""

    def __init__(self, work: Export, folder: Path, compiler: str) -> None:
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
        start, row = start_at(work.vehicle, SPEED), input_of(work.vehicle)
        self._set("state", record.names(work.vehicle.State), start)
        self._set("input", record.names(work.vehicle.Input), row)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        self.begin = self.fmu.getFMUState()

    def _set(self, kind: str, names: Sequence[str], values: Array) -> None:
        self.fmu.setFloat64([self.places[f"{kind}.{name}"] for name in names], values.tolist())

    def drive(self, steps: int, calls: int = 1) -> Array:
        """Drive from the start, with `calls` calls of `doStep` of `steps` steps each."""
        fmu, dt = self.fmu, self.work.dt
        fmu.setFMUState(self.begin)
        for k in range(calls):
            fmu.doStep(k * steps * dt, steps * dt)
        names = record.names(self.work.vehicle.State)
        return np.array(fmu.getFloat64([self.places[f"state.{name}"] for name in names]))

    def close(self) -> None:
        """Free the instance, so that its library file can be deleted."""
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


def in_page(tab: Any, work: Export, wasm: WebAssembly, want: str) -> Callable[[int], Any]:
    """Drive with the compiled step in a browser page; returns the time taken (`seconds`) and the
    end `state`.
    """
    assert work.substeps == 1
    text = {"fused": wasm.fused, "exact": wasm.exact, "loader": LOADER.read_bytes()}
    arguments = {
        **{name: base64.b64encode(block).decode() for name, block in text.items()},
        "layout": wasm.layout,
        "want": want,
        "p": [float(value) for value in record.flatten(work.vehicle.params)],
        "x": start_at(work.vehicle, SPEED).tolist(),
        "u": input_of(work.vehicle).tolist(),
        "w": list(record.flatten(record.build(work.model.Disturbance))),
        "dt": work.dt,
    }
    tab.goto("about:blank")
    tab.evaluate(_IN_PAGE, arguments)
    return lambda steps: tab.evaluate("steps => window.drive(steps)", steps)


STEPS = 2000
CONTROL = 1000.0
"""Steps per second of a car in real time."""
NOTHING = Measured(float("nan"), None)


def entries(budget: Budget) -> Iterator[Entry]:
    """Measure each car as C, as an FMU and in a browser."""
    for name in CARS:
        work = car(name)
        drive = native(work)
        for compiler in installed_compilers():
            with tempfile.TemporaryDirectory() as folder:
                yield _c_entry(name, compiler, work, drive, Path(folder), budget)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield from _fmu_entries(name, work, drive, Path(folder), budget)
        yield from _page_entries(name, work, drive, budget)


def _c_entry(
    name: str, compiler: str, work: Export, drive: Drive, folder: Path, budget: Budget
) -> Entry:
    built = built_drive(work, folder, compiler, FLAGS)
    start, row = start_at(work.vehicle, SPEED), input_of(work.vehicle)
    size = (folder / f"{work.name}.c").stat().st_size
    details = {"steps": STEPS, "integrator": work.method.name, "source_kB": size / 1e3}

    def own() -> Array:
        return built(np.tile(row, (STEPS, 1)), start)[-1]

    peer = {"llvm": partial(drive, STEPS)}
    return _entry(f"export.c.{compiler}.{name}", own, peer, details, budget)


def _fmu_entries(
    name: str, work: Export, drive: Drive, folder: Path, budget: Budget
) -> Iterator[Entry]:
    """Entries for an FMU: many steps per call, to time the code alone, and one step per call."""
    compilers = installed_compilers()
    missing = "needs fmpy" if find_spec("fmpy") is None else "needs a C compiler"
    if find_spec("fmpy") is None or not compilers:
        yield Entry(f"export.fmu.kernel.{name}", TIME, NOTHING, absent={"fmpy": missing})
        return
    unit = Unit(work, folder, compilers[0])
    details = {"integrator": work.method.name, "compiler": compilers[0], "FMI": 3}
    try:
        peer = {"llvm": partial(drive, STEPS)}
        own, more = partial(unit.drive, STEPS), {**details, "steps": STEPS}
        yield _entry(f"export.fmu.kernel.{name}", own, peer, more, budget)
        # Drive with steps of a `Simulator` from Python
        vehicle = work.vehicle
        sim = Simulator(vehicle, work.dt, work.method)
        start = vehicle.State(*start_at(vehicle, SPEED))
        row = vehicle.Input(*input_of(vehicle))

        def by_calls() -> Array:
            sim.reset(start)
            for _ in range(STEPS):
                sim.step(row)
            return np.array(sim.state)

        peer = {"Simulator.step": by_calls}
        own, more = partial(unit.drive, 1, STEPS), {**details, "calls": STEPS}
        yield _entry(f"export.fmu.step.{name}", own, peer, more, budget)
    finally:
        unit.close()


def _page_entries(name: str, work: Export, drive: Drive, budget: Budget) -> Iterator[Entry]:
    missing = viewer.why_not()
    if missing is not None:
        yield Entry(f"export.wasm.fused.{name}", TIME, NOTHING, absent={"chromium": missing})
        return
    wasm = modules_of({"step": work.step})
    native = _per_step(interleaved([partial(drive, STEPS)], 2 * budget.repeats)[0])
    with viewer.page() as tab:
        for kind, module in (("fused", wasm.fused), ("exact", wasm.exact)):
            there = in_page(tab, work, wasm, kind)
            there(STEPS)  # warm up: the JavaScript engine optimises while the code runs
            runs = [there(STEPS) for _ in range(2 * budget.repeats)]
            error = _difference(np.array(runs[0]["state"]), drive(STEPS))
            own = _per_step([run["seconds"] for run in runs])._replace(error=error)
            details = {"module_kB": len(module) / 1e3, "share_of_a_core": CONTROL * own.value}
            yield Entry(f"export.wasm.{kind}.{name}", TIME, own, {"llvm": native}, {}, details)


def _entry(
    name: str,
    own: Callable[[], Array],
    peer: Mapping[str, Callable[[], Array]],
    details: Mapping[str, Any],
    budget: Budget,
) -> Entry:
    """Time per step of skidpad and a peer, measured alternately, and the difference of their end
    states."""
    ((peer_name, other),) = peer.items()
    error = _difference(own(), other())
    mine, theirs = interleaved([own, other], 2 * budget.repeats)
    peers = {peer_name: _per_step(theirs)}
    return Entry(name, TIME, _per_step(mine)._replace(error=error), peers, {}, details)


def _difference(own: Array, other: Array) -> float:
    return float(np.max(np.abs(own - other)))


def _per_step(times: Sequence[float]) -> Measured:
    """Time per step of the best run, as disturbances only slow a run down."""
    best = min(times)
    return Measured(best / STEPS, median(times) / best - 1.0)
