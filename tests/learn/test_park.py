"""Backing a truck with a trailer into a bay."""

from __future__ import annotations

import numpy as np
import pytest

from learn.rollouts import held_to_the_rules, in_units
from skidpad.core.model import Vehicle
from skidpad.errors import InvalidValue
from skidpad.learn import Environments, Task
from skidpad.learn.environments import Stepped
from skidpad.learn.programs import compile_task
from skidpad.learn.task import units_of
from skidpad.learn.tasks import park
from skidpad.learn.tasks.park import Bay
from skidpad.vehicles.commonroad.single_track import commonroad_ks, commonroad_kst
from skidpad.vehicles.truck import ackermann_truck

TRUCK = commonroad_kst()
P = TRUCK.params
BAY = Bay.of(units_of(TRUCK), None)


@pytest.fixture(scope="module")
def task() -> Task:
    return park()


@pytest.fixture(scope="module")
def yard(task: Task) -> Environments:
    return Environments(task, 24, precision="float64", autoreset="disabled")


def stand(yard: Environments, pace: float = 0.0, **fields: float) -> Stepped:
    """What a period brings if all trucks are put somewhere."""
    yard.reset(seed=0)
    yard.engine.x[0, :] = np.array(TRUCK.State(**fields))
    stepped = yard.step(np.tile([0.0, pace], (len(yard), 1)))
    return stepped._replace(reward=stepped.reward.copy())


def driver(seen: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Pulls ahead to straighten up, then backs the trailer along the bay's axis.

    In reverse the trailer is a vehicle whose steering is the hitch, and the hitch an integrator of
    the truck's steering: a linear law for each.
    """
    x, y, heading, _, _, hitch = seen.T
    out |= x > 30.0
    ahead = np.arctan((P.l_f + P.l_r) * (-0.5 * (heading - hitch) - 0.05 * y))
    wanted = np.arctan(P.l_trailer * np.clip(0.03 * y - 0.34 * heading, -0.08, 0.08))
    curvature = -np.sin(hitch) / P.l_trailer - 0.5 * (hitch - wanted)
    steer = np.where(out, np.arctan((P.l_f + P.l_r) * curvature), ahead)
    pace = np.where(out, np.clip(-0.4 * x, -1.0, 1.0), 1.0)
    return np.column_stack([steer / P.steer_max, pace])


def test_every_start_can_be_parked_and_the_way_there_does_not_matter(task: Task) -> None:
    """A driver of three linear laws parks from all starts. What it earns on the way is how much
    nearer it came, in closed form: the shaping cannot be collected twice."""
    count = 48
    yard = Environments(task, count, precision="float64")
    seen = in_units(task, yard.reset(seed=5))
    first, out, done, won = seen.copy(), np.zeros(count, bool), np.zeros(count, bool), 0
    earned, last = np.zeros(count), np.zeros_like(first)
    for _ in range(task.limit):
        stepped = yard.step(driver(seen, out))
        seen = in_units(task, stepped.observation)
        earned[~done] += stepped.reward[~done]
        ending = stepped.terminated & ~done
        last[ending], done = seen[ending], done | ending
        won += int((stepped.reward[ending] > 15.0).sum())
        if done.all():
            break
    assert won == count

    def far(at: np.ndarray) -> np.ndarray:
        return np.hypot(at[:, 0], at[:, 1]) + 4.0 * (np.abs(at[:, 2]) + np.abs(at[:, 5]))

    assert earned == pytest.approx(far(first) - far(last) + 20.0, abs=2e-3)
    assert (np.abs(last[:, :2]) < 0.3).all()
    assert (np.abs(last[:, 3]) < 0.1).all()


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_trailer_touches_the_bay_where_its_corner_is(yard: Environments, side: float) -> None:
    """Straight in the bay, its flank is half a width away; the tractor is not near anything."""
    free = BAY.half_width - 0.5 * P.trailer_width
    apart = stand(yard, x=BAY.goal + P.l_trailer + 3.0, y=side * (free - 0.001))
    touching = stand(yard, x=BAY.goal + P.l_trailer + 3.0, y=side * (free + 0.001))
    assert not apart.terminated.any()
    assert touching.terminated.all()
    assert touching.reward - apart.reward == pytest.approx(-20.0, abs=0.01)


def test_the_tail_touches_the_end_wall(yard: Environments) -> None:
    tail = 0.3 * P.trailer_length
    for gap, hits in ((0.001, False), (-0.001, True)):
        stepped = stand(yard, x=gap + tail + P.l_trailer)
        assert stepped.terminated.all() == hits


def test_a_folded_hitch_ends_the_episode(yard: Environments) -> None:
    for way in (-1.0, 1.0):
        held, folded = (stand(yard, x=40.0, hitch=way * hitch) for hitch in (1.199, 1.201))
        assert not held.terminated.any()
        assert folded.terminated.all()


def test_parked_is_standing_there(yard: Environments) -> None:
    there = BAY.goal + P.l_trailer
    standing, rolling = stand(yard, x=there), stand(yard, x=there, v=-0.5, pace=-0.25)
    assert standing.terminated.all()
    assert not rolling.terminated.any()
    assert standing.reward - rolling.reward == pytest.approx(20.0, abs=0.1)


def test_driven_at_random() -> None:
    assert held_to_the_rules(park(duration=6.0)) > 0


def test_a_start_may_be_straight_before_the_bay() -> None:
    straight = park(aside=0.0, askew=0.0)
    seen = in_units(straight, Environments(straight, 8, precision="float64").reset(seed=0))
    assert seen[:, 1:] == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(seen[:, 0]) > 1.0


def test_what_cannot_be() -> None:
    with pytest.raises(InvalidValue, match=r"'commonroad_kst' tows.*agents = 1"):
        compile_task(park(agents=2))
    with pytest.raises(InvalidValue, match="room"):
        park(room=0.0)
    with pytest.raises(InvalidValue, match=r"aside = 100 m must be at most"):
        park(aside=100.0)
    with pytest.raises(InvalidValue, match=r"askew = 1 rad must be at most 0\.5"):
        park(askew=1.0)


@pytest.mark.parametrize("vehicle", [commonroad_ks(), ackermann_truck()], ids=lambda v: v.name)
def test_yards_are_as_large_as_the_vehicle_needs(vehicle: Vehicle) -> None:
    """A car, and a truck of half a metre: starts at the widest angles are in the yard and free."""
    task = park(vehicle, askew=0.5)
    yard = Environments(task, 200)
    yard.reset(seed=0)  # which raises for a start in contact
    x, y = yard.state[:, :2].T
    bay = Bay.of(units_of(vehicle), None)
    assert (x > bay.depth).all()
    assert (x < bay.depth + bay.reach).all()
    assert (np.abs(y) < 0.5 * bay.reach).all()
