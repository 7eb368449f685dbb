"""Properties every vehicle must have, checked on any vehicle: a shipped one or your own.

    report = skidpad.testing.check(my_vehicle())
    report.raise_if_failed()

`checks()` lists them; docs/conformance.md says what each one does. A check is a function of a
`Subject` (a vehicle with sampled states) that returns the faults it found, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..core import record
from ..core.model import Model, Vehicle, VehicleFactory
from ..errors import InvalidValue, MissingExtra
from .dimensions import dimensions
from .driving import driving
from .gradients import gradients
from .invariance import frame, mirror, purity, rest, standing
from .physics import energy, motion
from .shape import shape
from .subject import ConformanceError, NotApplicable, Report, Result, Subject

__all__ = ["ConformanceError", "Report", "Result", "check", "checks"]

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
    """Run the checks (all, or those named) on a vehicle and report on each.

    States and inputs are sampled from streams keyed by `seed` and the field's name, so the same
    call gives the same report. A check that the model is exempt from is run too: its result tells
    whether the exemption is still needed.
    """
    chosen = checks() if names is None else tuple(names)
    for name in chosen:
        if name not in _CHECKS:
            raise InvalidValue(record.unknown_name("conformance", name, checks(), "check"))
    subject = Subject(_as_vehicle(vehicle), seed)
    return Report(subject.name, tuple(_result(subject, name) for name in chosen))


def _as_vehicle(subject: Vehicle | VehicleFactory | Model) -> Vehicle:
    if isinstance(subject, Model):
        subject = VehicleFactory(subject)
    if isinstance(subject, VehicleFactory):
        subject = subject()
    if not isinstance(subject, Vehicle):
        raise InvalidValue(
            f"conformance.check takes a Vehicle, a vehicle factory or a Model, got {subject!r}"
        )
    return subject


def _result(subject: Subject, name: str) -> Result:
    reason = subject.model.exempt.get(name)
    try:
        faults = _CHECKS[name](subject)
    except (NotApplicable, MissingExtra) as absent:
        if reason is None:
            return Result(name, "not applicable", str(absent))
        faults = []
    except Exception as error:
        # Whatever a model function raises is a fault of the model, to be reported with the others.
        faults = [f"raised {type(error).__name__}: {error}"]
    detail = "\n".join(faults)
    if reason is not None:
        return Result(name, "exempt", detail, reason)
    return Result(name, "failed" if faults else "passed", detail)
