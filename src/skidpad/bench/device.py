"""The device of a measurement: its arrays, synchronisation and description.

All GPU measurements also run on the CPU through the same functions, for the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..compile import gpu
from ..core.arrays import AnyArray
from ..run.fleet import Fleet


class Device(NamedTuple):
    name: str
    xp: Any
    """Array module, NumPy or CuPy."""
    wait: Callable[[], object]
    """Function that waits for all work on the device."""

    @classmethod
    def of(cls, name: str) -> Device:
        """Device with this name; raises if it is missing."""
        if name == "cpu":
            return cls(name, np, lambda: None)
        xp = gpu.cupy()
        return cls(name, xp, xp.cuda.Device().synchronize)

    def finished(self, call: Callable[[], object]) -> Callable[[], object]:
        """Wrap a call so that it waits for its result, for timing."""

        def and_wait() -> None:
            call()
            self.wait()

        return and_wait

    def vehicles_last(self, array: AnyArray) -> Any:
        """Copy an array (..., B, n) to the device, with the vehicle axis contiguous in memory."""
        rows = np.ascontiguousarray(np.swapaxes(array, -1, -2))
        return np.swapaxes(self.xp.asarray(rows), -1, -2)

    def free(self) -> None:
        if self.name == "cuda":
            self.xp.get_default_memory_pool().free_all_blocks()


def on_host(array: Any) -> AnyArray:
    return array.get() if hasattr(array, "get") else np.asarray(array)


def described(device: Device) -> dict[str, Any]:
    """Name, size and versions of a GPU; empty for the CPU, which `machine` describes."""
    if device.name == "cpu":
        return {}
    runtime, here = device.xp.cuda.runtime, device.xp.cuda.Device()
    properties, attributes = runtime.getDeviceProperties(here.id), here.attributes
    name = properties["name"]
    clock = attributes.get("ClockRate")
    return {
        "name": name.decode() if isinstance(name, bytes) else name,
        "memory_bytes": int(properties["totalGlobalMem"]),
        "multiprocessors": int(properties["multiProcessorCount"]),
        "clock_hz": None if clock is None else 1e3 * clock,
        "compute_capability": here.compute_capability,
        "cuda_driver": _dotted(runtime.driverGetVersion()),
        "cuda_runtime": _dotted(runtime.runtimeGetVersion()),
        "cupy": device.xp.__version__,
    }


def _dotted(version: int) -> str:
    """Version text from a CUDA version number, major × 1000 + minor × 10."""
    return f"{version // 1000}.{version % 1000 // 10}"


def resources(fleet: Fleet) -> dict[str, dict[str, int]]:
    """Registers and bytes of local memory per thread of the kernels that have run on a GPU.

    Local memory has what does not fit into registers, so it should be 0.
    """
    # Engines are private, and no user needs these numbers.
    parts = vars(fleet)
    engines: dict[str, Any] = {"rollout": parts["_runner"].engines.rollout}
    if "_derivatives" in parts:
        for engine in vars(parts["_derivatives"])["_adjoints"].values():
            engines["adjoint"] = engine
    needs = {name: getattr(engine, "resources", {}) for name, engine in engines.items()}
    return {name: need for name, need in needs.items() if need}
