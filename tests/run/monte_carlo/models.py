"""A mass on a line, so that everything has a closed form."""

from __future__ import annotations

from typing import Any, NamedTuple

import skidpad as sp
from skidpad.core.model import Model, VehicleFactory


class State(NamedTuple):
    x: float = 0.0
    v: float = 0.0


class Input(NamedTuple):
    a: float = 0.0


class Wind(NamedTuple):
    a: float = 0.0


class Params(NamedTuple):
    gain: float = 1.0


def derivative(x: State, u: Input, w: Wind, p: Params) -> State:
    return State(x.v, p.gain * (u.a + w.a))


mass = VehicleFactory(Model("mass", State, Input, Params, derivative=derivative, Disturbance=Wind))


class Explosive(NamedTuple):
    x: float = 0.0


def blow_up(x: Explosive, u: Input, w: Wind, p: Params) -> Explosive:
    return Explosive(x.x * x.x * p.gain + 0.0 * u.a + w.a)


explosive = VehicleFactory(
    Model("explosive", Explosive, Input, Params, derivative=blow_up, Disturbance=Wind)
)


class Slow(NamedTuple):
    gain: float = 1.0
    delay: float = 0.3


def pushed(x: Explosive, u: Input, w: Wind, p: Slow) -> Explosive:
    return Explosive(x.x * x.x * p.gain + u.a + w.a)


late = VehicleFactory(
    Model(
        "late",
        Explosive,
        Input,
        Slow,
        derivative=pushed,
        Disturbance=Wind,
        dead_times={"a": "delay"},
    )
)


def holding(k: float) -> Any:
    """A policy that brakes in proportion to the speed that it sees."""

    class Gains(NamedTuple):
        k: float = 1.0

    def act(x: State, p: Gains) -> Input:
        return Input(-p.k * x.v)

    return sp.Policy(act, Params=Gains, params={"k": k})
