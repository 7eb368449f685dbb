"""The same run whatever else runs, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.random import Draw, Gaussian, OrnsteinUhlenbeck, UncertaintyModel

from .models import Input, explosive, holding, late, mass

WIND = Gaussian(mean=[0.0], std=[1.0])


def fleet(**options: object) -> sp.Fleet:
    return sp.Fleet(mass(), dt=0.1, **options)


def test_a_part_of_the_runs_has_the_bits_it_has_among_all() -> None:
    arguments = {"disturbance": WIND, "seed": 5, "steps": 12, "policy": holding(1.0)}
    noise = Gaussian(mean=[0.0, 0.0], std=[0.1, 0.1])
    whole = fleet().monte_carlo({"v": 1.0}, runs=500, noise=noise, **arguments)
    for part in ([7], [499, 3], range(100, 200)):
        some = fleet(threads=1).monte_carlo({"v": 1.0}, runs=list(part), noise=noise, **arguments)
        assert np.array_equal(some.final, whole.final[list(part)])


def test_a_replay_has_the_bits_of_its_run() -> None:
    wind = OrnsteinUhlenbeck(mean=[0.0], std=[1.0], time_constant=0.5)
    found = fleet().monte_carlo({"v": 1.0}, {"a": 0.1}, runs=64, disturbance=wind, steps=15, seed=9)
    for run in (0, 13, 63):
        again = found.replay(found.seed_of(run))
        assert np.array_equal(again.states[-1], found.final[run])
        # What acted is told: with it the run can be made again by hand.
        rows = again["w_a"][:-1].reshape(-1, 1, 1)
        by_hand = fleet().rollout({"v": 1.0}, {"a": 0.1}, disturbances=rows, steps=15)
        assert np.array_equal(by_hand[:, 0], again.states)


def test_another_seed_gives_other_runs() -> None:
    runs = [
        fleet().monte_carlo({}, runs=9, disturbance=WIND, steps=3, seed=s).final for s in (1, 1, 2)
    ]
    assert np.array_equal(runs[0], runs[1])
    assert not np.isin(runs[2], runs[0]).any()


def test_inputs_and_starts_may_differ_between_runs() -> None:
    a = np.linspace(-1.0, 1.0, 5)
    x0 = np.column_stack([np.zeros(5), a])
    table = np.tile(a[:, None], (3, 1, 1))
    found = fleet().monte_carlo(x0, table, runs=5)
    np.testing.assert_allclose(found.final[:, 1], a + 0.3 * a)
    one = fleet().monte_carlo(x0, table, runs=[4])
    assert np.array_equal(one.final[0], found.final[4])


def test_runs_that_diverge_are_named_by_seed_or_masked() -> None:
    x0 = np.array([[0.1], [5.0], [0.2]])
    wild = sp.Fleet(explosive(), dt=0.1)
    with pytest.raises(SimulationDiverged, match=str((3 << 32) + 1)):
        wild.monte_carlo(x0, runs=3, steps=20, seed=3)
    calm = sp.Fleet(explosive(), dt=0.1, on_diverge="mask")
    found = calm.monte_carlo(x0, runs=3, steps=20, seed=3)
    assert found.diverged == (1,)
    assert np.isfinite(found.final[[0, 2]]).all()
    assert np.isnan(found.final[1]).all()
    # x' = x²: x = x0 / (1 - x0 t), and the mean is over the runs that are left.
    expected = np.mean([0.1 / (1 - 0.2), 0.2 / (1 - 0.4)])
    assert found.mean("x")[-1] == pytest.approx(expected, rel=1e-4)
    assert len(found.replay(found.seed_of(1))) < 21


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"runs": 0, "steps": 3}, "runs = 0"),
        ({"runs": 2.5, "steps": 3}, "runs = 2.5"),
        ({"runs": [1, 1], "steps": 3}, "differ"),
        ({"runs": 3}, "number of steps"),
        ({"runs": 3, "duration": -1.0}, "duration = -1.0"),
        ({"runs": 3, "duration": float("nan")}, "duration = nan"),
        ({"runs": 3, "steps": 3, "seed": -1}, "seed = -1"),
        ({"runs": 3, "steps": 3, "disturbance": Gaussian([0.0] * 2, [1.0] * 2)}, "has 2 numbers"),
        ({"runs": 3, "steps": 3, "disturbance": 3.0}, "disturbance must be an UncertaintyModel"),
        ({"runs": 3, "steps": 3, "noise": WIND}, "give policy="),
        ({"runs": 3, "steps": 3, "quantities": ["speed"]}, "speed"),
        ({"runs": 3, "steps": 3, "quantiles": [1.5]}, "quantiles"),
        ({"runs": 3, "steps": 3, "params": {"gian": 1.0}}, "gian"),
        ({"runs": 3, "steps": 3, "policy_params": {"k": 1.0}}, "policy_params"),
        ({"runs": 3, "steps": 3, "quantities": {"bad": lambda x: np.zeros(7)}}, "bad"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(arguments: dict, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        fleet().monte_carlo({}, **arguments)


def test_too_few_starts_are_refused() -> None:
    with pytest.raises(InvalidValue, match="x0: 2 runs are given"):
        fleet().monte_carlo(np.zeros((2, 2)), runs=3, steps=2)


def test_a_vehicle_without_disturbance_says_how_to_get_one() -> None:
    car = sp.Fleet(sp.vehicles.kinematic_bicycle(), dt=0.001)
    with pytest.raises(InvalidValue, match="with_disturbance"):
        car.monte_carlo({}, runs=2, steps=1, disturbance=WIND)


def test_names_that_are_not_there_are_told() -> None:
    found = fleet().monte_carlo({}, runs=3, steps=2)
    for call in (lambda: found.mean("w"), lambda: found.worst("w"), lambda: found.probability("w")):
        with pytest.raises(InvalidValue, match="'w'"):
            call()
    with pytest.raises(InvalidValue, match=r"0\.33"):
        found.quantile("v", 0.33)
    with pytest.raises(InvalidValue, match="not one of this Monte Carlo"):
        found.replay(77)
    assert "3 runs" in repr(found)


def test_outputs_of_a_replay_are_those_of_the_drawn_parameters() -> None:
    car = sp.vehicles.four_wheel()
    fleet = sp.Fleet(car, dt=0.01, substeps=10)
    study = fleet.monte_carlo(
        {"v_x": 10.0}, {"steer": 0.02}, runs=3, steps=4, params={"m": Gaussian([230.0], [30.0])}
    )
    for run in range(3):
        again = study.replay(study.seed_of(run))
        loads = sum(again[f"F_z_{wheel}"][0] for wheel in ("fl", "fr", "rl", "rr"))
        weight = loads / car.params.g
        assert weight != pytest.approx(230.0, abs=0.5)
        heavier = fleet.rollout(
            {"v_x": 10.0}, {"steer": 0.02}, steps=4, params={"m": [study_mass(study, run)]}
        )
        assert np.array_equal(heavier[:, 0], again.states)


def study_mass(study: sp.run.monte_carlo.MonteCarlo, run: int) -> float:
    """The mass that a run has drawn."""
    return float(study._experiment.parameters(np.array([run]))["m"][0])


def test_commands_that_act_late_do_act() -> None:
    """From step to step the queue goes along, also where some runs have ended."""
    vehicle = late()
    starts = np.array([[0.1], [40.0], [0.2], [90.0], [0.3]])
    table = np.random.default_rng(4).uniform(-1.0, 1.0, (12, 5, 1))
    options = {"params": {"delay": np.array([0.2, 0.0, 0.35, 0.1, 0.5])}}
    many = sp.Fleet(vehicle, dt=0.1, on_diverge="mask")
    wanted = many.rollout(starts, table, **options)
    study = many.monte_carlo(starts, table, runs=5, **options)
    assert study.diverged == (1, 3)
    assert np.array_equal(study.final, wanted[-1], equal_nan=True)
    again = study.replay(study.seed_of(2))
    assert np.array_equal(again.states, wanted[:, 2])
    held = many.monte_carlo({"x": 0.1}, {"a": 1.0}, runs=3, steps=9)
    alone = many.rollout({"x": 0.1}, {"a": 1.0}, steps=9)
    assert np.array_equal(held.final, np.repeat(alone[-1], 3, axis=0))
    assert alone[-1, 0] > 0.5


class Drag(UncertaintyModel):
    """A disturbance that depends on the state alone."""

    def __init__(self, dim: int = 1) -> None:
        super().__init__(dim)

    def sample(
        self, draw: Draw, memory: Any = None, x: np.ndarray | None = None
    ) -> tuple[np.ndarray, Any]:
        assert x is not None
        return -0.1 * x[:, :1] * np.ones(self.dim), None


@pytest.mark.parametrize("policy", [None, sp.Policy(lambda x: Input(0.0 * x.x))])
def test_models_that_look_at_states_go_on_without_runs_that_diverged(policy: Any) -> None:
    starts = np.array([[0.1], [5.0], [0.2], [900.0]])
    many = sp.Fleet(explosive(), dt=0.1, on_diverge="mask")
    options: dict[str, Any] = {"policy": policy, "steps": 20, "disturbance": Drag()}
    if policy is not None:
        options["noise"] = Drag()
    found = many.monte_carlo(starts, runs=4, **options)
    assert found.diverged == (1, 3)
    left = many.monte_carlo(starts, runs=[0, 2], **options)
    assert np.array_equal(left.final, found.final[[0, 2]])
    # x' = x² - 0.1 x, where the second is held over each step: below x = 0.1 it falls.
    assert found.final[0, 0] == pytest.approx(0.1, abs=1e-3)
    assert len(found.replay(found.seed_of(1))) < 21
