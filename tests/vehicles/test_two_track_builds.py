"""`two_track` on any tyres: one for all, by axle, by wheel; its models, pickles and properties."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.tyres import BrushTyre, LinearTyre, LoadSensitiveTyre, ProportionalTyre
from skidpad.tyres.simple import MagicFormula
from skidpad.vehicles.parts import FirstOrderSlip, SteadySlip

two_track = sp.vehicles.two_track
TYRES = (
    BrushTyre(),
    LinearTyre(),
    LoadSensitiveTyre(),
    ProportionalTyre(lateral=MagicFormula(D=1.1), longitudinal=MagicFormula(D=1.2)),
)
SLIPS = (SteadySlip(), FirstOrderSlip())
CALLED = [name for name in sp.testing.checks() if name not in ("driving", "standing")]
"""The checks that compile nothing."""


class FromFile(NamedTuple):
    """A tyre as one that is read from a file: it holds its record."""

    record: Any


@pytest.mark.slow_cases(
    "BrushTyre-SteadySlip",
    "LinearTyre-FirstOrderSlip",
    "LoadSensitiveTyre-SteadySlip",
    "ProportionalTyre-FirstOrderSlip",
    "BrushTyre-FirstOrderSlip",
    "LinearTyre-SteadySlip",
    "LoadSensitiveTyre-FirstOrderSlip",
)
@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: type(slip).__name__)
@pytest.mark.parametrize("tyre", TYRES, ids=lambda tyre: type(tyre).__name__)
def test_it_conforms_on_every_tyre(tyre: Any, slip: Any) -> None:
    quick = [name for name in CALLED if name != "purity"]
    sp.testing.check(two_track(tyre=tyre, slip=slip), quick).raise_if_failed()


@pytest.mark.slow
def test_it_conforms_on_four_tyres() -> None:
    """A mirror exchanges the tyres of the sides."""
    fl, fr, rl, rr = TYRES
    checked = sp.testing.check(two_track(fl=fl, fr=fl, rl=rl, rr=rl), CALLED)
    checked.raise_if_failed()
    lopsided = sp.testing.check(two_track(fl=fl, fr=fr, rl=rl, rr=rr), ["frame", "gradients"])
    lopsided.raise_if_failed()


def test_first_order_slip_drives_and_stands_in_worlds() -> None:
    car = two_track(slip=FirstOrderSlip())
    sp.testing.check(car, ["driving", "standing"]).raise_if_failed()


def test_the_same_tyre_in_any_arrangement_is_the_same_car() -> None:
    tyre = LinearTyre(C_y=16.0)
    cars = [
        two_track(tyre=tyre),
        two_track(front=tyre, rear=tyre),
        two_track(fl=tyre, fr=tyre, rl=tyre, rr=tyre),
    ]
    x = cars[0].State(v_x=20.0, v_y=0.3, omega=0.2, steer=0.1, spin_fl=60.0, load_a_y=2.0)
    rates = [record.flatten(car.derivative(x, car.Input(brake_fl=10.0))) for car in cars]
    assert rates[0] == rates[1] == rates[2]
    assert [type(car.params.tyres).__name__ for car in cars] == [
        "OneTyre",
        "AxleTyres",
        "WheelTyres",
    ]


def test_each_wheel_has_the_tyre_it_was_given() -> None:
    stiff, soft = LinearTyre(C_y=25.0), LinearTyre(C_y=5.0)
    car = two_track(fl=stiff, fr=soft, rl=soft, rr=stiff)
    x = car.model.settle(car.State(v_x=20.0, v_y=-0.1), car.params)  # type: ignore[misc]
    out = car.outputs(x, car.Input())
    assert out.F_y_fl == pytest.approx(5.0 * out.F_y_fr, rel=1e-3)
    assert out.F_y_rr == pytest.approx(5.0 * out.F_y_rl, rel=1e-3)


def test_numbers_of_tyres_are_parameters() -> None:
    car = two_track(front=LinearTyre(), rear=BrushTyre(), **{"tyres.front.C_y": 20.0}, m=1300.0)
    assert car.params.tyres.front.C_y == 20.0
    assert car.params.m == 1300.0
    softer = car.with_params(**{"tyres.rear.mu": 0.8})
    assert softer.model is car.model
    assert softer.params.tyres.rear.mu == 0.8
    slower = two_track(slip=FirstOrderSlip(), **{"slip.low.damping": 0.2})
    assert slower.params.slip.low.damping == 0.2
    with pytest.raises(sp.InvalidValue, match=r"tyres\.tyre\.C_y"):
        two_track(tyre=LinearTyre(C_y=-1.0))


def test_there_is_one_model_of_each_combination() -> None:
    assert two_track(tyre=LinearTyre(C_y=10.0)).model is two_track(tyre=LinearTyre()).model
    assert two_track().model is sp.vehicles.get("two_track").model
    assert two_track(tyre=LoadSensitiveTyre()).model is two_track().model
    assert two_track(slip=FirstOrderSlip()).model is not two_track().model
    assert two_track(tyre=FromFile(LinearTyre())).model is two_track(tyre=LinearTyre()).model


@pytest.mark.parametrize(
    "car",
    [
        two_track(m=1300.0),
        two_track(tyre=LinearTyre(C_y=12.0)),
        two_track(front=LinearTyre(), rear=BrushTyre(), slip=FirstOrderSlip()),
        two_track(fl=TYRES[0], fr=TYRES[1], rl=TYRES[2], rr=TYRES[3]),
    ],
    ids=["default", "one", "axles", "wheels"],
)
def test_it_comes_back_from_a_pickle(car: sp.Vehicle) -> None:
    back = pickle.loads(pickle.dumps(car))
    assert back == car
    assert back.model is car.model
    assert hash(back) == hash(car)
    params = pickle.loads(pickle.dumps(car.params))
    assert record.flatten(params) == record.flatten(car.params)


@pytest.mark.parametrize(
    "tyres",
    [
        {"front": LinearTyre()},
        {"tyre": LinearTyre(), "rear": LinearTyre()},
        {"fl": LinearTyre(), "fr": LinearTyre(), "rl": LinearTyre()},
    ],
)
def test_tyres_that_do_not_go_together_are_refused(tyres: dict[str, Any]) -> None:
    with pytest.raises(sp.InvalidValue, match=r"allowed are tyre, or front and rear, or fl, fr"):
        two_track(**tyres)


@pytest.mark.parametrize("tyre", [3.0, MagicFormula(), "michelin.tir", None])
def test_what_is_no_tyre_is_refused(tyre: Any) -> None:
    with pytest.raises(sp.InvalidValue, match="tyre must be a tyre record"):
        two_track(tyre=tyre)


@pytest.mark.parametrize("slip", ["first_order", 1.0, FirstOrderSlip, LinearTyre()])
def test_what_is_no_law_of_slip_is_refused(slip: Any) -> None:
    with pytest.raises(sp.InvalidValue, match=r"slip must be .*SteadySlip"):
        two_track(slip=slip)


@pytest.mark.parametrize("inputs", [{"brake_fl": -1.0}])
def test_brakes_do_not_push(inputs: dict[str, float]) -> None:
    """A negative brake counts as none where nobody checks."""
    car = two_track()
    x = car.State(v_x=10.0, spin_fl=33.0)
    braked, free = (car.derivative(x, car.Input(**u)) for u in (inputs, {}))
    assert braked == free


def test_parameters_may_be_a_mapping_or_those_of_another() -> None:
    car = two_track({"m": 1100.0, "tyres.tyre.F_z0": 3500.0})
    assert (car.params.m, car.params.tyres.tyre.F_z0) == (1100.0, 3500.0)
    assert two_track(car.params) == car
    other = two_track(car.params, tyre=LinearTyre(), slip=FirstOrderSlip())
    assert (other.params.m, type(other.params.tyres.tyre)) == (1100.0, LinearTyre)
    assert two_track(other.params) == other
    assert np.isfinite(record.flatten(car.derivative(car.State(), car.Input()))).all()


def test_a_mass_that_presses_the_tyres_flat_is_refused() -> None:
    with pytest.raises(sp.InvalidValue, match="m = 100000 kg is too much for the tyres"):
        sp.Simulator(two_track(m=1e5, I_z=1e5, slip=FirstOrderSlip()), dt=0.001, integrator="rk4")
