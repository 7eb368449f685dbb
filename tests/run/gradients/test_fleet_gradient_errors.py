"""What `Fleet.gradient`, `vjp` and `jacobian` refuse, and gradients of a fleet that was loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from run.gradients.rollouts import COST, Drive, Target, assert_close, drive, fleet_of, vehicle_of
from skidpad import Cost, InvalidValue
from unstable import unrefused

NAME = "kinematic_bicycle"


@pytest.fixture(scope="module")
def fleet() -> sp.Fleet:
    return fleet_of(NAME)


@pytest.fixture(scope="module")
def at() -> Drive:
    return drive(NAME, 6)


@pytest.mark.parametrize(
    ("wrt", "named"), [("x", "'x'"), (("x0", "control"), "'control'"), (None, "None"), (3, "3")]
)
def test_unknown_wrt(fleet: sp.Fleet, at: Drive, wrt: Any, named: str) -> None:
    sentence = f"wrt = {named} is unknown; allowed are x0, controls, params"
    with pytest.raises(InvalidValue, match=sentence):
        fleet.gradient(**at.given, cost=COST, wrt=wrt)
    with pytest.raises(InvalidValue, match=sentence):
        fleet.vjp(**at.given, cotangents=np.ones((7, 3, 11)), wrt=wrt)


def test_no_cost(fleet: sp.Fleet, at: Drive) -> None:
    with pytest.raises(InvalidValue, match=r"gradient needs a cost: a skidpad\.Cost"):
        fleet.gradient(**at.given)
    with pytest.raises(InvalidValue, match="must be a function, got 3"):
        fleet.gradient(**at.given, cost=3)
    with pytest.raises(InvalidValue, match="the stage cost of 'kinematic_bicycle' must return"):
        fleet.gradient(**at.given, cost=lambda x, u: (x.v_x, u.steer))


@pytest.mark.parametrize(
    ("references", "sentence"),
    [
        (np.zeros((6, 3, 2)), "references have 6 rows; 7 are needed"),
        (np.zeros((7, 2, 2)), "references have 2 vehicles; the rollout has 3"),
        (np.zeros((4, 2)), "references have 4 vehicles; the rollout has 3"),
        (np.zeros((7, 3, 3)), r"references has shape \(7, 3, 3\).*with fields y, v_x"),
        (np.full((7, 3, 2), np.nan), "references: .* is nan; it must be finite"),
        ({"speed": 1.0}, "'speed'"),
    ],
)
def test_references_that_do_not_fit(
    fleet: sp.Fleet, at: Drive, references: Any, sentence: str
) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        fleet.gradient(**at.given, cost=COST, references=references)


@pytest.mark.parametrize(
    ("shape", "every"), [((6, 3, 11), 1), ((7, 2, 11), 1), ((7, 3, 5), 1), ((7, 3, 11), 3)]
)
def test_cotangents_that_do_not_fit(
    fleet: sp.Fleet, at: Drive, shape: tuple[int, ...], every: int
) -> None:
    with pytest.raises(
        InvalidValue, match=r"cotangents have shape .*; the rollout has \(\d, 3, 11\)"
    ):
        fleet.vjp(**at.given, cotangents=np.ones(shape), every=every)


def test_cotangents_that_are_not_finite(fleet: sp.Fleet, at: Drive) -> None:
    weights = np.ones((7, 3, 11))
    weights[4, 2, 5] = np.inf
    with pytest.raises(InvalidValue, match="cotangents: value 5 of vehicle 2 in row 4 is inf"):
        fleet.vjp(**at.given, cotangents=weights)


def test_samples_that_do_not_end_at_the_last_step(fleet: sp.Fleet, at: Drive) -> None:
    with pytest.raises(InvalidValue, match=r"every = 4 must .*divide the 6 steps"):
        fleet.vjp(**at.given, cotangents=np.ones((2, 3, 11)), every=4)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("x0", "x0: v_x of vehicle 0 is nan; it must be finite"),
        ("controls", "controls: tau_fr of vehicle 0, step 3 is nan; it must be finite"),
        ("params", "params: I_z of vehicle 0 is nan; it must be finite"),
    ],
)
def test_inputs_that_are_not_finite(fleet: sp.Fleet, at: Drive, part: str, sentence: str) -> None:
    places = {"x0": (0, 3), "controls": (3, 0, 2), "params": (0, 1)}
    given = at.given
    given[part] = given[part].copy()
    given[part][places[part]] = np.nan
    for call in (
        lambda: fleet.gradient(**given, cost=COST),
        lambda: fleet.vjp(**given, cotangents=np.ones((7, 3, 11))),
        lambda: fleet.jacobian(**given),
    ):
        with pytest.raises(InvalidValue, match=sentence):
            call()


def test_held_controls_need_a_number_of_steps(fleet: sp.Fleet, at: Drive) -> None:
    with pytest.raises(InvalidValue, match="give steps="):
        fleet.gradient(at.x0, at.controls[0], COST)


def test_sub_steps(at: Drive) -> None:
    divided = sp.Fleet(vehicle_of(NAME), 0.002, "rk4", substeps=2, threads=1)
    for call in (
        lambda: divided.gradient(**at.given, cost=COST),
        lambda: divided.vjp(**at.given, cotangents=np.ones((7, 3, 11))),
        lambda: divided.jacobian(**at.given),
    ):
        with pytest.raises(InvalidValue, match="gradients need substeps = 1, this fleet has 2"):
            call()


@pytest.mark.filterwarnings("ignore:rk4 with dt = 0.01 s is unstable")
def test_a_vehicle_that_diverges_raises_or_is_nan() -> None:
    """Steps of 10 ms are too long for torque actuators of 1 ms, but not for those of 50 ms."""
    controls = np.zeros((400, 2, 5))
    controls[:, :, 3] = 50.0
    given = {"controls": controls, "cost": COST, "params": {"t_tau": [0.05, 0.001]}}
    slow = unrefused(vehicle_of(NAME).with_params(t_tau=0.05))
    options = {"dt": 0.01, "integrator": "rk4", "threads": 1}
    with pytest.raises(sp.SimulationDiverged) as caught:
        sp.Fleet(slow, **options).gradient({}, **given)
    assert caught.value.vehicles == (1,)
    masked = sp.Fleet(slow, on_diverge="mask", **options)
    value, gradient = masked.gradient({}, **given)
    assert np.isfinite(value).tolist() == [True, False]
    for part in (gradient.x0, gradient.params, np.swapaxes(gradient.controls, 0, 1)):
        assert np.isfinite(part).reshape(2, -1).all(axis=1).tolist() == [True, False]


def test_a_saved_cost(fleet: sp.Fleet, at: Drive, tmp_path: Path) -> None:
    path = tmp_path / "bicycle.plant"
    fleet.save(path, cost=COST)
    loaded = sp.Fleet.load(path, threads=1)
    found_value, found = loaded.gradient(**at.given, references=at.references)
    value, wanted = fleet.gradient(**at.given, cost=COST, references=at.references)
    assert found_value.tobytes() == value.tobytes()
    for a, b in zip(found, wanted, strict=True):
        assert a.tobytes() == b.tobytes()
    _, some = loaded.gradient(**at.given, references=at.references, wrt="controls")
    assert some.params is None
    assert_close(some.controls, wanted.controls, 1e-12)
    weights = np.linspace(-1.0, 1.0, 7 * 3 * 11).reshape(7, 3, 11)
    for options in ({}, {"wrt": ("x0", "controls")}):
        pulled = fleet.vjp(**at.given, cotangents=weights, **options)
        again = loaded.vjp(**at.given, cotangents=weights, **options)
        for a, b in zip(again, pulled, strict=True):
            assert (a is None and b is None) or a.tobytes() == b.tobytes()


def test_a_loaded_fleet_takes_no_other_cost(fleet: sp.Fleet, at: Drive, tmp_path: Path) -> None:
    sentence = "was loaded from a file: gradients need the cost it was saved with"
    path = tmp_path / "bicycle.plant"
    for saved in (None, COST):
        fleet.save(path, cost=saved)
        loaded = sp.Fleet.load(path, threads=1)
        for other in (COST, Cost(terminal=lambda x: x.y, Reference=Target)):
            with pytest.raises(InvalidValue, match=sentence):
                loaded.gradient(**at.given, cost=other)
    fleet.save(path)
    bare = sp.Fleet.load(path, threads=1)
    with pytest.raises(InvalidValue, match="gradient needs a cost"):
        bare.gradient(**at.given)
    with pytest.raises(InvalidValue, match=sentence):
        bare.vjp(**at.given, cotangents=np.ones((7, 3, 11)))
    assert bare.rollout(**at.given).shape == (7, 3, 11)
