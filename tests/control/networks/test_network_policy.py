"""Networks compiled with a vehicle: values, bits, memory, gradients, errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from control.networks.drivers import CAR, act, gru, in_numpy, mlp, observe, policy
from skidpad.compile.kernels import MOST_IN_REGISTERS
from skidpad.control.networks import network_policy
from skidpad.control.networks.policy import weights_of
from skidpad.errors import InvalidValue
from skidpad.random.factors import Range
from skidpad.study.campaign import Campaign
from skidpad.study.designs import Random
from skidpad.study.metrics import highest
from skidpad.study.rollouts import Drive

STEPS = 20
STARTS = np.zeros((5, 11))
STARTS[:, 1] = np.linspace(-1.0, 1.0, 5)
STARTS[:, 2] = [0.1, -0.2, 0.0, 0.3, -0.1]
STARTS[:, 3] = np.linspace(6.0, 10.0, 5)
COST = sp.Cost(
    stage=lambda x, u: x.y**2 + 0.1 * (x.v_x - 8.0) ** 2 + u.steer**2,
    terminal=lambda x: x.yaw**2,
)


@pytest.fixture(scope="module")
def fleet() -> sp.Fleet:
    return sp.Fleet(CAR, 0.002, "heun", threads=2)


@pytest.mark.parametrize("network", [mlp(), gru()], ids=["mlp", "gru"])
def test_the_kernel_commands_what_numpy_does(fleet: sp.Fleet, network: Any) -> None:
    closed = fleet.closed_loop(policy(network))
    memory = record_names(closed.plant.State)[11:]
    assert memory == [f"memory.hidden.h_{k}" for k in range(network.hidden)]
    starts = np.concatenate([STARTS, np.zeros((5, network.hidden))], axis=1)
    states = closed.rollout(starts, steps=STEPS)
    commands = closed.outputs(states[:-1])[..., -5:]
    for vehicle in range(5):
        hidden = np.zeros(network.hidden)
        for k in range(STEPS):
            y, yaw, v_x = states[k, vehicle, 1:4]
            out, hidden = in_numpy(network, np.array([y, yaw, 0.1 * v_x - 0.8]), hidden)
            np.testing.assert_allclose(commands[k, vehicle, 0], 0.2 * out[0], atol=1e-12)
            np.testing.assert_allclose(commands[k, vehicle, 3:], 30.0 * out[1], atol=1e-12 * 30.0)
            np.testing.assert_allclose(states[k + 1, vehicle, 11:], hidden, atol=1e-12)


@pytest.mark.slow
def test_bits_do_not_depend_on_lanes_threads_batch_or_where_the_weights_are(
    fleet: sp.Fleet,
) -> None:
    for network in (mlp(), gru()):
        many = np.tile(STARTS, (9, 1))
        wanted = fleet.rollout(many, policy=policy(network), steps=STEPS)
        for lanes, threads in ((1, 1), (8, 1)):
            other = sp.Fleet(CAR, 0.002, "heun", threads=threads, lanes=lanes)
            got = other.rollout(STARTS, policy=policy(network), steps=STEPS)
            assert got.tobytes() == np.ascontiguousarray(wanted[:, :5]).tobytes()
        trained = fleet.rollout(many, policy=policy(network, trainable=True), steps=STEPS)
        np.testing.assert_allclose(trained, wanted, atol=1e-12)


@pytest.mark.slow
def test_bits_of_many_weights_do_not_depend_on_lanes_and_batch(fleet: sp.Fleet) -> None:
    network = gru(hidden=6)
    driver = policy(network, trainable=True)
    closed = fleet.closed_loop(driver)
    rng = np.random.default_rng(5)
    starts = np.tile(np.concatenate([STARTS, np.zeros((5, network.hidden))], axis=1), (9, 1))
    params = np.tile(sp.core.record.flatten(closed.plant.params), (45, 1))
    assert params.shape[1] > MOST_IN_REGISTERS
    params[:, -len(network.weights) :] += 0.1 * rng.normal(size=(45, len(network.weights)))
    states = closed.rollout(starts, steps=STEPS, params=params)
    value, gradient = closed.gradient(starts, None, COST, params=params, steps=STEPS)
    some = np.s_[11:14]
    for lanes in (1, 4):
        other = sp.Fleet(CAR, 0.002, "heun", threads=1, lanes=lanes).closed_loop(driver)
        got = other.rollout(starts[some], steps=STEPS, params=params[some])
        assert got.tobytes() == np.ascontiguousarray(states[:, some]).tobytes()
    one, alone = closed.gradient(starts[some], None, COST, params=params[some], steps=STEPS)
    assert one.tobytes() == value[some].tobytes()
    assert alone.params.tobytes() == np.ascontiguousarray(gradient.params[some]).tobytes()
    aside = np.asfortranarray(params[some])  # vehicles side by side in memory
    _, again = closed.gradient(starts[some], None, COST, params=aside, steps=STEPS)
    assert again.params.tobytes() == alone.params.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("network", [mlp(), gru(hidden=6)], ids=["mlp", "gru"])
def test_weights_have_the_derivative_of_the_rollout(fleet: sp.Fleet, network: Any) -> None:
    driver = policy(network, trainable=True)
    closed = fleet.closed_loop(driver)
    params = np.array([sp.core.record.flatten(closed.plant.params)])
    own = np.arange(params.shape[1])[-len(network.weights) :]
    assert params[0, own].tobytes() == network.weights.tobytes()
    assert weights_of(driver) == slice(0, len(network.weights))
    start = np.concatenate([STARTS, np.zeros((5, network.hidden))], axis=1)
    value, gradient = closed.gradient(start, None, COST, params=params, steps=STEPS, wrt="params")
    assert value.shape == (5,)
    # One variant of the weights per vehicle: all differences are two rollouts.
    ends = []
    for sign in (1.0, -1.0):
        varied = np.tile(params, (len(own), 1))
        varied[np.arange(len(own)), own] += sign * 1e-5
        starts = np.tile(start[1], (len(own), 1))
        ends.append(closed.gradient(starts, None, COST, params=varied, steps=STEPS, wrt=())[0])
    slopes = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(gradient.params[1, own], slopes, atol=1e-7 * np.abs(slopes).max())


@pytest.mark.slow
def test_a_network_of_constants_has_derivatives_too(fleet: sp.Fleet) -> None:
    closed = fleet.closed_loop(policy(mlp()))
    _, gradient = closed.gradient(STARTS, None, COST, steps=STEPS, wrt="x0")
    ends = []
    for sign in (1.0, -1.0):
        moved = STARTS.copy()
        moved[:, 1] += sign * 1e-5
        ends.append(closed.gradient(moved, None, COST, steps=STEPS, wrt=())[0])
    np.testing.assert_allclose(gradient.x0[:, 1], (ends[0] - ends[1]) / 2e-5, rtol=1e-6)


class Lane(NamedTuple):
    """Where to drive."""

    y: float = 0.0


class Last(NamedTuple):
    """The last command."""

    steer: float = 0.0


class Limit(NamedTuple):
    """Of the steering."""

    most: float = 0.2


def observe_lane(x: Any, r: Lane, m: Last) -> tuple[Any, ...]:
    return (x.y - r.y, x.yaw, m.steer)


def act_softly(outputs: Any, m: Last, p: Limit, dt: Any) -> Any:
    steer = m.steer + dt * (p.most * outputs[0] - m.steer) / 0.1
    return CAR.Input(steer, 0.0, 0.0, outputs[1], outputs[1]), Last(steer)


RECORDS: dict[str, Any] = {"Memory": Last, "Reference": Lane, "Params": Limit}


@pytest.mark.slow_cases("False")
@pytest.mark.parametrize("trainable", [False, True])
def test_a_policy_has_records_of_its_own_beside_those_of_the_network(
    fleet: sp.Fleet, trainable: bool
) -> None:
    network = gru()
    options = {"params": {"most": 0.3}, "trainable": trainable, **RECORDS}
    driver = network_policy(network, observe_lane, act_softly, **options)
    closed = fleet.closed_loop(driver)
    assert record_names(closed.plant.State)[11:13] == ["memory.steer", "memory.hidden.h_0"]
    assert record_names(closed.plant.Params)[15] == "policy.most"
    assert driver.params.most == 0.3
    states = fleet.rollout(STARTS, Lane(0.5), policy=driver, steps=3)
    sim = sp.Simulator(CAR, 0.002, "heun")
    sim.reset(y=-1.0, yaw=0.1, v_x=6.0)
    trajectory = sim.run(driver.controller(0.002, reference=Lane(0.5)), steps=3)
    np.testing.assert_allclose(states[:, 0, 1], trajectory["y"], atol=1e-12)


def test_a_policy_goes_to_other_processes(fleet: sp.Fleet) -> None:
    for trainable in (False, True):
        driver = network_policy(gru(), observe_lane, act_softly, trainable=trainable, **RECORDS)
        again = pickle.loads(pickle.dumps(driver))
        assert again.params == driver.params
        assert again.Memory is driver.Memory
    with pytest.raises(TypeError, match="policy 'network' cannot be pickled, because its observe"):
        pickle.dumps(network_policy(mlp(), lambda x: (x.y, x.yaw, x.v_x), act))
    states = fleet.rollout(STARTS, Lane(), policy=driver, steps=3)
    assert fleet.rollout(STARTS, Lane(), policy=again, steps=3).tobytes() == states.tobytes()


def test_monte_carlo_drives_it(fleet: sp.Fleet) -> None:
    study = fleet.monte_carlo({"v_x": 8.0}, runs=4, policy=policy(mlp()), steps=10, seed=1)
    assert study.runs == 4
    assert np.isfinite(study.mean("y")).all()


@pytest.mark.slow
def test_a_campaign_of_other_weights_is_another_one(tmp_path: Path) -> None:
    def campaign(network: Any) -> Campaign:
        drive = Drive(
            vehicle=CAR,
            policy=policy(network),
            dt=0.002,
            integrator="heun",
            duration=0.02,
            x0={"v_x": 8.0},
            metrics={"left": highest("y")},
        )
        factors = {"m": Range(200.0, 260.0)}
        return Campaign(experiment=drive, factors=factors, design=Random(4), seed=1)

    network = mlp()
    first = campaign(network).run(tmp_path, progress=False)
    assert campaign(network).run(tmp_path, progress=False).digest() == first.digest()
    with pytest.raises(InvalidValue, match="the motion of the vehicle has changed"):
        campaign(network.with_weights(2.0 * network.weights)).run(tmp_path, progress=False)


WRONG = [
    (lambda: network_policy("net", observe, act), "must be a skidpad.control.networks.Network"),  # type: ignore[arg-type]
    (lambda: network_policy(mlp(), lambda q: (), act), "observe of policy 'network' has no argum"),
    (lambda: network_policy(mlp(), observe, lambda x: x), "must take `outputs`"),
    (lambda: network_policy(mlp(), 3.0, act), "observe of policy 'network' must be a function"),  # type: ignore[arg-type]
    (lambda: network_policy(mlp(), lambda r: (), act), "takes r, but has no Reference record"),
    (lambda: weights_of(policy(mlp())), "has no network that is trainable"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "sentence"), WRONG)
def test_what_cannot_be_a_policy_is_not_made(make: Any, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        make()


def test_what_does_not_fit_is_named_when_it_is_compiled(fleet: sp.Fleet) -> None:
    short = network_policy(mlp(), lambda x: (x.y, x.yaw), act, name="blind")
    with pytest.raises(InvalidValue, match="observe of policy 'blind' must return the 3 inputs"):
        fleet.closed_loop(short)
    options = {**RECORDS, "name": "forgetful"}
    forgetful = network_policy(gru(), observe_lane, lambda outputs: CAR.Input(), **options)
    with pytest.raises(InvalidValue, match=r"act of policy 'forgetful' must return \(u, m\)"):
        fleet.closed_loop(forgetful)


def record_names(kind: type) -> list[str]:
    return [*sp.core.record.names(kind)]
