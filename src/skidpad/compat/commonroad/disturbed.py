"""The vehicle that a disturbance model is about: with its own disturbances, or with added ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ... import record
from ...components.additive_disturbance import with_disturbance
from ...errors import InvalidValue
from ...model import Model, NoDisturbance, Vehicle
from ...random.model import checked_model
from ...sensing.uncertainty import NoUncertainty, UncertaintyModel


def disturbed(vehicle: Vehicle, model: UncertaintyModel | None) -> tuple[Vehicle, UncertaintyModel]:
    """The vehicle whose disturbance has as many values as the model, and the model.

    That is the vehicle itself, or the vehicle with a disturbance added to the derivative of its
    state, alone or before its own; see `additive`. No model is no uncertainty.
    """
    own, state = record.size(vehicle.model.Disturbance), record.size(vehicle.State)
    if model is None:
        rest = record.flatten(record.build(vehicle.model.Disturbance))
        return vehicle, NoUncertainty(own, nominal_value=rest)
    fitting = vehicle
    if model.dim != own and vehicle.model.continuous:
        if model.dim == state:
            fitting = with_disturbance(Vehicle(_at_rest(vehicle.model), vehicle.params))
        elif model.dim == state + own:
            fitting = with_disturbance(vehicle)
    names = record.names(fitting.model.Disturbance)
    if model.dim != len(names):
        added = f" or, added to its derivative, {state} ({', '.join(record.names(vehicle.State))})"
        raise InvalidValue(
            f"disturbance_model has dim = {model.dim}; {vehicle.name!r} takes {own} disturbances "
            f"({', '.join(names) or 'none'})" + (added if vehicle.model.continuous else "")
        )
    checked_model("disturbance_model", model, names, f"the disturbance of {vehicle.name!r}")
    model.check_state(vehicle.State)
    return fitting, model


def _at_rest(model: Model) -> Model:
    """The same model without its own disturbances, which stay at their defaults."""
    if not record.size(model.Disturbance):
        return model
    rest = record.build(model.Disturbance)

    def calm(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, u, w, p: function(x, u, rest, p)

    assert model.derivative is not None
    return replace(
        model,
        Disturbance=NoDisturbance,
        derivative=calm(model.derivative),
        outputs=calm(model.outputs),
        hold=None if model.hold is None else calm(model.hold),
    )
