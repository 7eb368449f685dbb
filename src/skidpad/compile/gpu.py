"""Run compiled Programs on a CUDA device, with kernels built by NVRTC through CuPy.

Shared arrays are copied to the device when a kernel first needs them, and freed with their arrays.

A launch cannot be stopped, so a long rollout or sweep is split in time into launches of at most
some 0.2 s, and Python runs between them. Each launch passes states, sums and the health of the
vehicles to the next through memory; steps are counted from the start of the whole, so the bits are
those of a single launch.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from ..core.arrays import Blocks, alive, table_address
from ..core.progress import Progress
from ..errors import InvalidValue, MissingExtra, require
from . import cuda
from .cpu import HEALTH, Backward, Late, RolloutArrays, StepOptions, Swept, swept_arrays
from .cuda import ARRAYS, NATIVE
from .lower import lower
from .program import Program

LOCK = threading.Lock()
"""Lock that is held from the update of a module's array addresses until the kernel launch.

The shared arrays must stay at these addresses until the launch.
"""

_Words = tuple[int, int]


class DeviceArrays:
    """Copies of the shared arrays of one precision on one device."""

    def __init__(self, xp: Any, precision: str) -> None:
        self._xp, self._precision = xp, precision
        table_address(precision)  # creates the blocks of this precision, also for later arrays
        self._seen: Mapping[int, Blocks] | None = None
        self._blocks: dict[int, Any] = {}
        self._table: Any = None

    def words(self) -> _Words:
        """Address and length of the table, which contains all arrays that exist at this moment."""
        now = alive()
        if now is not self._seen:
            self._refresh(now)
        return int(self._table.data.ptr), len(self._table)

    def _refresh(self, now: Mapping[int, Blocks]) -> None:
        xp = self._xp
        # Kernels that are still running may read the memory that is freed here.
        xp.cuda.Device().synchronize()
        blocks: dict[int, Any] = {}
        addresses = np.zeros(1 + max(now, default=0), np.uint64)
        for number, of_array in now.items():
            block = getattr(of_array, self._precision)
            if block is not None:
                known = self._blocks.get(number)
                blocks[number] = xp.asarray(block) if known is None else known
                addresses[number] = blocks[number].data.ptr
        table = xp.asarray(addresses)
        # Kernels use another stream than these copies.
        xp.cuda.Device().synchronize()
        self._blocks, self._table, self._seen = blocks, table, now


_on_devices: dict[tuple[int, str], DeviceArrays] = {}


class ModuleArrays:
    """The addresses of the shared arrays as set in one compiled module."""

    def __init__(self, xp: Any, module: Any, precision: str) -> None:
        self._xp, self._module, self._precision = xp, module, precision
        self._told: dict[int, _Words] = {}
        """Address and length of the table last written to the module, by device."""

    def update(self) -> None:
        """Write the present array addresses to the module; call before a launch, under `LOCK`."""
        xp = self._xp
        device = int(xp.cuda.Device().id)
        key = device, self._precision
        if key not in _on_devices:
            _on_devices[key] = DeviceArrays(xp, self._precision)
        words = _on_devices[key].words()
        if self._told.get(device) != words:
            content = (ctypes.c_uint64 * 2)(*words)
            place = self._module.get_global(ARRAYS)
            place.copy_from_host(ctypes.addressof(content), ctypes.sizeof(content))
            self._told[device] = words


Launch = Callable[[int, Sequence[Any], Sequence[Any]], object]
"""`launch(count, arrays, tail)`: start one thread per vehicle.

`arrays` are passed as views of arrays (step, vehicle, field); `tail` are arrays passed by
address alone, and numbers.
"""

_SHORT, _FIRST, _LONG = 0.05, 0.01, 0.1
"""Launch durations in s by which steps are split into launches.

Work estimated at less than `_SHORT` is one launch. Otherwise the first launch takes about
`_FIRST` by the estimate, and later ones `_LONG` by measurement.
"""
_GROWTH = 16
"""Largest ratio of a launch's number of steps to the previous launch's.

The duration of a short launch is measured inaccurately.
"""


class RolloutLaunch:
    """Launches of one rollout. `health`, (3, vehicle), holds the numbers of `cpu.HEALTH`.

    Args:
        launch: runs the kernel of `cuda.emit`.
        xp: array library.
        arrays, out, every, late: as in `CudaRollout.run`.
        substeps: sub-steps per step.
        dt, tolerance: of a sub-step, as numbers of the precision; dt may be an array with one
            number per step.
    """

    def __init__(
        self,
        launch: Launch,
        xp: Any,
        arrays: RolloutArrays,
        out: Any,
        every: int,
        late: Late | None = None,
        *,
        substeps: int,
        dt: Any,
        tolerance: Any,
    ) -> None:
        self._launch, self._xp, self._out = launch, xp, out
        self._x, *self._held = (*arrays, *(late or ()))
        self._every, self._substeps = every, substeps
        self._numbers = [dt, tolerance]
        self._pending = [] if late is None else [len(late.pending)]
        self.steps: int = (out.shape[0] - 1) * every
        self.count: int = out.shape[1]
        self.health = xp.zeros((len(HEALTH), self.count), out.dtype)

    def __call__(self, begin: int, end: int) -> None:
        """Launch the steps from `begin` up to but not including `end`, after all earlier ones."""
        n, more = self._substeps, end < self.steps
        after = self._states() if more else self._out[:1]
        steps = [begin * n, end * n, self.steps * n, self._every * n, n]
        tail = [self.health, self.count, *steps, *self._numbers, *self._pending]
        self._launch(self.count, (self._x, *self._held, self._out, after), tail)
        if more:
            self._x = after

    def _states(self) -> Any:
        # The vehicle last in memory: neighbouring threads then touch neighbouring numbers.
        room = self._xp.empty((1, self._out.shape[2], self.count), self._out.dtype)
        return room.swapaxes(1, 2)


class AdjointLaunch:
    """Launches of one adjoint sweep into `swept`, whose arrays must be zero at first.

    Args:
        launch: runs the kernel of `cuda.emit_adjoint`.
        arrays, steps: as in `CudaAdjoint.run`.
        swept: the results.
        dt: step, as a number of the precision.
    """

    def __init__(
        self, launch: Launch, arrays: Backward, swept: Swept, steps: int, count: int, dt: Any
    ) -> None:
        self._launch, self._arrays, self._swept = launch, arrays, swept
        self.steps, self.count, self._dt = steps, count, dt

    def __call__(self, begin: int, end: int) -> None:
        """Launch the steps from `begin` to before `end`, counted back from the last one."""
        if begin:
            self._arrays = self._arrays._replace(lam=self._swept.x.copy())
        steps = [self.steps - end, self.steps - begin]
        self._launch(self.count, (*self._arrays, *self._swept), [self.count, *steps, self._dt])


class Pieces:
    """Splits the steps of one kernel into launches and measures how long a step takes.

    Args:
        operations: upper limit of the operations of one vehicle in one step.
        wait: waits until everything launched is done.
        clock: returns the time in s.
    """

    def __init__(
        self, operations: int, wait: Callable[[], object], clock: Callable[[], float] = perf_counter
    ) -> None:
        self._operations, self._wait, self._clock = operations, wait, clock
        self._measured: dict[int, float] = {}
        """Measured time of a step in s, by the number of vehicles."""

    def run(self, launch: RolloutLaunch | AdjointLaunch, progress: Progress | None = None) -> None:
        """Launch all steps; returns when all launches but the last are finished."""
        steps, count = launch.steps, launch.count
        step, first = self._measured.get(count), _LONG
        if step is None:
            step, first = self._estimate(count), _FIRST
        size = steps if steps * step <= _SHORT else max(1, int(first / step))
        if size < steps:
            self._wait()
        begin = 0
        while begin < steps:
            end, start = min(steps, begin + size), self._clock()
            launch(begin, end)
            if end < steps:
                self._wait()
                step = self._measured[count] = (self._clock() - start) / (end - begin)
                size = max(1, min(_GROWTH * size, int(_LONG / max(step, 1e-12))))
            if progress is not None:
                progress.advance((end - begin) * count)
            begin = end

    def _estimate(self, count: int) -> float:
        """Upper estimate of the duration of a step in s on a slow device, from latency and
        throughput.
        """
        return self._operations * (2e-8 + 2e-11 * count)


@cache
def cupy() -> Any:
    """Return the CuPy module, if it is installed and a device is available."""
    library = require("cupy", purpose="device = 'cuda'")
    try:
        count = library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError:
        count = 0
    if count == 0:
        raise MissingExtra(
            "device = 'cuda' needs an NVIDIA GPU and its driver; none was found. Use device = 'cpu'"
        )
    return library


def strided(array: Any) -> tuple[Any, Any, Any, Any]:
    """A device array (step, vehicle, field) as kernel arguments: array, strides in numbers."""
    step, vehicle, field = (s // array.itemsize for s in array.strides)
    if array.shape[1] == 1:
        vehicle = 0
    return array, field, vehicle, step if array.shape[0] > 1 else 0


class CudaRollout:
    """A step Program run with one thread per vehicle, compiled at the first call."""

    lanes = 1

    def __init__(self, program: Program, options: StepOptions, *, fast: bool) -> None:
        self.program, self.fast, self.xp = program, fast, cupy()
        dt, self.tolerance, self.precision, self.substeps, self.delayed = options
        self.dtype, self.dt = np.dtype(self.precision), dt / self.substeps
        self._kernels: dict[bool, tuple[Kernel, Pieces]] = {}

    def source(self, *, timed: bool = False) -> str:
        """CUDA C source of the kernel; with `timed`, of the variant with variable steps."""
        # GPUs have no double-precision sine in hardware; their library sine is slower than
        # skidpad's.
        native = NATIVE if self.fast and self.precision == "float32" else frozenset[str]()
        lowered = lower(self.program, self.precision, native, careful=not self.fast)
        return cuda.emit(lowered, self.precision, self.delayed, timed=timed)

    def run(
        self,
        arrays: RolloutArrays,
        out: Any,
        every: int,
        late: Late | None = None,
        *,
        lengths: Any = None,
        progress: Progress | None = None,
    ) -> Any:
        """Fill `out` (sample, vehicle, field) after its first sample; returns the health.

        With delayed inputs, `late` is required. `lengths` (step,) are the step lengths in s, on the
        host, if they differ from dt. The progress advances by the steps of all vehicles. A long
        rollout is several launches, so that it can be interrupted.
        """
        kernel, pieces = self._compiled(timed=lengths is not None)
        dt = self.dtype.type(self.dt)
        if lengths is not None:
            dt = self.xp.asarray((lengths / self.substeps).astype(self.dtype))
        launch = RolloutLaunch(
            kernel,
            self.xp,
            arrays,
            out,
            every,
            late,
            substeps=self.substeps,
            dt=dt,
            tolerance=self.dtype.type(self.tolerance),
        )
        pieces.run(launch, progress)
        return launch.health

    def prepared(
        self, arrays: RolloutArrays, out: Any, health: Any
    ) -> tuple[Kernel, Callable[[], object]]:
        """Prepare a repeatable launch of one step from `arrays` to `out[1]`.

        The launch accumulates into the health, (3, vehicle).
        """
        kernel, _ = self._compiled(timed=False)
        count, n, number = out.shape[1], self.substeps, self.dtype.type
        tail = [health, count, 0, n, n, n, n, number(self.dt), number(self.tolerance)]
        return kernel, kernel.prepared(count, (*arrays, out, out[:1]), tail)

    def _compiled(self, *, timed: bool) -> tuple[Kernel, Pieces]:
        if timed not in self._kernels:
            flags = cuda.FAST_FLAGS if self.fast else cuda.EXACT_FLAGS
            kernel = Kernel(self.source(timed=timed), "rollout", flags)
            self._kernels[timed] = kernel, _pieces(self.program)
        return self._kernels[timed]

    @property
    def resources(self) -> dict[str, int]:
        """Registers and local memory of a thread of the kernel; empty before it has run."""
        return next((kernel.resources for kernel, _ in self._kernels.values()), {})


class CudaMap:
    """A Program applied to each vehicle once, compiled at the first call."""

    def __init__(self, program: Program, precision: str) -> None:
        self.program, self.precision = program, precision
        self.xp = cupy()

    @cached_property
    def _kernel(self) -> Kernel:
        return Kernel(cuda.emit_apply(lower(self.program, self.precision), self.precision), "apply")

    def run(self, ports: list[Any], count: int) -> list[Any]:
        """Return output ports, each (1, count, field), for input ports (1, count or 1, field)."""
        xp = self.xp
        sizes = [len(port.fields) for port in self.program.outputs]
        out = [xp.empty((1, count, size), self.precision) for size in sizes]
        self._kernel(count, (*ports, *out), [count])
        return out


def masked_map(program: Program, precision: str) -> Kernel:
    """A kernel of a Program for some vehicles; its last argument is a byte mask of vehicles."""
    lowered = lower(program, precision)
    return Kernel(cuda.emit_apply(lowered, precision, masked=True), "apply")


class CudaAdjoint:
    """An adjoint Program run backwards over a rollout, compiled at the first call."""

    def __init__(self, program: Program, *, dt: float, precision: str) -> None:
        self.program, self.precision = program, precision
        self.xp = cupy()
        self.dtype = np.dtype(precision)
        self.dt = dt
        self._pieces = _pieces(program)
        self._kernel: Kernel | None = None

    def run(
        self, arrays: Backward, steps: int, count: int, *, progress: Progress | None = None
    ) -> Swept:
        """Return the derivatives with respect to the first state, the inputs and the parameters.

        The progress advances by the steps of all vehicles.
        """
        if self._kernel is None:
            source = cuda.emit_adjoint(lower(self.program, self.precision), self.precision)
            self._kernel = Kernel(source, "adjoint")
        swept = swept_arrays(self.xp, self.program, arrays, count, self.dtype)
        dt = self.dtype.type(self.dt)
        launch = AdjointLaunch(self._kernel, arrays, swept, steps, count, dt)
        self._pieces.run(launch, progress)
        return swept

    @property
    def resources(self) -> dict[str, int]:
        """Registers and local memory of a thread of the kernel; empty before it has run."""
        return {} if self._kernel is None else self._kernel.resources


class Kernel:
    """The kernel of a CUDA source, as a callable that launches it."""

    def __init__(self, source: str, name: str, flags: tuple[str, ...] = cuda.EXACT_FLAGS) -> None:
        self._xp, self._threads = cupy(), cuda.THREADS[name]
        module = self._xp.RawModule(code=source, options=flags)
        self._kernel = module.get_function(name)
        self._arrays = None
        if ARRAYS in source:
            precision = "float64" if "read_double" in source else "float32"
            self._arrays = ModuleArrays(self._xp, module, precision)

    def __call__(self, count: int, arrays: Sequence[Any], tail: Sequence[Any]) -> None:
        """Launch one thread per vehicle; see `Launch`."""
        launch = self.prepared(count, arrays, tail)
        if self._arrays is None:
            launch()
            return
        with LOCK:
            self._arrays.update()
            launch()

    def prepared(
        self, count: int, arrays: Sequence[Any], tail: Sequence[Any]
    ) -> Callable[[], object]:
        """A repeatable launch with the same arguments; call `tell_arrays` before each."""
        xp = self._xp
        arguments: list[Any] = []
        for array in arrays:
            base, *strides = strided(array)
            arguments += [base, *map(xp.int64, strides)]
        arguments += [xp.int64(value) if isinstance(value, int) else value for value in tail]
        blocks = (-(-count // self._threads),)
        return partial(self._kernel, blocks, (self._threads,), tuple(arguments))

    def tell_arrays(self) -> None:
        """Write the shared-array addresses to the kernel before a prepared launch, under `LOCK`."""
        if self._arrays is not None:
            self._arrays.update()

    @property
    def resources(self) -> dict[str, int]:
        """Registers and bytes of local memory per thread.

        Local memory holds the values for which there were no registers.
        """
        attributes = self._kernel.attributes
        return {
            "registers": int(attributes["num_regs"]),
            "local_bytes": int(attributes["local_size_bytes"]),
        }


def _pieces(program: Program) -> Pieces:
    return Pieces(program.executed, lambda: cupy().cuda.get_current_stream().synchronize())


_CUDA_DEVICE = 2
"""The device type kDLCUDA in the DLPack header."""


def is_on_device(array: Any) -> bool:
    if hasattr(array, "__cuda_array_interface__"):
        return True
    tells = getattr(array, "__dlpack_device__", None)
    return tells is not None and tells()[0] == _CUDA_DEVICE


def device_array(what: str, values: Any, dtype: Any) -> Any:
    """Return array-like values on the device: DLPack and CUDA arrays as they are, others copied."""
    xp = cupy()
    if not is_on_device(values):
        return xp.asarray(values, dtype=dtype)
    array = values if isinstance(values, xp.ndarray) else xp.from_dlpack(values)
    if array.dtype != dtype:
        raise InvalidValue(
            f"{what} is {array.dtype} on the device but the fleet computes in {dtype}; "
            "convert it first, since a silent copy would hide the cost"
        )
    return array


def like(array: Any, example: Any) -> Any:
    """Convert a device array to the type of `example` (CuPy, PyTorch, JAX) without a copy."""
    library = type(example).__module__.partition(".")[0]
    if library == "torch":
        return import_module("torch").from_dlpack(array)
    if library in ("jax", "jaxlib"):
        return import_module("jax.dlpack").from_dlpack(array)
    return array
