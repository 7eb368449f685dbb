"""Commands that act late: against a loop that keeps every command in a list."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from compile import cuda_harness
from skidpad.compile import cuda
from skidpad.compile.cpu import Late, RolloutArrays
from skidpad.compile.gpu import RolloutLaunch
from skidpad.compile.lower import lower
from skidpad.compile.plant import Plant
from skidpad.core.model import Model, Vehicle
from skidpad.run.delay import Channels, age, ages, whole_steps
from skidpad.units import m, m_s, m_s2, non_negative, per_s, s

DT, VEHICLES, STEPS = 0.1, 37, 20


class State(NamedTuple):
    """A cart."""

    x: m = 0.0
    v_x: m_s = 0.0


class Input(NamedTuple):
    """The push is felt late, the wind at once, the brake after another time."""

    push: m_s2 = 0.25
    wind: m_s2 = 0.0
    brake: per_s = 0.0


class Params(NamedTuple):
    """Delays in s."""

    drag: per_s = 0.3
    push_delay: Annotated[s, non_negative] = 0.3
    brake_delay: Annotated[s, non_negative] = 0.05


def update(x: State, u: Input, w: Any, p: Params, dt: float) -> State:
    return State(x.x + dt * x.v_x, x.v_x + dt * (u.push + u.wind - (p.drag + u.brake) * x.v_x))


CART = Model(
    "late_cart",
    State,
    Input,
    Params,
    update=update,
    dead_times={"push": "push_delay", "brake": "brake_delay"},
)


def cart(rule: str = "at_least", **params: float) -> Vehicle:
    from dataclasses import replace

    return Vehicle(replace(CART, dead_time_rule=rule), Params(**params))


class Work(NamedTuple):
    x0: np.ndarray
    u: np.ndarray
    params: dict[str, np.ndarray]

    def given(self) -> tuple[Any, Any]:
        return self.x0, self.u


@pytest.fixture(scope="module")
def work() -> Work:
    rng = np.random.default_rng(3)
    return Work(
        rng.normal(size=(VEHICLES, 2)),
        rng.normal(size=(STEPS, VEHICLES, 3)),
        {
            "push_delay": rng.uniform(0.0, 0.75, VEHICLES),
            "brake_delay": rng.uniform(0, 0.2, VEHICLES),
        },
    )


def one_by_one(work: Work, b: int, delays: tuple[float, float], before: Any = None) -> np.ndarray:
    """The states of vehicle b, from a list of all commands with the time of each."""
    x, out = State(*work.x0[b]), [work.x0[b]]
    commands = [] if before is None else [(DT * (k - len(before)), r) for k, r in enumerate(before)]
    for k in range(STEPS):
        now = DT * k
        commands.append((now, work.u[k, b]))
        row = work.u[k, b].copy()
        for field, delay in zip((0, 2), delays, strict=True):
            old = [r[field] for t, r in commands if now - t >= delay - 1e-9]
            row[field] = old[-1] if old else Input()[field]
        x = update(x, Input(*row), None, Params(), DT)
        out.append(np.array(x))
    return np.array(out)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32])
def test_every_vehicle_feels_its_commands_after_its_own_delay(work: Work, lanes: int) -> None:
    found = sp.Fleet(cart(), DT, lanes=lanes).rollout(*work.given(), params=work.params)
    for b in range(VEHICLES):
        delays = (work.params["push_delay"][b], work.params["brake_delay"][b])
        np.testing.assert_allclose(found[:, b], one_by_one(work, b, delays), rtol=0, atol=1e-13)


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_shared_delays_give_the_bits_of_delays_given_one_by_one(
    work: Work, lanes: int, precision: str
) -> None:
    fleet = sp.Fleet(cart(), DT, lanes=lanes, precision=precision)
    each = {"push_delay": np.full(VEHICLES, 0.3), "brake_delay": np.full(VEHICLES, 0.05)}
    shared = fleet.rollout(*work.given())
    assert shared.tobytes() == fleet.rollout(*work.given(), params=each).tobytes()
    tolerance = 1e-12 if precision == "float64" else 1e-5
    np.testing.assert_allclose(shared[:, 3], one_by_one(work, 3, (0.3, 0.05)), atol=tolerance)


def test_two_rollouts_with_the_queue_between_them_are_one(work: Work) -> None:
    fleet = sp.Fleet(cart(), DT)
    whole = fleet.rollout(*work.given(), params=work.params)
    first, queue = fleet.rollout(
        work.x0, work.u[:3], params=work.params, return_pending=True
    )  # fewer steps than the longest delay
    assert queue.shape == (8, VEHICLES, 3)
    second, _ = fleet.rollout(
        first[-1], work.u[3:], params=work.params, pending=queue, return_pending=True
    )
    assert second[-1].tobytes() == whole[-1].tobytes()
    soa = fleet.rollout(
        first[-1].T,
        work.u[3:].swapaxes(1, 2),
        params=work.params,
        pending=queue.swapaxes(1, 2),
        layout="soa",
    )
    assert soa.swapaxes(1, 2).tobytes() == second.tobytes()


def test_commands_before_the_first_are_felt(work: Work) -> None:
    before = np.random.default_rng(5).normal(size=(9, VEHICLES, 3))
    found = sp.Fleet(cart(), DT).rollout(*work.given(), params=work.params, pending=before)
    for b in (0, 11, 36):
        delays = (work.params["push_delay"][b], work.params["brake_delay"][b])
        wanted = one_by_one(work, b, delays, before[:, b])
        np.testing.assert_allclose(found[:, b], wanted, rtol=0, atol=1e-13)


def test_held_commands_act_from_their_delay_on(work: Work) -> None:
    held = Work(work.x0, np.repeat(work.u[:1], STEPS, axis=0), work.params)
    fleet = sp.Fleet(cart(), DT)
    rows = fleet.rollout(*held.given(), params=work.params)
    assert (
        fleet.rollout(work.x0, work.u[0], steps=STEPS, params=work.params).tobytes()
        == rows.tobytes()
    )


def test_a_simulator_has_the_bits_of_the_fleet(work: Work) -> None:
    wanted = sp.Fleet(cart(), DT).rollout(work.x0[:1], work.u[:, :1])[:, 0]
    sim = sp.Simulator(cart(), DT)
    sim.reset(work.x0[0])
    stepped = [sim.step(row) for row in work.u[:, 0]]
    assert np.array(stepped).tobytes() == wanted[1:].tobytes()
    sim.reset(work.x0[0])
    run = sim.run(work.u[:, 0])
    assert np.stack([run["x"], run["v_x"]], axis=1).tobytes() == wanted.tobytes()
    assert run["u_push"][4] == work.u[4, 0, 0], "the trajectory has the commands"
    sim.reset(work.x0[0])
    by_function = sim.run(lambda t, x: work.u[round(t / DT), 0], steps=STEPS)
    assert by_function["x"].tobytes() == run["x"].tobytes()


def test_a_snapshot_has_the_queue_and_a_reset_forgets_it(work: Work) -> None:
    sim = sp.Simulator(cart(), DT)
    for row in work.u[:5, 0]:
        sim.step(row)
    moment = sim.snapshot()
    after = [sim.step(row) for row in work.u[5:, 0]]
    sim.restore(moment)
    assert [sim.step(row) for row in work.u[5:, 0]] == after
    sim.reset()
    assert sim.step(push=9.0).v_x == DT * Input().push


def test_a_rejected_command_is_not_queued() -> None:
    sim = sp.Simulator(cart(), DT)
    sim.step(push=1.0)
    with pytest.raises(sp.InvalidValue, match=r"Input\.push = nan must be finite"):
        sim.step(push=float("nan"))
    with pytest.raises(sp.InvalidValue, match="Input takes 3 numbers"):
        sim.step([1.0, 2.0, "fast"])
    for _ in range(2):
        sim.step(push=2.0)
    assert sim.input.push == Input().push
    sim.step(push=2.0)
    assert sim.input.push == 1.0


def test_rules_of_rounding() -> None:
    delays = np.array([0.0, 0.1, 0.3, 0.31, 0.25, 0.24])
    assert whole_steps(age(delays, 0.1, "at_least")).tolist() == [0, 1, 3, 4, 3, 3]
    assert whole_steps(age(delays, 0.1, "nearest")).tolist() == [0, 1, 3, 3, 3, 2]
    assert whole_steps(age(np.float32(0.1) * 1.0, 0.025, "at_least")) == 4.0
    assert whole_steps(age(0.25, 0.02, "nearest")) == 13.0


def test_the_nearest_rule_counts_updates(work: Work) -> None:
    found = sp.Fleet(cart("nearest", push_delay=0.33, brake_delay=0.04), DT).rollout(*work.given())
    np.testing.assert_allclose(found[:, 7], one_by_one(work, 7, (0.3, 0.0)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("held", [False, True])
def test_gradients_reach_the_commands_through_the_delay(work: Work, held: bool) -> None:
    fleet = sp.Fleet(cart(), DT)
    few = {name: values[:4] for name, values in work.params.items()}
    u = work.u[0, :4] if held else work.u[:, :4]

    def value(u: np.ndarray) -> np.ndarray:
        return fleet.gradient(work.x0[:4], u, cost, params=few, steps=STEPS if held else None)[0]

    def cost(x: State, u: Input) -> Any:
        return x.x * x.x + u.push * u.wind

    _, g = fleet.gradient(work.x0[:4], u, cost, params=few, steps=STEPS if held else None)
    jacobian = fleet.jacobian(work.x0[:4], u, params=few, steps=STEPS if held else None)
    places = [(0, 0), (2, 2)] if held else [(0, 0, 0), (3, 1, 2), (17, 2, 1), (19, 3, 0)]
    for place in places:
        h = np.zeros_like(u)
        h[place] = 1e-5
        b = place[-2]
        central = (value(u + h)[b] - value(u - h)[b]) / 2e-5
        assert g.controls[place] == pytest.approx(central, rel=1e-6, abs=1e-9)
        ends = [
            fleet.rollout(work.x0[:4], v, params=few, steps=STEPS if held else None)[-1, b]
            for v in (u + h, u - h)
        ]
        found = (
            jacobian.controls[b][:, place[-1]]
            if held
            else jacobian.controls[b][:, place[0], place[-1]]
        )
        np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-9)


def test_the_cuda_text_reads_the_same_rows(work: Work, tmp_path: Path) -> None:
    plant = Plant.of(cart(), sp.integrate.get("rk4"))
    channels = Channels.of(plant)
    source = cuda.emit(lower(plant.step, "float64"), "float64", channels.fields)
    launch = cuda_harness.kernel(source, "rollout", tmp_path)
    p = np.tile(np.array(Params()), (VEHICLES, 1))
    p[:, 1], p[:, 2] = work.params["push_delay"], work.params["brake_delay"]
    steps = whole_steps(ages(channels, p[None], DT))
    pending = np.random.default_rng(5).normal(size=(9, VEHICLES, 3))
    arrays = RolloutArrays(work.x0[None], work.u, np.zeros((1, 1, 0)), p[None])
    wanted = sp.Fleet(cart(), DT).rollout(*work.given(), params=work.params, pending=pending)
    for pieces in ([0, STEPS], [0, 1, 4, STEPS]):
        out = np.empty((STEPS + 1, VEHICLES, 2))
        out[0] = work.x0
        numbers = {"substeps": 1, "dt": np.float64(DT), "tolerance": np.float64(1.0)}
        rollout = RolloutLaunch(launch, np, arrays, out, 1, Late(pending, steps), **numbers)
        for begin, end in pairwise(pieces):
            rollout(begin, end)
        assert out.tobytes() == wanted.tobytes()


def test_a_saved_fleet_keeps_its_delays(work: Work, tmp_path: Path) -> None:
    fleet = sp.Fleet(cart("nearest"), DT)
    fleet.save(tmp_path / "cart.plant")
    loaded = sp.Fleet.load(tmp_path / "cart.plant")
    a, b = (f.rollout(*work.given(), params=work.params) for f in (fleet, loaded))
    assert a.tobytes() == b.tobytes()


def test_what_cannot_be_done_says_so(work: Work) -> None:
    fleet = sp.Fleet(cart(), DT)
    with pytest.raises(sp.InvalidValue, match=r"pending has 2 rows.*last 3 commands"):
        fleet.rollout(*work.given(), pending=np.zeros((2, VEHICLES, 3)))
    bad = np.zeros((3, VEHICLES, 3))
    bad[1, 4, 1] = np.nan
    with pytest.raises(sp.InvalidValue, match=r"pending: wind of vehicle 4, step 1 is nan"):
        fleet.rollout(*work.given(), pending=bad)
    with pytest.raises(sp.InvalidValue, match=r"push_delay of vehicle 1 is 1e\+09 steps"):
        fleet.rollout(*work.given(), params={"push_delay": np.r_[0.1, 1e8, np.zeros(35)]})
    with pytest.raises(sp.InvalidValue, match=r"numbers of vehicles differ.*pending has 3"):
        fleet.rollout(*work.given(), pending=np.zeros((3, 3, 3)))
    with pytest.raises(sp.InvalidValue, match="models with dead time; 'four_wheel' has none"):
        sp.Fleet(sp.vehicles.four_wheel(), 0.001).rollout(
            np.zeros(11), np.zeros((1, 5)), steps=1, return_pending=True
        )
    with pytest.raises(sp.InvalidValue, match="'pull'"):
        Model("m", State, Input, Params, update=update, dead_times={"pull": "push_delay"})


def test_a_diverging_vehicle_is_found_with_the_inputs_that_acted() -> None:
    def explode(x: State, u: Input, w: Any, p: Params, dt: float) -> State:
        return State(x.x, x.v_x + 1.0 / (1.0 - u.push))

    model = Model(
        "explode", State, Input, Params, update=explode, dead_times={"push": "push_delay"}
    )
    u = np.zeros((10, 2, 3))
    u[2, 1, 0] = 1.0  # felt three steps later, in the step from t = 0.5 s
    with pytest.raises(sp.SimulationDiverged, match=r"vehicle 1 last had .* t = 0\.5 s"):
        sp.Fleet(Vehicle(model, Params()), DT).rollout(np.zeros((2, 2)), u, every=5)
