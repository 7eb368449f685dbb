"""Conformance checks: properties that every vehicle must have, built-in or the user's own.

    report = skidpad.testing.check(my_vehicle())
    report.raise_if_failed()

`checks()` lists them; docs/bodies.md describes each one. A check is a pure function from a
`Subject`, the vehicle under test with sampled states, to a list of faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..core import record
from ..core.model import Model, Vehicle, VehicleFactory
from ..errors import InvalidValue, MissingExtra
from .body import driving, motion, rest, shape, standing
from .equations import dimensions, energy, frame, gradients, mirror, purity
from .subject import ConformanceError, NotApplicable, Report, Result, Subject

__all__ = ["ConformanceError", "check", "checks"]

_CHECKS: dict[str, Callable[[Subject], list[str]]] = {
    "purity": purity, "mirror": mirror, "frame": frame, "gradients": gradients,
    "dimensions": dimensions, "energy": energy, "rest": rest, "motion": motion, "shape": shape,
    "driving": driving, "standing": standing,
}  # fmt: skip


def checks() -> tuple[str, ...]:
    """Names of the checks, in the order in which they run."""
    return tuple(_CHECKS)


def check(
    vehicle: Vehicle | VehicleFactory | Model, names: Iterable[str] | None = None, seed: int = 0
) -> Report:
    """Run all checks, or those in `names`, on a vehicle and report the results.

    States and inputs are sampled from streams keyed by `seed` and the name of the field, so the
    report is reproducible. Checks from which the model is exempt are run too; their results show
    whether the exemptions are still needed.
    """
    wanted = checks() if names is None else tuple(names)
    record.check_names("conformance", wanted, checks(), "check")
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
