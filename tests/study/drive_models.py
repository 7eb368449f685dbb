"""A mass on a line, so that everything has a closed form, and one that blows up."""

from __future__ import annotations

from typing import Any, NamedTuple

import skidpad as sp
from skidpad import ops
from skidpad.core.model import Model, VehicleFactory
from skidpad.study.experiment import Rows
from skidpad.units import m, m_s, m_s2, one, per_s


class State(NamedTuple):
    x: m = 0.0
    v: m_s = 0.0


class Input(NamedTuple):
    a: m_s2 = 0.0


class Wind(NamedTuple):
    a: m_s2 = 0.0


class Params(NamedTuple):
    gain: one = 1.0


def derivative(x: State, u: Input, w: Wind, p: Params) -> State:
    return State(x.v, p.gain * (u.a + w.a))


mass = VehicleFactory(Model("mass", State, Input, Params, derivative=derivative, Disturbance=Wind))


class Explosive(NamedTuple):
    x: one = 0.0


def blow_up(x: Explosive, u: Input, w: Wind, p: Params) -> Explosive:
    return Explosive(x.x * x.x * p.gain + u.a)


explosive = VehicleFactory(Model("explosive", Explosive, Input, Params, derivative=blow_up))


class Slow(NamedTuple):
    gain: one = 1.0
    delay: one = 0.3


def pushed(x: State, u: Input, w: Wind, p: Slow) -> State:
    return State(x.v, p.gain * (u.a + w.a))


late = VehicleFactory(
    Model(
        "late",
        State,
        Input,
        Slow,
        derivative=pushed,
        Disturbance=Wind,
        dead_times={"a": "delay"},
    )
)


class Memory(NamedTuple):
    integral: m = 0.0


class Target(NamedTuple):
    v: m_s = 0.0


class Gains(NamedTuple):
    k: per_s = 1.0
    k_i: per_s = 0.1


def act(x: State, m: Memory, r: Target, p: Gains, dt: float) -> Any:
    error = r.v - x.v
    return Input(p.k * error + p.k_i * m.integral), Memory(m.integral + error * dt)


HOLDING = sp.Policy(act, Memory, Target, Gains, name="holding")


def fast(x: State, u: Input) -> Any:
    return ops.abs(x.v) + 0.0 * u.a


def rows(count: int, seed: int = 0, begin: int = 0, **factors: Any) -> Rows:
    import numpy as np

    named = {name.replace("__", "."): np.asarray(v, float) for name, v in factors.items()}
    return Rows(np.arange(begin, begin + count), named, seed)
