"""Environments whose arrays stay on a CUDA device; calls launch work without waiting for it.

Actions may be CuPy, PyTorch or JAX arrays on the device, which are not copied, or arrays on the
host; the results are arrays of the same library. As a call does not wait for the device, an error
there (a non-finite action, state or observation, or a start in contact) is raised by a later call,
mostly the next one: all environments stand still from the moment of the error. `check` waits and
raises it at once; `reset` starts again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..compile import gpu
from ..core import record
from ..core.arrays import AnyArray
from ..core.checks import one_of
from ..errors import InvalidValue, SimulationDiverged, SkidpadError
from ..random import streams as seeding
from ..run.runner import PRECISIONS
from . import cuda_engine, environments
from .cuda_engine import CudaEngine
from .environments import Environments, Stepped, held_by
from .episodes import ACTION, DIVERGED, OVER, START, Rules
from .programs import compile_task, invalid_action

LIBRARIES = ("cupy", "torch", "jax")


class CudaEnvironments(Environments):
    """Environments on a CUDA device; `Environments` creates them for `device="cuda"`.

    `Stepped.ended` is a mask (B,) of the environments that restarted in this call, and
    `final_observation` is (B, n), valid in those rows (only for "same_step"): their number is not
    known without waiting. With JAX, whose arrays are immutable, results are copies.

    Args:
        task, count, autoreset, precision, on_diverge: as in `Environments`.
        device: "cuda".
        threads: None.
        library: "cupy", "torch" or "jax": array library of the results of `reset`, and of steps
            whose actions are on the host.
    """

    def __init__(
        self,
        task: Any,
        count: int = 1,
        *,
        autoreset: str = "next_step",
        precision: str = "float32",
        device: str = "cuda",
        threads: int | None = None,
        on_diverge: str = "raise",
        library: str = "cupy",
    ) -> None:
        one_of("device", device, ("cuda",))
        if threads is not None:
            raise InvalidValue(f"threads = {threads} applies to the CPU only; omit it")
        self._take_settings(task, count, autoreset, on_diverge)
        one_of("library", library, LIBRARIES)
        one_of("precision", precision, PRECISIONS)
        self._library = library
        self.programs = compile_task(task)
        self.engine: Any = CudaEngine(
            self.programs, len(self), precision, Rules.of(autoreset, on_diverge, task)
        )
        self.steps = self.engine.steps
        """Control periods since the start of each episode, (B,)."""
        self._watch = Watch(self.engine.xp, self.engine.fault)
        self._reported: SkidpadError | None = None
        self._begun = self._closed = False
        self._results: dict[str, Stepped] = {}

    @property
    def state(self) -> Any:
        """Copy of the vehicle states on the device, (B, n)."""
        size = record.size(self.task.vehicle.model.State)
        return self.engine.x[0, :, :size].copy()

    @property
    def progress(self) -> Any:
        """See `Environments.progress`; an array on the device, in the environments' precision."""
        self._check_has_tracks()
        return self.engine.m[0, :, 1].copy()

    def __getattr__(self, name: str) -> Any:
        if name in ("info", "ends"):
            raise InvalidValue(
                f"environments on a GPU have no {name}: laps and reasons of ends would wait for "
                "the device; read progress, or use device = 'cpu'"
            )
        raise AttributeError(f"CudaEnvironments has no attribute {name!r}")

    def held(self) -> dict[str, Any]:
        names = ("seeds", "episodes", "periods", "steps", "over")
        counters = {name: getattr(self.engine, name) for name in names}
        return {**held_by(self.engine, self.task), **counters}

    def reset(
        self,
        seed: int | Sequence[int] | None = None,
        mask: Any = None,
        given: Mapping[str, Any] | None = None,
    ) -> Any:
        """Like `Environments.reset`, but without `given`; waits for the device and raises errors of
        earlier calls."""
        self._must_be_open()
        if given:
            raise InvalidValue("given is for device = 'cpu': on a GPU all parameters are sampled")
        chosen = self._chosen(mask)
        if not self._begun and mask is not None:
            raise InvalidValue(environments.none_begun(self.masked_reset))
        if self._reported is None:
            self.check()
        self._reported = None
        with self._stream(self._library):
            if seed is not None or not self._begun:
                self._seed(seeding.fresh() >> 1 if seed is None else seed, chosen)
            self.engine.begin(chosen)
            self._watch.look()
        self.check()
        self._begun = True
        return self._converted(self._library).observation

    def step(self, actions: Any) -> Stepped:
        """Advance all environments by one control period; see the module docstring for errors.

        Args:
            actions: (B, n) in the order of the fields of the task's `Action`, on the device in the
                precision of the environments; values beyond their bounds are clipped.
        """
        self._must_be_open()
        if not self._begun:
            raise InvalidValue(environments.NOT_BEGUN)
        self._raise_reported()
        array = actions.detach() if getattr(actions, "requires_grad", False) else actions
        there = isinstance(array, self.engine.xp.ndarray) or gpu.is_on_device(array)
        library = _library_of(array) if there else self._library
        with self._stream(library):
            self.engine.step(self._taken(array))
            self._watch.look()
            return self._converted(library)

    def check(self) -> None:
        """Wait for the device and raise any error it has reported."""
        self._watch.wait()
        self._raise_reported()

    def _taken(self, actions: Any) -> Any:
        xp, engine = self.engine.xp, self.engine
        known = isinstance(actions, xp.ndarray) and actions.dtype == engine.dtype
        try:
            array = actions if known else gpu.device_array("actions", actions, engine.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, SkidpadError):
                raise
            raise InvalidValue(f"actions must be an array of numbers: {error}") from error
        if array.shape != engine.a.shape[1:]:
            raise InvalidValue(f"actions have shape {array.shape}; expected {engine.a.shape[1:]}")
        return xp.ascontiguousarray(array)

    def _stream(self, library: str) -> Any:
        """Current stream of a library, on which its work is launched in order."""
        if library != "torch":
            return nullcontext()
        cuda = self.engine.xp.cuda
        pointer = import_module("torch").cuda.current_stream().cuda_stream
        if pointer == cuda.get_current_stream().ptr:
            return nullcontext()
        # CuPy 14 wants the protocol of streams in place of an address.
        known = getattr(cuda.Stream, "from_external", None)
        return cuda.ExternalStream(pointer) if known is None else known(_Stream(pointer))

    def _converted(self, library: str) -> Stepped:
        """Current results as arrays of a library; copies in the case of JAX."""
        if library in self._results:
            return self._results[library]
        engine = self.engine
        numbers = [engine.observation, engine.reward, engine.last_observation]
        flags = [engine.terminated, engine.truncated, engine.again]
        if not engine.rules.same_step:
            numbers[2] = engine.observation[:0]
        if library == "jax":
            numbers, flags = ([array.copy() for array in group] for group in (numbers, flags))
        kind = import_module(_DLPACK[library]).from_dlpack if library in _DLPACK else _itself
        observation, reward, last = (kind(array) for array in numbers)
        terminated, truncated, again = (_truths(kind(flag), library) for flag in flags)
        stepped = Stepped(observation, reward, terminated, truncated, again, last)
        if library != "jax":
            self._results[library] = stepped
        return stepped

    def _seed(self, seed: int | Sequence[int], chosen: AnyArray) -> None:
        engine, xp = self.engine, self.engine.xp
        rows = xp.asarray(self._seeds_of(seed))
        where = xp.asarray(chosen)
        engine.seeds[where] = rows[where]
        engine.episodes[where] = engine.periods[where] = 0

    def _raise_reported(self) -> None:
        if self._reported is None:
            word = self._watch.word
            if word == cuda_engine.NONE:
                return
            self._watch.wait()
            self._reported = self._error(self._watch.word)
        raise self._reported

    def _error(self, word: int) -> SkidpadError:
        engine, field = self.engine, word & 0xFFFF
        what, k = word >> 48, word >> 16 & 0xFFFFFFFF
        if what == OVER:
            return InvalidValue(
                environments.has_ended(self.task, k, self.worlds, self.masked_reset)
            )
        if what == ACTION:
            return invalid_action(self.task, k, field, float(engine.a[0, k, field]))
        if what == START:
            return InvalidValue(environments.touching(self.task, k, self.engine.motion_of(k)))
        steps, details = int(engine.steps[k]), self._last(k, np.array([k]))
        if what == DIVERGED:
            return SimulationDiverged(environments.diverged(self.task, k, steps + 1), **details)
        if field == engine.width:
            return SimulationDiverged(
                environments.reward_not_finite(self.task, k, steps), **details
            )
        value = float(engine.observation[k, field])
        return SimulationDiverged(
            environments.not_finite(self.task, k, field, value, steps), **details
        )


class Watch:
    """Asynchronous copy of the device's error word on the host."""

    def __init__(self, xp: Any, fault: Any) -> None:
        self._xp, self._fault = xp, fault
        self._memory = xp.cuda.alloc_pinned_memory(8)
        self._seen = np.frombuffer(self._memory, np.uint64, 1)
        self._seen[0] = cuda_engine.NONE

    def look(self) -> None:
        """Copy the word after all work launched on the current stream."""
        self._fault.data.copy_to_host_async(self._seen.ctypes.data, 8)

    @property
    def word(self) -> int:
        """Word of the last completed copy."""
        return int(self._seen[0])

    def wait(self) -> None:
        """Wait until the current word has been copied."""
        self._xp.cuda.Device().synchronize()
        self._seen[0] = int(self._fault[0])


def _itself(array: Any) -> Any:
    return array


class _Stream(NamedTuple):
    """Stream given by its address, for exchange between array libraries."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def _library_of(array: Any) -> str:
    name = type(array).__module__.partition(".")[0]
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax"}.get(name, "cupy")


_DLPACK = {"torch": "torch", "jax": "jax.dlpack"}
"""Module of each library that has `from_dlpack`."""


def _truths(flags: Any, library: str) -> Any:
    if library == "torch":
        return flags.view(import_module("torch").bool)
    return flags.astype(bool) if library == "jax" else flags.view(np.bool_)
