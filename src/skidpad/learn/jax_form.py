"""Environments as pure functions for JAX: `reset(key)` and `step(state, action)`.

    env = functional(task, 1024)
    state, observation = env.reset(jax.random.key(0))
    state, observation, reward, terminated, truncated = env.step(state, action)

On the CPU a step is a `jax.pure_callback`: it works in `jit`, `scan` and `vmap`. A `jax.ffi` custom
call would save one copy of the state, but needs a library built against the headers of jaxlib,
whereas our kernels are compiled once the task is known. On a GPU a callback would go through the
host; there the functions are called outside of `jit`, and arrays are exchanged by DLPack without
leaving the device. A step has no derivative: contacts and ends of episodes are discontinuous, and
its kernels are compiled for numbers only. For gradients use `Fleet.gradient` or `vehicle.jax()`.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from ..core.checks import one_of, whole
from ..errors import InvalidValue, TraceError, require
from ..random import streams as seeding
from .environments import Environments

_LOW = 0xFFFFFFFF
Held = dict[str, Any]
"""State of the environments: all arrays that the next step depends on, by name."""


def functional(
    task: Any,
    count: int = 1,
    *,
    autoreset: str = "next_step",
    precision: str = "float32",
    device: str = "cpu",
    threads: int | None = None,
    on_diverge: str = "end",
) -> FunctionalEnvironments:
    """Environments of a task as pure functions of JAX arrays.

    Args:
        task, count, autoreset, precision, device, threads: as in `Environments`.
        on_diverge: "end" by default, as JAX wraps the exceptions of a callback.
    """
    jax = require("jax", purpose="environments as functions")
    if precision == "float64" and not jax.config.jax_enable_x64:
        raise InvalidValue(
            "precision = 'float64' needs jax.config.update('jax_enable_x64', True) first"
        )
    one_of("device", device, ("cpu", "cuda"))
    options: dict[str, Any] = {"library": "jax"} if device == "cuda" else {"threads": threads}
    environments = Environments(
        task, count, autoreset=autoreset, precision=precision, device=device,
        on_diverge=on_diverge, **options,
    )  # fmt: skip
    return FunctionalEnvironments(environments, jax, device)


def _refused(*_: Any) -> Any:
    """Derivative of a step for JAX; always raises."""
    raise TraceError(
        "gradients do not flow through environments: step() of skidpad.learn.functional was "
        "differentiated. If actions only choose what is driven, as in a policy gradient, put "
        "jax.lax.stop_gradient(action) into step(). Derivatives of a drive are those of "
        "Fleet.gradient; equations of a vehicle that JAX differentiates are vehicle.jax()"
    )


class FunctionalEnvironments:
    """Pure functions that reset and step environments; created by `functional`.

    The state is a dictionary of arrays whose first axis is the environment. The same state and
    action give the same result as `Environments`, bit for bit.
    """

    def __init__(self, environments: Environments, jax: Any, device: str) -> None:
        self.environments = environments
        """Environments that compute the steps; results do not depend on their own state."""
        self._jax, self._host = jax, device == "cpu"
        # Steps of several threads take turns.
        self._lock = Lock()
        observation = environments.reset(seed=0)
        shape = jax.ShapeDtypeStruct
        rows, dtype = len(environments), environments.engine.dtype
        held = {n: shape(a.shape, a.dtype) for n, a in self._kept().items()}
        seen = shape(observation.shape, dtype)
        truths = shape((rows,), np.bool_)
        self._begun = held, seen
        self._differentiated = jax.custom_jvp(self._callback)
        self._differentiated.defjvp(_refused)
        self._stepped = held, seen, shape((rows,), dtype), truths, truths

    def reset(self, key: Any) -> tuple[Held, Any]:
        """State and observations (B, n) of new episodes.

        Args:
            key: a `jax.random` key or an integer, from which the seed of `Environments.reset` is
                made.
        """
        words = self._words(key)
        if not self._host:
            return self._reset(np.asarray(words))
        return self._jax.pure_callback(self._reset, self._begun, words, vmap_method="sequential")

    def step(self, state: Held, action: Any) -> tuple[Held, Any, Any, Any, Any]:
        """State, observations (B, n), rewards, terminated and truncated (B,) after a control
        period.

        Args:
            state: result of `reset` or `step`; it is not modified.
            action: (B, n), as in `Environments.step`.
        """
        if not self._host:
            if isinstance(action, self._jax.core.Tracer):
                raise InvalidValue("on a GPU environments are stepped outside of jit and grad")
            return self._step(state, action)
        return self._differentiated(state, action)

    def _callback(self, state: Held, action: Any) -> Any:
        return self._jax.pure_callback(
            self._step, self._stepped, state, action, vmap_method="sequential"
        )

    def _words(self, key: Any) -> Any:
        """A key as two 32-bit words, the high word first."""
        jax = self._jax
        if isinstance(key, int):
            seed = seeding.checked(key) & (2**63 - 1)
            return np.array([seed >> 32, seed & _LOW], np.uint32)
        if isinstance(key, jax.Array) and jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key):
            return jax.random.key_data(key).reshape(-1)[-2:]
        array = jax.numpy.asarray(key)
        if array.shape == (2,) and array.dtype == np.uint32:
            return array
        if array.shape == () and jax.numpy.issubdtype(array.dtype, np.integer):
            low = array.astype(np.uint32)
            return jax.numpy.stack([jax.numpy.zeros_like(low), low])
        raise InvalidValue(
            f"key = {key!r:.60} must be a key of jax.random or a whole number, not negative"
        )

    def _reset(self, words: Any) -> Any:
        high, low = (int(word) for word in np.asarray(words))
        with self._lock:
            seed = whole("seed", (high << 32 | low) & (2**63 - 1), least=None)
            observation = self.environments.reset(seed=seed)
            return self._kept(), self._own(observation)

    def _step(self, state: Held, action: Any) -> Any:
        with self._lock:
            self._put(state)
            array = np.asarray(action) if self._host else action
            stepped = self.environments.step(array)
            return self._kept(), *(self._own(part) for part in stepped[:4])

    def _own(self, array: Any) -> Any:
        # Those of a device are JAX's own already.
        return np.array(array) if self._host else array

    def _kept(self) -> Held:
        """State for JAX: 64-bit words as pairs of 32-bit words, the low word first."""
        kept: Held = {}
        for name, array in self.environments.held().items():
            if array.dtype == np.uint64:
                own = array.copy().view(np.uint32).reshape(-1, 2)
            else:
                own = array.astype(np.int32) if array.dtype == np.int64 else array.copy()
            kept[name] = own if self._host else self._jax.dlpack.from_dlpack(own)
        return kept

    def _put(self, state: Held) -> None:
        for name, array in self.environments.held().items():
            source = np.asarray(state[name]) if self._host else self._there(state[name])
            if array.dtype == np.uint64:
                source = source.copy().view(np.uint64).reshape(-1)
            array[...] = source

    def _there(self, array: Any) -> Any:
        engine: Any = self.environments.engine
        return engine.xp.from_dlpack(array)
