"""What a driver aid is: a pure function between a driver and a car, with a memory of its own.

The contract of `Aid.adjust(x, u, m, p, dt)`:

1. `x` is the state of the car, `u` the input that the driver or the aid before asks for, `m` the
   memory of the aid, `p` its parameters and `dt` the control step in s.
2. It returns `(u, m)`: the input that goes on, and the memory after the step.
3. It is pure, as a policy is: `skidpad.ops`, no `if` on a value.

`aided(driver, *aids)` puts aids behind a driver, in their order, and is a `Policy` again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ... import record
from ...brief import brief_repr, shortened
from ...errors import InvalidValue
from ...policy import ARGUMENTS, Nothing, Policy

__all__ = ["Aid", "aided", "told"]


@dataclass(frozen=True)
class Aid:
    """A driver aid and the records that it uses; see the module text for the contract."""

    name: str
    """What its memory and its parameters are called in those of the policy."""
    adjust: Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]
    params: Any
    """Its gains and limits, a record."""
    Memory: type = Nothing
    """What it remembers from step to step, a NamedTuple; the defaults are the values at start."""

    __repr__ = brief_repr


def told(vehicle: Any) -> Policy:
    """The driver who does as told: the reference of each step is the input of the vehicle."""
    return Policy(_as_told, Reference=vehicle.Input, name="told")


def _brief(value: Any) -> str:
    return shortened(repr(value), 80)


def _as_told(r: Any) -> Any:
    return r


def aided(driver: Policy, *aids: Aid) -> Policy:
    """The driver with aids, the first of which hears the driver and the last of which the car.

    Memory and parameters are those of the driver, `driver`, and of each aid by its name:
    `policy_params={"anti_lock.slip": 0.1}` of a fleet's rollout changes an aid.
    """
    if not isinstance(driver, Policy):
        raise InvalidValue(f"driver must be a Policy, such as told(car), got {_brief(driver)}")
    for aid in aids:
        if not isinstance(aid, Aid):
            raise InvalidValue(f"aids must be of Aid, such as anti_lock(car), got {_brief(aid)}")
    names = [aid.name for aid in aids]
    if len({*names, "driver"}) <= len(names):
        raise InvalidValue(f"aids must have names of their own beside 'driver', got {names}")
    kinds = {"driver": driver.Memory} | {aid.name: aid.Memory for aid in aids}
    Memory = record.define("Memory", kinds, {name: kind() for name, kind in kinds.items()})
    kinds = {"driver": driver.Params} | {aid.name: type(aid.params) for aid in aids}
    params = (driver.params, *(aid.params for aid in aids))
    Params = record.define("Params", kinds, dict(zip(kinds, params, strict=True)))

    start = Memory()

    def act(x: Any, p: Any, dt: Any, m: Any = start, r: Any = None) -> Any:
        u, memory = driver.command(x, m.driver, r, p.driver, dt)
        memories = [memory]
        for aid in aids:
            u, memory = aid.adjust(x, u, getattr(m, aid.name), getattr(p, aid.name), dt)
            memories.append(memory)
        return (u, Memory(*memories)) if record.size(Memory) else u

    records = {"m": Memory, "r": driver.Reference, "p": Params}
    asked = [name for name in ARGUMENTS if name not in records or record.size(records[name])]
    ports = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in asked]
    # A policy may not ask for a record that is empty.
    act.__signature__ = inspect.Signature(ports)
    label = " + ".join([driver.name, *names])
    return Policy(act, Memory, driver.Reference, Params, Params(*params), label)
