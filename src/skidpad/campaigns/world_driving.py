"""What drives the vehicles of a world in a campaign.

`drive` is a function of the world and the time, called before every step, or says for vehicles by
name what each does:

* a mapping of inputs, held from the start on;
* a `Wish`, which is turned into inputs at every step;
* a `Controlled`, which makes a controller of the vehicle at the start of a run:
  `Controlled(stanley.policy, (path,))`; or a `Policy` whose function can be imported;
* a function of the vehicle and the time.

A class in place of a function is made anew for every run, so that what it remembers is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..body import Wish
from ..brief import brief_repr
from ..errors import InvalidValue
from ..policy import Policy
from ..record import is_record_type, unknown_name
from ..signature import Constant
from ..world.handle import WorldVehicle
from ..world.world import World
from .functions import function_identity
from .identities import plain

Pilot = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Controlled(Constant):
    """A controller that is made for the vehicle of a run."""

    make: Callable[..., Policy]
    """Called with the vehicle, these arguments and settings: `controllers.stanley.policy`."""
    arguments: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reference: Any = None
    """What the policy is told: a record or mapping, or a function of time that returns one."""

    __repr__ = brief_repr


def pilots(drive: Any, world: World) -> list[Pilot]:
    """What is to be called with the time before every step of a run; commands that are held are
    given here."""
    if drive is None:
        return []
    if not isinstance(drive, Mapping):
        act = drive() if isinstance(drive, type) else drive
        return [lambda t: act(world, t)]
    candidates = (_pilot(one, world.vehicles[name], world) for name, one in drive.items())
    return [pilot for pilot in candidates if pilot is not None]


def _pilot(one: Any, vehicle: WorldVehicle, world: World) -> Pilot | None:
    if isinstance(one, Wish):
        return lambda t: vehicle.drive(one)
    if isinstance(one, Mapping) or is_record_type(type(one)):
        vehicle.command(one)
        return None
    if isinstance(one, (Policy, Controlled)):
        policy, told = (
            (one, None) if isinstance(one, Policy) else (_made(one, vehicle), one.reference)
        )
        control = policy.controller(world.dt, reference=told)
        return lambda t: vehicle.command(control(t, vehicle.state))
    act = one() if isinstance(one, type) else one
    return lambda t: act(vehicle, t)


def _made(one: Controlled, vehicle: WorldVehicle) -> Policy:
    return one.make(vehicle.vehicle, *one.arguments, **one.settings)


def check_drive(drive: Any, world: World) -> None:
    """Raise for vehicles that are not there and for what cannot drive one."""
    if drive is None or (callable(drive) and not isinstance(drive, Mapping)):
        return
    if not isinstance(drive, Mapping):
        raise InvalidValue(
            f"drive must be a function of the world and the time or say for vehicles by name what "
            f"each does, got {drive!r}"
        )
    for name, one in drive.items():
        if name not in world.vehicles:
            raise InvalidValue(unknown_name("drive", str(name), tuple(world.vehicles), "vehicle"))
        record = isinstance(one, Mapping) or is_record_type(type(one))
        if not (record or callable(one) or isinstance(one, (Policy, Controlled))):
            raise InvalidValue(
                f"drive of {name} must be inputs, a Wish, a Controlled, a Policy or a function, "
                f"got {one!r}"
            )


def drive_identity(drive: Any) -> Any:
    """What drives, as plain values."""
    if drive is None:
        return None
    if not isinstance(drive, Mapping):
        return function_identity("drive", drive)
    return {name: _identity(f"drive of {name}", one) for name, one in sorted(drive.items())}


def _identity(what: str, one: Any) -> Any:
    if isinstance(one, Policy):
        act = function_identity(what, one.act)
        return {"policy": one.name, "params": plain(one.params), "act": act}
    if isinstance(one, Controlled):
        told = one.reference
        return {
            "made_by": function_identity(what, one.make),
            "arguments": plain(one.arguments),
            "settings": plain(one.settings),
            "reference": function_identity(what, told) if callable(told) else plain(told),
        }
    if isinstance(one, Mapping) or is_record_type(type(one)):
        return {"inputs" if isinstance(one, Mapping) else type(one).__name__: plain(one)}
    return function_identity(what, one)
