"""Sub-steps are steps: a discrete vehicle gets a part of dt for each, whatever runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.model import Model, VehicleFactory
from skidpad.errors import InvalidValue
from skidpad.ops import maximum, minimum
from skidpad.random import Gaussian
from skidpad.world.motion import Group


class Watch(NamedTuple):
    """What an update has seen of its steps."""

    n: float = 0.0
    longest: float = 0.0
    shortest: float = 1e9
    held: float = 0.0


class Input(NamedTuple):
    a: float = 0.0


class Push(NamedTuple):
    w: float = 0.0


class Params(NamedTuple):
    k: float = 1.0


def update(x: Watch, u: Input, w: Push, p: Params, dt: Any) -> Watch:
    seen = 0.0 * w.w
    return Watch(x.n + 1.0 + seen, maximum(x.longest, dt), minimum(x.shortest, dt), u.a)


def hold(x: Watch, u: Input, w: Push, p: Params) -> Input:
    return Input(x.n)


DT = 0.1


def discrete(substeps: int = 1) -> sp.Vehicle:
    name = f"watch_{substeps}"
    return VehicleFactory(
        Model(
            name, Watch, Input, Params,
            update=update, hold=hold, Disturbance=Push, substeps=substeps,
        )
    )()  # fmt: skip


def by_fleet(vehicle: sp.Vehicle, substeps: int | None) -> Any:
    return sp.Fleet(vehicle, DT, substeps=substeps).rollout({}, {}, steps=2)[-1, 0]


def by_simulator(vehicle: sp.Vehicle, substeps: int | None) -> Any:
    sim = sp.Simulator(vehicle, DT, substeps=substeps)
    sim.step({})
    return sim.step({})


def by_run(vehicle: sp.Vehicle, substeps: int | None) -> Any:
    return sp.Simulator(vehicle, DT, substeps=substeps).run({}, steps=2).states[-1]


def by_loop(vehicle: sp.Vehicle, substeps: int | None) -> Any:
    policy = sp.Policy(lambda x: Input(0.0 * x.n))
    return (
        sp.Fleet(vehicle, DT, substeps=substeps).closed_loop(policy).rollout({}, {}, steps=2)[-1, 0]
    )


def by_monte_carlo(vehicle: sp.Vehicle, substeps: int | None) -> Any:
    fleet = sp.Fleet(vehicle, DT, substeps=substeps)
    return fleet.monte_carlo({}, runs=2, steps=2, disturbance=Gaussian(0.0, 1.0)).final[1]


def simulation(vehicle: sp.Vehicle, substeps: int | None, **options: Any) -> sp.Simulation:
    substep = {} if substeps is None else {"substep": DT / substeps}
    return sp.Simulation(vehicle, delta_t_w=DT, **substep, **options)


def by_simulation(vehicle: sp.Vehicle, substeps: int | None) -> Any:
    done = simulation(vehicle, substeps).simulate(Watch(), Input(), 2 * DT, "skidpad:rk4")
    return done[1].final_point


def by_disturbed_simulation(vehicle: sp.Vehicle, substeps: int | None) -> Any:
    options = {"disturbance_model": Gaussian(0.0, 1.0), "random_disturbance": True}
    sim = simulation(vehicle, substeps, **options)
    return sim.simulate(Watch(), Input(), 2 * DT, "skidpad:rk4")[1].final_point


def by_simulated_runs(vehicle: sp.Vehicle, substeps: int | None) -> Any:
    return simulation(vehicle, substeps).monte_carlo(Watch(), Input(), 2 * DT, runs=2).final[1]


WAYS: dict[str, Callable[[sp.Vehicle, int | None], Any]] = {
    "Fleet": by_fleet,
    "Simulator.step": by_simulator,
    "Simulator.run": by_run,
    "a closed loop": by_loop,
    "Monte Carlo": by_monte_carlo,
    "Simulation": by_simulation,
    "Simulation, disturbed": by_disturbed_simulation,
    "Simulation.monte_carlo": by_simulated_runs,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("own", "asked", "made"), [(1, None, 1), (3, None, 3), (1, 4, 4)])
def test_each_update_gets_its_part_of_the_step(
    way: str, own: int, asked: int | None, made: int
) -> None:
    found = WAYS[way](discrete(own), asked)
    assert found[0] == 2 * made
    assert found[1] == pytest.approx(DT / made, rel=1e-12)
    assert found[2] == pytest.approx(DT / made, rel=1e-12)
    # What is held is what it was at the start of the second step, over all of its sub-steps.
    assert found[3] == made


@pytest.mark.parametrize("own", [1, 3])
def test_a_world_has_the_sub_steps_of_a_discrete_model(own: int) -> None:
    group = Group(["a"], [discrete(own)], DT)
    group.state[:] = np.array(Watch())
    group.step()
    assert group.state[0, 0] == own
    assert group.state[0, 1] == pytest.approx(DT / own, rel=1e-12)


@pytest.mark.parametrize(("delta_t_w", "substep", "made"), [(0.1, 0.03, 4), (0.02, 0.05, 1)])
def test_sub_steps_are_no_longer_than_asked(delta_t_w: float, substep: float, made: int) -> None:
    sim = sp.Simulation(discrete(), delta_t_w=delta_t_w, substep=substep)
    found = sim.simulate(Watch(), Input(), delta_t_w, "skidpad:rk4")[1].final_point
    assert found.n == made
    assert found.longest == pytest.approx(delta_t_w / made, rel=1e-12)
    assert sim.setup(Watch(), Input(), delta_t_w).substeps == made


def test_a_method_with_steps_of_its_own_takes_no_sub_steps() -> None:
    car = sp.vehicles.commonroad_kinematic_bicycle()
    with pytest.raises(InvalidValue, match="substeps"):
        sp.Simulator(car, DT, "scipy:RK45", substeps=4)
