"""Values that have names go to the fields of these names, or nowhere.

A record with as many fields as another, and the same fields in another order, must not pass for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.model import Model, VehicleFactory
from skidpad.errors import InvalidValue
from skidpad.random import (
    FrictionPatches,
    Gaussian,
    Joined,
    NoUncertainty,
    OrnsteinUhlenbeck,
    Recorded,
    Truncated,
    UncertaintyModel,
    Uniform,
    by_name,
)
from skidpad.random.patches import Patch
from skidpad.sensors import FullStateFeedback, OutputFunction, SelectedOutputs


class State(NamedTuple):
    x: float = 0.0
    v: float = 0.0


class Turned(NamedTuple):
    v: float = 0.0
    x: float = 0.0


class Elsewhere(NamedTuple):
    p: float = 0.0
    q: float = 0.0


class Input(NamedTuple):
    a: float = 0.0


class Push(NamedTuple):
    b: float = 0.0


class Params(NamedTuple):
    gain: float = 1.0


class Gains(NamedTuple):
    k: float = 1.0


def derivative(x: State, u: Input, w: State, p: Params) -> State:
    return State(x.v + w.x, p.gain * u.a + w.v)


cart = VehicleFactory(
    Model("cart", State, Input, Params, derivative=derivative, Disturbance=State)
)()
other = VehicleFactory(
    Model(
        "other", Turned, Input, Params, derivative=lambda x, u, w, p: Turned(u.a, x.v), summary=""
    )
)()
braking = sp.Policy(lambda x, p: Input(-p.k * x.v), Params=Gains)
fleet = sp.Fleet(cart, dt=0.1)

MODELS: dict[str, Callable[[type], UncertaintyModel]] = {
    "NoUncertainty": lambda kind: NoUncertainty(fields=kind),
    "Gaussian": lambda kind: Gaussian([1.0, 2.0], [0.1, 0.2], fields=kind),
    "Gaussian of names": lambda kind: Gaussian(1.0, 0.1, fields=list(record.names(kind))),
    "Gaussian by mapping": lambda kind: Gaussian(std=dict.fromkeys(kind._fields, 0.1), fields=kind),
    "Gaussian by covariance": lambda kind: Gaussian(covariance=np.eye(2), fields=kind),
    "Gaussian by a record": lambda kind: Gaussian(kind(1.0, 2.0), 0.1),
    "Gaussian with a record as nominal": lambda kind: Gaussian(
        [0.0, 0.0], 0.1, nominal_value=kind(1.0, 2.0)
    ),
    "Uniform": lambda kind: Uniform(0.0, 1.0, fields=kind),
    "Uniform by records": lambda kind: Uniform(kind(0.0, 0.0), kind(1.0, 1.0)),
    "Truncated": lambda kind: Truncated(0.0, 1.0, -1.0, 1.0, fields=kind),
    "OrnsteinUhlenbeck": lambda kind: OrnsteinUhlenbeck(0.0, 1.0, 1.0, fields=kind),
    "Recorded": lambda kind: Recorded(np.ones((9, 2)), fields=kind),
    "Recorded with a record as nominal": lambda kind: Recorded(np.ones((9, 2)), kind(1.0, 2.0)),
    "by_name": lambda kind: by_name(kind, {kind._fields[0]: Gaussian(0.0, 1.0)}),
    "by_name of a group": lambda kind: by_name(kind, {kind._fields: Gaussian([0.0, 0.0], 1.0)}),
    "Joined": lambda kind: Joined([Gaussian(0.0, 1.0, fields=[name]) for name in kind._fields]),
    "Joined of one": lambda kind: Joined([Uniform(0.0, 1.0, fields=kind)]),
    "Joined, the first named": lambda kind: Joined(
        [Gaussian(0.0, 1.0, fields=kind._fields[:1]), Gaussian(0.0, 1.0)]
    ),
    "Joined of Joined": lambda kind: Joined(
        [Joined([Gaussian(0.0, 1.0), Uniform(0.0, 1.0, fields=kind._fields[1:])])]
    ),
}


def sensor(noise: UncertaintyModel) -> Any:
    return FullStateFeedback(cart, noise)


WAYS: dict[str, Callable[[UncertaintyModel], Any]] = {
    "disturbance of a Monte Carlo": lambda m: fleet.monte_carlo({}, runs=2, steps=1, disturbance=m),
    "start of a Monte Carlo": lambda m: fleet.monte_carlo(m, runs=2, steps=1),
    "noise of a Monte Carlo": lambda m: fleet.monte_carlo(
        {}, runs=2, steps=1, policy=braking, noise=m
    ),
    "Simulation": lambda m: sp.Simulation(cart, disturbance_model=m),
    "Simulation that adds it": lambda m: sp.Simulation(
        sp.Vehicle(CALM, Params()), disturbance_model=m
    ),
    "FullStateFeedback": sensor,
    "SelectedOutputs": lambda m: SelectedOutputs(cart, ["x", "v"], m),
    "OutputFunction": lambda m: OutputFunction(State, lambda x: x, m, vehicle=cart),
    "a group of by_name": lambda m: by_name(State, {("x", "v"): m}),
}
CALM = Model("calm", State, Input, Params, derivative=lambda x, u, w, p: State(x.v, u.a))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_other_fields_is_refused_and_one_of_these_taken(name: str, way: str) -> None:
    make, take = MODELS[name], WAYS[way]
    take(make(State))
    for wrong in (Turned, Elsewhere):
        with pytest.raises(InvalidValue, match=rf"{wrong._fields[0]}|{wrong._fields[1]}"):
            take(make(wrong))


@pytest.mark.parametrize("way", WAYS)
def test_values_without_names_go_by_their_places(way: str) -> None:
    WAYS[way](Gaussian([0.0, 0.0], [1.0, 1.0]))
    with pytest.raises(InvalidValue, match=r"3"):
        WAYS[way](Gaussian([0.0] * 3, [1.0] * 3))


def test_a_joined_model_of_named_ones_has_their_names() -> None:
    one, two = Gaussian(0.0, 1.0, fields=["x"]), Gaussian(0.0, 1.0, fields=["v"])
    assert Joined([one, two]).fields == ("x", "v")
    assert Joined([one, Gaussian(0.0, 1.0)]).fields is None
    assert Joined([one, one]).fields is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Recorded([[1.0, 2.0]], Turned(), fields=State),
        lambda: Gaussian([0.0, 0.0], 1.0, nominal_value=Turned(), fields=State),
        lambda: Gaussian(State(), Turned()),
        lambda: NoUncertainty(nominal_value=Turned(), fields=State),
        lambda: FrictionPatches([], nominal_value=Push(), fields=["mu"]),
        lambda: FrictionPatches([], base=Push(), fields=["mu"]),  # type: ignore[arg-type]
    ],
)
def test_records_within_one_model_have_the_same_fields(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidValue, match="fields differ"):
        make()


@pytest.mark.parametrize("where", ["params", "policy_params"])
def test_a_parameter_is_drawn_from_a_model_of_one_number(where: str) -> None:
    name = "gain" if where == "params" else "k"

    def drawn(model: Any) -> Any:
        return fleet.monte_carlo({}, runs=2, steps=1, policy=braking, **{where: {name: model}})

    drawn(Gaussian(1.0, 0.1))
    drawn(Gaussian(1.0, 0.1, fields=[name]))
    with pytest.raises(InvalidValue, match=rf"{where}\['{name}'\] has 2 numbers"):
        drawn(Gaussian([1.0, 2.0], 0.1))
    with pytest.raises(InvalidValue, match=rf"{where}\['{name}'\] is a model of mass"):
        drawn(Gaussian(1.0, 0.1, fields=["mass"]))


def test_a_record_of_another_class_is_no_state_input_or_disturbance() -> None:
    class Sideways(NamedTuple):
        b: float = 0.0

    calls: list[Callable[[], Any]] = [
        lambda: fleet.rollout(Turned(), {}, steps=1),
        lambda: fleet.rollout([Turned(), Turned()], {}, steps=1),
        lambda: fleet.rollout({}, Sideways(), steps=1),
        lambda: fleet.rollout({}, {}, steps=1, disturbances=Turned()),
        lambda: fleet.outputs({}, Sideways()),
        lambda: fleet.outputs(Turned(), {}),
        lambda: fleet.rollout({}, {}, steps=1, params=Sideways()),
        lambda: fleet.monte_carlo(Turned(), runs=2, steps=1),
        lambda: fleet.monte_carlo({}, Sideways(), runs=2, steps=1),
    ]
    for call in calls:
        with pytest.raises(InvalidValue, match=r"record, got (Turned|.*Sideways)"):
            call()
    both = fleet.rollout([State(1.0, 2.0), State(3.0, 4.0)], {}, steps=1)
    assert both[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_sensor_of_another_vehicle_measures_nothing_here() -> None:
    with pytest.raises(InvalidValue, match=r"sensor_model is for the states v, x; 'cart' has x, v"):
        sp.Simulation(cart, sensor_model=FullStateFeedback(other))
    run = sp.Simulator(cart, dt=0.1).run({"a": 1.0}, steps=3)
    with pytest.raises(InvalidValue, match=r"states x, v.*allowed are v, x"):
        FullStateFeedback(other).along(run)
    # One of so many numbers goes by their places.
    nameless = FullStateFeedback(state_dimension=2, input_dimension=1)
    sp.Simulation(cart, sensor_model=nameless)
    assert len(nameless.along(run)) == len(run)


def test_patches_read_the_place_in_the_state_they_were_told() -> None:
    ice = FrictionPatches(
        [Patch(value=0.2, x=0.0, y=0.0, length=1.0, width=1.0)], position=("x", "v"), state=Turned
    )
    slippery = by_name(State, v=ice)
    for take in (
        lambda: fleet.monte_carlo({}, runs=2, steps=1, disturbance=slippery),
        lambda: fleet.monte_carlo({}, runs=2, steps=1, policy=braking, noise=slippery),
        lambda: sp.Simulation(cart, disturbance_model=slippery),
        lambda: FullStateFeedback(cart, slippery),
        lambda: Joined([Gaussian(0.0, 1.0), ice]).check_state(State),
    ):
        with pytest.raises(InvalidValue, match="position"):
            take()
    right = FrictionPatches(
        [Patch(value=0.2, x=0.0, y=0.0, length=1.0, width=1.0)], position=("x", "v"), state=State
    )
    fleet.monte_carlo({}, runs=2, steps=1, disturbance=by_name(State, v=right))
