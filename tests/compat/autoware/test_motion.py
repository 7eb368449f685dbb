"""The motion models with their queues, against every recording of the upstream program."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from compat.autoware import sub_models
from skidpad.compat.autoware.motion import CompiledMotion, motion_model
from skidpad.compat.autoware.reports import Motion, MotionModel
from skidpad.vehicles.command_driven.parameters import gather

DATA = Path(__file__).parents[2] / "data" / "autoware"
RECORDINGS = sorted(DATA.glob("*.npz"))
ORDER = {
    "vel": "velocity", "acc": "acceleration", "acc_combined": "acceleration",
    "pedal": "acceleration", "slope_acc": "slope",
}  # fmt: skip
"""Names of inputs in the recordings, where they differ from ours."""


class Recording:
    """One recorded run."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.arrays = {name: file[name] for name in file.files}
        self.meta = json.loads(str(self.arrays["meta"]))
        self.name: str = self.meta["model"]
        params = dict(self.meta["params"])
        for key, value in params.items():
            if key.endswith("map_path"):
                params[key] = str(DATA / "maps" / value)
            if key.startswith("convert_"):
                params[key] = bool(value)
            if key.startswith("model_"):
                params[key] = ["" if part == "-" else part for part in value.split("|")]
        self.params = params

    def __getattr__(self, name: str) -> Any:
        return self.arrays[name]

    def model(self, compat: str | None = "upstream") -> MotionModel:
        values = gather(self.params, self.name, compat)
        return motion_model(self.name, values, self.meta["params"]["queue_dt"], compat)

    def put(self, model: MotionModel, state: list[float]) -> None:
        if self.name == "LEARNED_STEER_VEL":
            x, y, yaw, _, v_x, _, steer = state
            model.set_state(x, y, yaw, v_x, steer)
            return
        padded = [*state, *[0.0] * (6 - len(state))]
        model.set_state(*padded[:6])

    def row(self, model: MotionModel, k: int) -> list[float]:
        names = [ORDER.get(n, n) for n in self.meta["u_names"]]
        given = dict(zip(names, self.u[k].tolist(), strict=True))
        if any("pedal" in n for n in names):
            given["acceleration"] = given[next(n for n in names if "pedal" in n)]
        given["gear"] = float(self.gear[k])
        return [given[name] for name in model.inputs]


def replay(recording: Recording, model: MotionModel) -> tuple[list[Motion], list[Any]]:
    recording.put(model, recording.meta["initial_state"])
    motions, statuses = [model.motion], [model.actuation_status()]
    for k in range(recording.meta["steps"]):
        if k == recording.meta["reset_step"]:
            recording.put(model, recording.meta["reset_state"])
        model.set_input(recording.row(model, k))
        model.step(float(recording.dt[k]))
        motions.append(model.motion)
        statuses.append(model.actuation_status())
    return motions, statuses


def test_there_are_recordings() -> None:
    assert len(RECORDINGS) == 128


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: p.stem)
def test_upstream_is_reproduced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "submodels", sub_models)  # the name in the recordings
    recording = Recording(path)
    motions, statuses = replay(recording, recording.model())
    found, wanted = np.array(motions), recording.out
    scale = np.nanmax(np.where(np.isfinite(wanted), np.abs(wanted), 0.0), axis=0)
    usual = np.isfinite(wanted)
    assert (np.isnan(found) == np.isnan(wanted)).all()
    bound = 1e-9 * np.maximum(np.abs(wanted), scale)
    assert (np.abs(found - wanted)[usual] <= bound[usual]).all()
    assert (found[~usual & ~np.isnan(wanted)] == wanted[~usual & ~np.isnan(wanted)]).all()
    if "actuation_status" in recording.arrays:
        pairs = np.array([(math.nan, math.nan) if s is None else s for s in statuses])
        np.testing.assert_allclose(pairs, recording.actuation_status, rtol=1e-9, atol=1e-9)


def delayed(compat: str | None, delay: float = 0.1, period: float = 0.025) -> CompiledMotion:
    values = gather(
        {"wheel_base": 2.79, "steer_time_delay": delay, "steer_time_constant": 0.03},
        "DELAY_STEER_ACC_GEARED",
    )
    made = motion_model("DELAY_STEER_ACC_GEARED", values, period, compat)
    assert isinstance(made, CompiledMotion)
    return made


def first_motion(model: CompiledMotion, steps: list[float]) -> float:
    """Time after which the steering moves, if commanded in the first step."""
    model.set_state(0.0, 0.0, 0.0, 0.0)
    model.set_input([0.0, 0.3, 2.0])
    time = 0.0
    for dt in steps:
        model.step(dt)
        if model.motion.steer != 0.0:
            return time
        time += dt
    raise AssertionError("the steering never moved")


def test_dead_time_is_in_seconds_by_default_and_in_updates_upstream() -> None:
    """Steps twice as long as the nominal period: upstream's delay doubles."""
    even, slow = [0.025] * 20, [0.05] * 20
    assert first_motion(delayed(None), even) == pytest.approx(0.1)
    assert first_motion(delayed("upstream"), even) == pytest.approx(0.1)
    assert first_motion(delayed(None), slow) == pytest.approx(0.1)
    assert first_motion(delayed("upstream"), slow) == pytest.approx(0.2)


def test_a_delay_between_two_steps_takes_the_command_that_is_old_enough() -> None:
    assert first_motion(delayed(None, 0.11), [0.025] * 20) == pytest.approx(0.125)
    assert first_motion(delayed("upstream", 0.11), [0.025] * 20) == pytest.approx(0.1)


def test_jitter_uses_the_newest_command_at_least_the_delay_old() -> None:
    """Against a list of all commands with their times."""
    rng = np.random.default_rng(1)
    model = delayed(None, 0.13)
    model.set_state(0.0, 0.0, 0.0, 1.0)
    now, given = 0.0, [(-1e9, 0.0)]
    for dt in rng.uniform(0.005, 0.06, 200):
        command = float(rng.uniform(-0.3, 0.3))
        model.set_input([0.0, command, 2.0])
        now += float(dt)
        given.append((now, command))
        model.step(float(dt))
        newest = [value for time, value in given if now - time >= 0.13 - 1e-9][-1]
        assert model._stepper.input.steer == newest


def test_the_first_update_takes_no_time() -> None:
    for name in ("IDEAL_STEER_VEL", "DELAY_STEER_VEL", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"):
        ours, theirs = (
            motion_model(name, gather({"wheel_base": 2.79}, name), 0.025, compat)
            for compat in (None, "upstream")
        )
        for model in (ours, theirs):
            model.set_state(0.0, 0.0, 0.0, 0.0)
            model.step(0.0)
        assert ours.motion.a_x == 0.0
        assert math.isnan(theirs.motion.a_x)
        theirs.step(0.025)
        assert theirs.motion.a_x == 0.0


def test_an_ideal_model_reports_the_latest_command_even_if_it_does_not_move() -> None:
    values = gather({"wheel_base": 2.79}, "IDEAL_STEER_VEL")
    for compat in (None, "upstream"):
        model = motion_model("IDEAL_STEER_VEL", values, 0.025, compat)
        model.set_state(1.0, 0.0, 0.0, 0.0)
        model.set_input([4.0, 0.1])
        assert (model.motion.v_x, model.motion.steer, model.motion.x) == (4.0, 0.1, 1.0)


def test_bad_input_changes_nothing() -> None:
    model = delayed(None)
    model.set_state(1.0, 2.0, 0.1, 3.0)
    before = model.motion
    for row in ([math.nan, 0.0, 2.0], [0.0, 0.0], [0.0, "left", 2.0]):
        with pytest.raises(sp.InvalidValue):
            model.set_input(row)
    for dt in (-0.1, math.inf, math.nan):
        with pytest.raises(sp.InvalidValue, match=r"dt = .* must be finite and not negative"):
            model.step(dt)
    assert model.motion == before
    model.step(0.025)
    assert model.motion.v_x == 3.0


@pytest.mark.parametrize("tick", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("constant", [0.03, 0.1, 0.27])
def test_long_ticks_keep_to_the_limits_and_to_the_commands(tick: float, constant: float) -> None:
    """Steering and acceleration are first-order lags: they approach a step and never pass it."""
    given = {
        "wheel_base": 2.79, "steer_time_constant": constant, "acc_time_constant": constant,
        "steer_time_delay": 0.0, "acc_time_delay": 0.0, "steer_rate_lim": 0.4, "vel_rate_lim": 7.0,
    }  # fmt: skip
    model = motion_model("DELAY_STEER_ACC_GEARED", gather(given, "DELAY_STEER_ACC_GEARED"), 0.025)
    model.set_state(0.0, 0.0, 0.0, 0.0)
    model.set_input([2.0, 0.5, 2.0])
    time, before = 0.0, model.motion
    for _ in range(8):
        model.step(tick)
        time += tick
        now = model.motion
        assert before.steer <= now.steer <= 0.5 + 1e-12
        assert now.steer - before.steer <= 0.4 * tick + 1e-12
        assert before.a_x <= now.a_x <= 2.0 + 1e-12
        before = now
    assert before.v_x == pytest.approx(2.0 * (time - constant), rel=0.02)


def test_a_long_tick_that_fails_changes_nothing() -> None:
    model = delayed(None)
    model.set_state(0.0, 0.0, 0.0, 1.0)
    model.step(0.025)
    before, state = model.motion, model._stepper.snapshot()
    stepped, calls = model._stepper.step_of, [0]

    def failing(row: Any, dt: float, age: float = 1.0) -> Any:
        calls[0] += 1
        if calls[0] == 5:
            raise KeyboardInterrupt
        return stepped(row, dt, age)

    model._stepper.step_of = failing  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        model.step(0.5)
    assert calls[0] == 5
    assert model.motion == before
    assert model._stepper.snapshot() == state


def test_a_reset_is_no_acceleration() -> None:
    """The ideal car reports the command as its velocity, before a reset and after."""
    values = gather({"wheel_base": 2.79}, "IDEAL_STEER_VEL")
    for compat in (None, "upstream"):
        model = motion_model("IDEAL_STEER_VEL", values, 0.025, compat)
        model.set_state(0.0, 0.0, 0.0, 0.0)
        model.set_input([5.0, 0.0])
        model.step(0.025)
        model.set_state(3.0, 0.0, 0.0, 0.0)
        velocity = model.motion.v_x
        model.step(0.025)
        assert model.motion.a_x == pytest.approx((model.motion.v_x - velocity) / 0.025)
        assert model.motion.x == pytest.approx(3.0 + 5.0 * 0.025)
