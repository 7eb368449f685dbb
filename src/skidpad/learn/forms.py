"""Other forms of a task: a trained network as a policy, and environments as functions for JAX.

`task_policy` joins a network with the observation and the action of its task. This policy drives as
in the environments of the task wherever policies run: in `Fleet.rollout`, Monte Carlo studies,
campaigns, replays and gradients.

`functional` makes the pure functions `reset(key)` and `step(state, action)` for JAX:

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

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from ..control.networks.network import Network
from ..core import record
from ..core.body import body_of
from ..core.checks import one_of, whole
from ..core.model import Constant
from ..core.policy import Policy
from ..errors import InvalidValue, TraceError, require
from ..ops import clip
from ..random import streams as seeding
from ..units import one
from .course import Courses, PlaceMemory, place_of
from .environments import Environments
from .programs import scaled_observation
from .task import Task, units_of


def task_policy(task: Task, network: Network, *, track: int = 0, name: str = "learned") -> Policy:
    """Policy of a network that was trained on a task, compiled with the vehicle.

    Args:
        task: task of the training, without a lidar and for one vehicle.
        network: maps the observation of the environments to the action. Its first outputs are the
            action, in order, clipped to the bounds.
        track: index of the task's track to drive on.
        name: name of the policy.

    The policy's memory starts at the beginning of the track: set `memory.place.s` in m if the
    vehicle starts elsewhere on it. The policy's step is the task's control period.
    """
    if task.lidar is not None:
        raise InvalidValue(
            f"task {task.name!r} has a lidar, which cannot be compiled into a loop; drive its "
            "environments instead"
        )
    if task.agents > 1:
        raise InvalidValue(f"task {task.name!r} has {task.agents} agents; a policy drives one")
    law = LearnedDriver(task, network, track)
    return Policy(law, Memory=law.Memory, Params=law.Params, params=law.params, name=name)


class LearnedDriver(Constant):
    """Control law of `task_policy`: a function of state, memory, parameters and step."""

    def __init__(self, task: Task, network: Network, track: int) -> None:
        self._task, self._network, self._track = task, network, track
        seen, done = record.size(task.Observation), record.size(task.Action)
        if network.inputs != seen or network.outputs < done:
            raise InvalidValue(
                f"the network takes {network.inputs} numbers and gives {network.outputs}; task "
                f"{task.name!r} needs one that takes {seen} and gives at least {done}"
            )

    @cached_property
    def _courses(self) -> Courses | None:
        task = self._task
        reach = max(unit.radius for unit in units_of(task.vehicle))
        return Courses(task.tracks, reach) if task.tracks else None

    @cached_property
    def Memory(self) -> Any:
        """Record of the place on the track, the memories of task and network, the last action."""
        task = self._task
        still = record.unflatten(task.Action, [0.0] * record.size(task.Action))
        hidden = record.define(
            "Hidden", {f"h_{k}": one for k in range(self._network.hidden)},
            {f"h_{k}": 0.0 for k in range(self._network.hidden)}, doc="Memory of a network.",
        )  # fmt: skip
        fields: dict[str, Any] = {"place": PlaceMemory(), "task": task.Memory(), "hidden": hidden(),
                                  "action": still}  # fmt: skip
        return record.define(
            "Memory", {name: type(value) for name, value in fields.items()}, fields,
            doc="Memory of a learned driver.",
        )  # fmt: skip

    @property
    def Params(self) -> Any:
        """Record of the training vehicle's parameters, the task's parameters and the track."""
        return type(self.params)

    @cached_property
    def params(self) -> Any:
        task = self._task
        values: dict[str, Any] = {"car": task.vehicle.params, "q": task.params}
        if self._courses is not None:
            values["course"] = self._courses.records[self._track]
        kind = record.define(
            "Params", {name: type(value) for name, value in values.items()}, values,
            doc="Parameters of a learned driver.",
        )  # fmt: skip
        return kind()

    def __call__(self, x: Any, m: Any, p: Any, dt: Any) -> tuple[Any, Any]:
        """Input for the coming control period, and the memory after it."""
        task, body = self._task, body_of(self._task.vehicle, "a policy")
        acting = {"x": x, "a": m.action, "p": p.car, "q": p.q, "dt": dt}
        u = task.called("act", acting)
        known: dict[str, Any] = {
            **acting, "u": u, "m": m.task, "pose": body.pose(x, p.car),
            "velocity": body.velocity(x, u, p.car), "contact": 0.0, "time": 0.0, "others": (),
            "e": _Quiet(task.noise),
        }  # fmt: skip
        place = m.place
        if self._courses is not None:
            known["place"], place = place_of(p.course, place, known["pose"], known["velocity"])
        outputs, hidden = self._network.step(scaled_observation(task, known), tuple(m.hidden))
        leaves = [leaf.allowed for leaf in record.fields(task.Action)]
        action = record.unflatten(task.Action, [
            clip(value, a.low, a.high) if a else value
            for value, a in zip(outputs, leaves, strict=False)
        ])  # fmt: skip
        known["a"] = action
        kept = m.task if task.remember is None else task.called("remember", known)
        u = task.called("act", {**acting, "a": action})
        return u, self.Memory(place, kept, type(m.hidden)(*hidden), action)


class _Quiet:
    """Observation noise of a task, all zero."""

    def __init__(self, noise: Mapping[str, Any]) -> None:
        self._noise = noise

    def __getattr__(self, name: str) -> float:
        if name.startswith("_") or name not in self._noise:
            raise AttributeError(name)
        return 0.0


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
        # The lock lets only one thread step at a time.
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
        # Arrays on a device are JAX's own already.
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
