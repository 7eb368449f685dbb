"""`formula_student`: the default car, one model from standstill to the limit.

It is `two_track` with the parameter set of that name: a driverless electric car with a motor at
each wheel, 80 kW for all of them, and slip behind the relaxation of its tyres, so that it holds
where it stands and explicit steps will do.

    formula_student(m=240.0)                      # as `two_track("formula_student", m=240.0)`
    formula_student(compat="0.1")                 # the model of version 0.1

Numbers and their sources: two_track_sets.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from .. import record
from ..body import Geometry
from ..errors import InvalidValue
from ..model import Model, Vehicle, VehicleFactory, built_once
from . import two_track_body
from .car_body import open_wheeler
from .car_factory import FORMER
from .car_params import UPSTREAM_C_M0
from .former_formula_student import FORMER_MODEL
from .two_track import two_track

__all__ = ["formula_student"]

NAME = "formula_student"


def geometry(p: Any) -> Geometry:
    """Tub and wings about the wheels of `two_track`."""
    outlines = open_wheeler(p.l_f, -p.l_r, 0.5 * (p.track_f + p.track_r))
    return replace(two_track_body.geometry(p), outlines=outlines)


@built_once
def _named(model: Model) -> Model:
    """The model of a `two_track` under the name, with the numbers and the looks of this car."""
    assert model.body is not None
    return replace(
        model,
        name=NAME,
        Params=_with_defaults(model.Params),
        body=replace(model.body, geometry=geometry),
        summary="The default car: one model from standstill to the limit",
    )


def _with_defaults(Params: Any) -> Any:
    """The parameters of a `two_track` with the numbers of this car, as far as they have them."""
    hints = get_type_hints(Params, include_extras=True)
    own = {
        name: value
        for name, value in two_track(NAME).params._asdict().items()
        if name in hints and type(value) in (float, hints[name])
    }
    docs = {leaf.name: leaf.doc for leaf in record.fields(Params) if "." not in leaf.name}
    docs["tyres"] = "The tyres."
    text = "A Formula Student car within the rules; sources: `two_track_sets`."
    return record.define("Params", hints, {**Params._field_defaults, **own}, docs, text)


@dataclass(frozen=True, repr=False)
class FormulaStudentFactory(VehicleFactory):
    """Makes Formula Student cars: `formula_student(m=240.0)`."""

    former: Model
    """The model of version 0.1."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, and that of version 0.1."""
        return self.model, self.former

    def __call__(
        self, params: Any = None, /, *, compat: str | None = None, **values: Any
    ) -> Vehicle:
        """A car of the set `formula_student`, changed as a `two_track` is.

        `compat="0.1"` repeats version 0.1, which has other parameters: S1 to S6 of docs/errata.md.
        """
        if compat not in (None, FORMER):
            raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, {FORMER!r}")
        if compat is not None:
            base = record.build(self.former.Params, C_m0=UPSTREAM_C_M0)
            built = record.build(self.former.Params, params, base=base, **values)
            return Vehicle(self.former, built)
        if isinstance(params, str):
            raise InvalidValue(
                f"{NAME} is a parameter set, and {params!r} another: two_track has it"
            )
        if params is None or isinstance(params, Mapping):
            values = {**(params or {}), **values}
            self._refuse_former(values)
            car = two_track(NAME, **values)
        else:
            car = two_track(params, **values)
        model = _named(car.model)
        return Vehicle(model, model.Params(*car.params))

    def _refuse_former(self, values: Mapping[str, Any]) -> None:
        former = set(record.names(self.former.Params)) - set(record.names(self.model.Params))
        gone = [name for name in values if name in former]
        if gone:
            raise InvalidValue(
                f"{NAME} has no {', '.join(gone)} any more; compat={FORMER!r} has, and "
                "CHANGELOG.md says what is in their place"
            )


formula_student = FormulaStudentFactory(_named(two_track(NAME).model), FORMER_MODEL)
