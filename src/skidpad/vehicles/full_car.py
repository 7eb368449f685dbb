"""`full_car`: `two_track` on independent suspensions, with 14 degrees of freedom.

The body heaves, rolls and pitches, each wheel moves up and down and spins, and all of it drives:
over bumps, kerbs and crests, too. Every other part is as of `two_track`. Slip is a state unless
told otherwise, so that the car stands where it is braked. Equations: docs/vehicles.md.

    full_car()                                        # a compact car
    full_car("sports")                                # a car of a parameter set, with estimates
    full_car(chassis=independent_suspension(front=corner(spring=ProgressiveSpring())))
    full_car(tyre=T, road=Road.iso8608("C", length=200.0, seed=1))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import record
from ..components.independent_suspension import IndependentSuspension, independent_suspension
from ..components.spinning_wheel import FirstOrderSlip
from ..errors import InvalidValue
from ..model import Vehicle
from .full_car_sets import estimated_slip, estimated_suspension
from .two_track import TwoTrackFactory, car_model
from .two_track_records import DEFAULT_TYRES, Parts

__all__ = ["IndependentSuspension", "full_car", "independent_suspension"]

DEFAULT = independent_suspension()


@dataclass(frozen=True, repr=False)
class FullCarFactory(TwoTrackFactory):
    """Makes cars on independent suspensions: `full_car(front=T1, rear=T2, m=1300.0)`."""

    def __call__(self, params: Any = None, /, **values: Any) -> Vehicle:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `chassis` is an `independent_suspension`; all other parts are those that `two_track` takes.
        `params` may be the name of a parameter set, whose suspension is an estimate.
        """
        if isinstance(params, str):
            own = {"chassis": estimated_suspension(params), "slip": estimated_slip(params)}
        elif record.is_record_type(type(params)):
            own = {"chassis": getattr(params, "chassis", DEFAULT)}
        else:
            own = {"chassis": DEFAULT, "slip": FirstOrderSlip()}
        values = own | values
        if "z_fl" not in getattr(getattr(values["chassis"], "States", None), "_fields", ()):
            kind = type(values["chassis"]).__name__
            raise InvalidValue(
                f"chassis of a full_car must be an independent_suspension, got a {kind}; with "
                "another chassis it is a two_track"
            )
        return super().__call__(params, **values)


full_car = FullCarFactory(
    car_model(
        "full_car",
        Parts(slip=FirstOrderSlip, chassis=type(DEFAULT).recipe),
        *map(type, DEFAULT_TYRES),
    )
)
