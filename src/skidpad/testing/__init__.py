"""Conformance checks: properties that every vehicle must have, shipped or your own.

    report = skidpad.testing.check(my_vehicle())
    report.raise_if_failed()

`checks()` lists them; docs/bodies.md says what each one does. A check is a pure function from
a `Subject`, the vehicle under test with sampled states, to the faults that it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..core import record
from ..core.model import Model, Vehicle, VehicleFactory
from ..errors import InvalidValue, MissingExtra
from .body import driving, shape
from .dimensions import dimensions
from .invariance import frame, mirror, purity, rest, standing
from .physics import energy, gradients, motion
from .subject import ConformanceError, NotApplicable, Report, Result, Subject

__all__ = ["ConformanceError", "check", "checks"]

_CHECKS: dict[str, Callable[[Subject], list[str]]] = {
    "purity": purity,
    "mirror": mirror,
    "frame": frame,
    "gradients": gradients,
    "dimensions": dimensions,
    "energy": energy,
    "rest": rest,
    "motion": motion,
    "shape": shape,
    "driving": driving,
    "standing": standing,
}


def checks() -> tuple[str, ...]:
    """Names of the checks, in the order they run."""
    return tuple(_CHECKS)


def check(
    vehicle: Vehicle | VehicleFactory | Model, names: Iterable[str] | None = None, seed: int = 0
) -> Report:
    """Run the checks (all, or the named ones) on a vehicle and report on each.

    States and inputs are sampled from streams keyed by `seed` and the name of the field, so the
    report is reproducible. A check that the model is exempt from is run too: its result says
    whether the exemption is still needed.
    """
    wanted = checks() if names is None else tuple(names)
    for name in wanted:
        if name not in _CHECKS:
            raise InvalidValue(record.unknown_name("conformance", name, checks(), "check"))
    if isinstance(vehicle, Model):
        vehicle = VehicleFactory(vehicle)
    if isinstance(vehicle, VehicleFactory):
        vehicle = vehicle()
    if not isinstance(vehicle, Vehicle):
        raise InvalidValue(
            f"conformance.check takes a Vehicle, a vehicle factory or a Model, got {vehicle!r}"
        )
    subject = Subject(vehicle, seed)
    return Report(subject.name, tuple(_result(subject, name) for name in wanted))


def _result(subject: Subject, name: str) -> Result:
    reason = subject.model.exempt.get(name)
    try:
        faults = _CHECKS[name](subject)
    except (NotApplicable, MissingExtra) as absent:
        if reason is None:
            return Result(name, "not applicable", str(absent))
        faults = []
    except Exception as error:
        # Any exception of a model function is a fault of the model, reported with the others.
        faults = [f"raised {type(error).__name__}: {error}"]
    detail = "\n".join(faults)
    if reason is not None:
        return Result(name, "exempt", detail, reason)
    return Result(name, "failed" if faults else "passed", detail)
