"""Disturbances added to the derivative: x' = f(x, u) + w, one entry of w for each state.

    windy = with_disturbance(sp.vehicles.four_wheel())
    sim = sp.Simulator(windy, dt=0.001)
    sim.disturb(v_y=0.3)            # m/s²: pushes the car to the left

Every continuous vehicle can be disturbed this way, which is how control toolboxes write
uncertainty: a disturbance of a position is a velocity, one of a velocity an acceleration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from ...core import record
from ...core.model import Model, Vehicle, made_by
from ...core.record import made_once
from ...errors import InvalidValue
from ...units import Unit

OWN = "own_"
"""Prefix of a model's own disturbance whose name is also that of a state."""
_RATES = {"m": "m/s", "m/s": "m/s²", "m/s²": "m/s³", "rad": "rad/s", "rad/s": "rad/s²", "1": "1/s"}
"""Symbols of rates that are shorter than `unit/s`."""


def with_disturbance(vehicle: Vehicle) -> Vehicle:
    """Return the vehicle with an additive disturbance of every state; see `additive`."""
    return Vehicle(additive(vehicle.model), vehicle.params)


def additive(model: Model) -> Model:
    """Return the model with x' = f + w.

    Its `Disturbance` has a field for each leaf of the state, under the same name (with `_` for
    the dot of a nested one), in the unit of the state per second and 0 by default; then the
    model's own disturbances under their names, with the prefix `own_` if a state has the same
    name. A model with additive disturbances is returned as it is; the result is cached.
    """
    if model.derivative is None:
        raise InvalidValue(
            f"{model.name!r} is a discrete model: it has no derivative that a disturbance could be "
            "added to"
        )
    if getattr(model.Disturbance, "added_to", None) is model.State:
        return model
    kept = vars(model)
    if "_additive" not in kept:
        kept["_additive"] = made_by(additive, model, model=_disturbed(model, model.derivative))
    return kept["_additive"]


def _disturbed(model: Model, derivative: Callable[..., Any]) -> Model:
    size = record.size(model.State)
    kind = _disturbance_type(model.State, model.Disturbance)
    hold = model.hold

    def disturbed(x: Any, u: Any, w: Any, p: Any) -> Any:
        leaves = record.flatten(w)
        rates = record.flatten(derivative(x, u, own(leaves), p))
        total = [rate + push for rate, push in zip(rates, leaves[:size], strict=True)]
        return record.unflatten(model.State, total)

    def own(leaves: tuple[Any, ...]) -> Any:
        return record.unflatten(model.Disturbance, leaves[size:])

    def passing(function: Callable[[Any, Any, Any, Any], Any]) -> Callable[..., Any]:
        """Wrap a function of the model so that it receives only the model's own disturbance."""
        return lambda x, u, w, p: function(x, u, own(record.flatten(w)), p)

    return replace(
        model,
        Disturbance=kind,
        derivative=disturbed,
        outputs=passing(model.outputs),
        hold=None if hold is None else passing(hold),
    )


@made_once
def _disturbance_type(State: type, Own: type) -> type:
    """Record type of an additive disturbance; cached by the pair of records."""
    hints: dict[str, Any] = {}
    defaults: dict[str, float] = {}
    docs: dict[str, str] = {}
    for leaf in record.fields(State):
        name = leaf.name.replace(".", "_")
        hints[name] = Annotated[float, rate_unit(leaf.unit)]
        defaults[name] = 0.0
        docs[name] = f"Added to the rate of {leaf.name}."
    for leaf in record.fields(Own):
        name = leaf.name.replace(".", "_")
        name = OWN + name if name in hints else name
        plain = Annotated[float, leaf.unit]
        hints[name] = plain if leaf.allowed is None else Annotated[plain, leaf.allowed]
        defaults[name] = leaf.default if leaf.default is not None else 0.0
        docs[name] = leaf.doc
    kind = record.define(
        "Disturbance", hints, defaults, docs, "What is added to the derivative, and what acts else."
    )
    kind.added_to = State
    return kind


def rate_unit(unit: Unit) -> Unit:
    symbol = _RATES.get(unit.symbol, f"{unit.symbol}/s")
    return Unit(symbol, unit.length, unit.mass, unit.time - 1.0)
