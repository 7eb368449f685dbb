"""`formula_student`: the default car, one model from standstill to the limit.

It is `two_track` with the parameter set of that name: a driverless electric car with a motor at
each wheel, 80 kW for all of them, and slip that builds up over the relaxation lengths of its tyres,
so that it can stand still and explicit integrators can be used.

    formula_student(m=240.0)                      # as `two_track("formula_student", m=240.0)`

The numbers and their sources are in `sets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_type_hints

from ...core.body import Geometry
from ...core.model import Model, Vehicle, VehicleFactory, built_once
from ...core.plausibility import postponed
from ...errors import InvalidValue
from ..formula import open_wheeler
from ..parts.assembly import redefined
from . import body
from .model import two_track

NAME = "formula_student"


def geometry(p: Any) -> Geometry:
    """Tub and wings about the wheels of `two_track`."""
    outlines = open_wheeler(p.l_f, -p.l_r, 0.5 * (p.track_f + p.track_r))
    return replace(body.geometry(p), outlines=outlines)


@built_once
def _named(model: Model) -> Model:
    """The model of a `two_track` with the name, the numbers and the looks of this car."""
    assert model.body is not None
    hints = get_type_hints(model.Params, include_extras=True)
    own = {
        name: value
        for name, value in two_track(NAME).params._asdict().items()
        if name in hints and type(value) in (float, hints[name])
    }
    text = "A Formula Student car within the rules; sources: `twin_track.sets`."
    return replace(
        model,
        name=NAME,
        Params=redefined(model.Params, defaults=own, doc=text),
        body=replace(model.body, geometry=geometry),
        summary="The default car: one model from standstill to the limit",
    )


class FormulaStudentFactory(VehicleFactory):
    """Makes Formula Student cars: `formula_student(m=240.0)`."""

    def __call__(self, params: Any = None, /, **values: Any) -> Vehicle:
        """A car of the set `formula_student`, changed as a `two_track` is."""
        if isinstance(params, str):
            raise InvalidValue(
                f"{NAME} is a parameter set, and {params!r} another: two_track has it"
            )
        with postponed():
            if params is None or isinstance(params, Mapping):
                car = two_track(NAME, **{**(params or {}), **values})
            else:
                car = two_track(params, **values)
        model = _named(car.model)
        return Vehicle(model, model.Params(*car.params))


formula_student = FormulaStudentFactory(_named(two_track(NAME).model))
