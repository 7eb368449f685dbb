"""The engine that runs compiled Programs on a CUDA device, through CuPy's NVRTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import InvalidValue, MissingExtra
from ..extras import require
from ..progress import Progress
from . import cuda
from .cpu import Backward, Late, RolloutArrays, Swept, swept_arrays
from .cuda_text import ARRAYS, NATIVE
from .gpu_arrays import LOCK, ModuleArrays
from .launches import AdjointLaunch, Pieces, RolloutLaunch
from .lower import lower
from .program import Program


@cache
def cupy() -> Any:
    """The CuPy module, if it is installed and there is a device to use."""
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
    """A step Program with one thread per vehicle. It is compiled when first used."""

    lanes = 1

    def __init__(
        self,
        program: Program,
        *,
        dt: float,
        tolerance: float,
        precision: str,
        fast: bool,
        substeps: int = 1,
        delayed: tuple[int, ...] = (),
    ) -> None:
        self.program, self.precision, self.fast = program, precision, fast
        self.delayed = delayed
        self.substeps = substeps
        self.xp = cupy()
        self.dtype = np.dtype(precision)
        self.dt, self.tolerance = dt / substeps, tolerance
        self._kernels: dict[bool, tuple[Kernel, Pieces]] = {}

    def source(self, *, timed: bool = False) -> str:
        """The CUDA C of the kernel; with `timed`, of the one whose steps differ in length."""
        # A GPU has no double-precision sines in hardware: its own are slower than ours.
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

        With delayed inputs, `late` is needed. `lengths` are those of the steps in s (step,), on the
        host, if it is not dt for all. The progress is advanced by the steps of all vehicles. A long
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
        """One step from `arrays` to `out[1]`, a launch that can be done again and again; what it
        finds is added to the health, (3, vehicle)."""
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
        """What a thread of the kernel needs; empty before it has run."""
        return next((kernel.resources for kernel, _ in self._kernels.values()), {})


class CudaMap:
    """A Program applied to each vehicle once. It is compiled when first used."""

    def __init__(self, program: Program, precision: str) -> None:
        self.program, self.precision = program, precision
        self.xp = cupy()
        self._kernel: Kernel | None = None

    def run(self, ports: list[Any], count: int) -> list[Any]:
        """The output ports, each (1, count, field), for input ports (1, count or 1, field)."""
        xp = self.xp
        if self._kernel is None:
            source = cuda.emit_apply(lower(self.program, self.precision), self.precision)
            self._kernel = Kernel(source, "apply")
        sizes = [len(port.fields) for port in self.program.outputs]
        out = [xp.empty((1, count, size), self.precision) for size in sizes]
        self._kernel(count, (*ports, *out), [count])
        return out


def masked_map(program: Program, precision: str) -> Kernel:
    """A Program for some vehicles: a kernel whose last argument is a byte for each of them."""
    lowered = lower(program, precision)
    return Kernel(cuda.emit_apply(lowered, precision, masked=True), "apply")


class CudaAdjoint:
    """An adjoint Program run backwards over a rollout. It is compiled when first used."""

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
        """Derivatives with respect to the first state, the inputs and the parameters.

        The progress is advanced by the steps of all vehicles.
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
        """What a thread of the kernel needs; empty before it has run."""
        return {} if self._kernel is None else self._kernel.resources


class Kernel:
    """The kernel of a source, as a function that launches it."""

    def __init__(self, source: str, name: str, flags: tuple[str, ...] = cuda.EXACT_FLAGS) -> None:
        self._xp, self._threads = cupy(), cuda.THREADS[name]
        module = self._xp.RawModule(code=source, options=flags)
        self._kernel = module.get_function(name)
        self._arrays = None
        if ARRAYS in source:
            precision = "float64" if "read_double" in source else "float32"
            self._arrays = ModuleArrays(self._xp, module, precision)

    def __call__(self, count: int, arrays: Sequence[Any], tail: Sequence[Any]) -> None:
        """See `launches.Launch`."""
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
        """A launch with the same arguments again and again; see `tell_arrays`."""
        xp = self._xp
        arguments: list[Any] = []
        for array in arrays:
            base, *strides = strided(array)
            arguments += [base, *map(xp.int64, strides)]
        arguments += [xp.int64(value) if isinstance(value, int) else value for value in tail]
        blocks = (-(-count // self._threads),)
        return partial(self._kernel, blocks, (self._threads,), tuple(arguments))

    def tell_arrays(self) -> None:
        """Before a prepared launch, tell the kernel where shared arrays are; under `LOCK`."""
        if self._arrays is not None:
            self._arrays.update()

    @property
    def resources(self) -> dict[str, int]:
        """Registers and bytes of local memory of a thread; what is local did not fit."""
        attributes = self._kernel.attributes
        return {
            "registers": int(attributes["num_regs"]),
            "local_bytes": int(attributes["local_size_bytes"]),
        }


def _pieces(program: Program) -> Pieces:
    return Pieces(program.executed, lambda: cupy().cuda.get_current_stream().synchronize())


_CUDA_DEVICE = 2
"""kDLCUDA of the DLPack header."""


def is_on_device(array: Any) -> bool:
    """Whether an array lives on a CUDA device."""
    if hasattr(array, "__cuda_array_interface__"):
        return True
    tells = getattr(array, "__dlpack_device__", None)
    return tells is not None and tells()[0] == _CUDA_DEVICE


def device_array(what: str, values: Any, dtype: Any) -> Any:
    """Anything array-like on the device: DLPack and CUDA arrays as they are, the rest copied."""
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
    """A device array as the kind of array `example` is (CuPy, PyTorch, JAX), without a copy."""
    library = type(example).__module__.partition(".")[0]
    if library == "torch":
        return import_module("torch").from_dlpack(array)
    if library in ("jax", "jaxlib"):
        return import_module("jax.dlpack").from_dlpack(array)
    return array
