"""Axle curves: forces and slip angles from the motion of simulated cars whose tyres are known."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.body import Demand
from skidpad.errors import InvalidValue
from skidpad.run.trim import steady, straight
from skidpad.study.identify.axle_curves import AxleCurves, axle_curves, integrated_v_y, tyre_curve
from skidpad.study.identify.drives import logged_axle_curves
from skidpad.study.logs.cleaning import noise_level
from skidpad.study.logs.preparation import Prepared

CARS = {
    "single_track": sp.vehicles.single_track("sports"),
    "two_track": sp.vehicles.two_track("sports"),
}
CHANNELS = ("v_x", "v_y", "omega", "steer", "a_x", "a_y")
NOISE = {"v_x": 0.03, "v_y": 0.03, "omega": 0.005, "steer": 0.002, "a_x": 0.15, "a_y": 0.15}
"""Standard deviations of a good inertial sensor, in SI units."""
V = 20.0


@cache
def drive(name: str) -> sp.Trajectory:
    """A minute at 20 m/s: slow weaving of growing amplitude with straights in between."""
    car = CARS[name]
    start, _, _ = straight(car, V)
    sim = sp.Simulator(car, dt=0.01)
    sim.reset(start)

    def controls(t: float, x: Any) -> Any:
        weave = np.sin(2.0 * np.pi * 0.3 * t) * (0.02 + 0.05 * t / 60.0)
        steer = 0.0 if t % 15.0 < 3.0 else weave
        demand = Demand(a=1.5 * (V - x.v_x), v=V, steer=float(steer))
        return car.body.command(x, demand, car.params)

    return sim.run(controls, duration=63.0)


def channels(name: str, seed: int | None = None, **bias: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    run = drive(name)
    scale = 0.0 if seed is None else 1.0
    return {
        key: run[key] + bias.get(key, 0.0) + scale * rng.normal(0.0, NOISE[key], len(run.t))
        for key in CHANNELS
    }


def axle(run: Any, kind: str, end: str) -> Any:
    """Force of an axle, or the mean slip angle of its wheels."""
    if f"{kind}_{end}" in run:
        return run[f"{kind}_{end}"]
    both = run[f"{kind}_{end}l"] + run[f"{kind}_{end}r"]
    return 0.5 * both if kind == "alpha" else both


@pytest.mark.parametrize("name", CARS)
def test_forces_and_slip_angles_of_a_drive_are_those_of_the_car(name):
    run = drive(name)
    curves = axle_curves(CARS[name], channels(name), run.t, window=0.05)
    for end, samples in (("f", curves.front), ("r", curves.rear)):
        peak = np.abs(axle(run, "F_y", end)).max()
        # Kinks of the steering, which last longer after smoothing, are not compared.
        smooth = np.abs(np.gradient(np.gradient(run["steer"]))) < 1e-6
        error = (samples.F_y - axle(run, "F_y", end))[smooth]
        # Aligning moments, which count as forces, are below 2.5 % of the forces times L.
        assert np.abs(error).max() < 0.025 * peak
        angle = (samples.alpha - axle(run, "alpha", end))[smooth]
        assert np.abs(angle).max() < np.deg2rad(0.02)
        load = axle(run, "F_z", end)
        np.testing.assert_allclose(samples.F_z[smooth], load[smooth], rtol=0.01)
    assert curves.v_x == pytest.approx(V, rel=0.01)


def test_the_force_differs_from_the_cars_by_moments_that_are_not_lateral_forces():
    """Aligning moments, and longitudinal forces that differ from left to right."""
    car = CARS["two_track"]
    x, u, _ = steady(car, 15.0, 0.02)
    out, p = car.outputs(x, u), car.params
    motion = {key: getattr(x, key) for key in ("v_x", "v_y", "omega", "steer")}
    log = {key: np.full(50, v) for key, v in {**motion, "a_x": out.a_x, "a_y": out.a_y}.items()}
    curves = axle_curves(car, log, np.arange(50) * 0.01)
    moment = out.M_z_fl + out.M_z_fr + out.M_z_rl + out.M_z_rr
    for F_x, F_y, steer, y in (
        (out.F_x_fl, out.F_y_fl, out.steer_fl, 0.5 * p.track_f),
        (out.F_x_fr, out.F_y_fr, out.steer_fr, -0.5 * p.track_f),
        (out.F_x_rl, out.F_y_rl, 0.0, 0.5 * p.track_r),
        (out.F_x_rr, out.F_y_rr, 0.0, -0.5 * p.track_r),
    ):
        moment -= y * (F_x * np.cos(steer) - F_y * np.sin(steer))
    front = curves.front.F_y[25] - moment / (p.l_f + p.l_r)
    assert front == pytest.approx(out.F_y_fl + out.F_y_fr, rel=0.003)
    rear = curves.rear.F_y[25] + moment / (p.l_f + p.l_r)
    assert rear == pytest.approx(out.F_y_rl + out.F_y_rr, rel=0.001)
    # The moments are small: this is what is neglected.
    assert abs(moment) / (p.l_f + p.l_r) < 0.05 * front
    used = np.hypot(out.F_x_rl + out.F_x_rr, rear) / (out.F_z_rl + out.F_z_rr)
    assert curves.rear.friction_used[25] == pytest.approx(used, rel=0.04)


@pytest.mark.parametrize("name", CARS)
def test_medians_of_a_noisy_drive_lie_on_the_tyres_of_the_car(name):
    run = drive(name)
    curves = axle_curves(CARS[name], channels(name, 1), run.t)
    tyres = curves.tyre_curve(CARS[name])
    for end, samples, force in (
        ("f", curves.front, tyres.F_y_f),
        ("r", curves.rear, tyres.F_y_r),
    ):
        bins = samples.bins(window=curves.window)
        assert len(bins.alpha) > 15
        peak = np.abs(axle(run, "F_y", end)).max()
        error = bins.F_y - np.interp(bins.alpha, tyres.alpha, force)
        assert np.abs(error).max() < 0.03 * peak
        assert (bins.low <= bins.F_y).all()
        assert (bins.F_y <= bins.high).all()


def test_without_a_lateral_velocity_a_kalman_filter_estimates_it():
    """The drive never goes straight ahead for long, and the gyro and the hand wheel are off."""
    car, run = CARS["single_track"], drive("single_track")
    known = {name: values for name, values in channels("single_track", 4).items() if name != "v_y"}
    known["omega"] = known["omega"] + 0.01
    known["steering_wheel"] = 15.0 * known.pop("steer")
    noise = {**NOISE, "steering_wheel": 15.0 * NOISE["steer"]}
    log = Prepared("drive", run.t, 0.01, known, {}, noise, {}, (), ())
    curves = logged_axle_curves(car, log, {"log.steer_ratio": 1.0 / 15.0, "log.omega_bias": 0.01})
    assert "v_y is estimated by an extended Kalman filter of single_track" in curves.notes
    tyres = curves.tyre_curve(car)
    for samples, force in ((curves.front, tyres.F_y_f), (curves.rear, tyres.F_y_r)):
        bins = samples.bins(window=curves.window)
        error = bins.F_y - np.interp(bins.alpha, tyres.alpha, force)
        assert np.abs(error).max() < 0.05 * np.abs(bins.F_y).max()


def test_standard_deviations_are_those_of_the_noise():
    name = "single_track"
    t = drive(name).t
    clean, noisy = (axle_curves(CARS[name], channels(name, seed), t) for seed in (None, 3))
    for end in ("front", "rear"):
        one, other = getattr(clean, end), getattr(noisy, end)
        for field, std in (("alpha", "alpha_std"), ("F_y", "F_y_std")):
            scatter = np.std(getattr(other, field) - getattr(one, field))
            assert np.median(getattr(other, std)) == pytest.approx(scatter, rel=0.15)


def test_noise_level_is_told_from_a_signal():
    t = np.arange(5000) * 0.01
    noise = np.random.default_rng(2).normal(0.0, 0.05, len(t))
    assert noise_level(np.sin(3.0 * t) + noise) == pytest.approx(0.05, rel=0.05)
    assert np.isnan(noise_level(np.full(50, np.nan)))


@pytest.mark.parametrize("name", CARS)
def test_tyre_curve_passes_through_the_steady_turns_of_a_car(name):
    car = CARS[name]
    tyres = tyre_curve(car, np.linspace(-0.1, 0.1, 81), v_x=V)
    for curvature in (-0.018, 0.004, 0.01, 0.017):
        x, u, _ = steady(car, V, curvature)
        log = {key: np.full(50, getattr(x, key)) for key in ("v_x", "v_y", "omega", "steer")}
        log["a_y"] = np.full(50, car.outputs(x, u).a_y)
        turn = axle_curves(car, log, np.arange(50) * 0.01)
        for one, force in ((turn.front, tyres.F_y_f), (turn.rear, tyres.F_y_r)):
            found = np.interp(one.alpha[25], tyres.alpha, force)
            # A turn takes more drive than going straight, which takes some grip off the axle.
            assert found == pytest.approx(one.F_y[25], rel=0.03)


def test_the_curve_of_linear_tyres_is_a_straight_line():
    car = sp.vehicles.commonroad_st()
    p, angles = car.params, np.linspace(-0.05, 0.05, 11)
    tyres = tyre_curve(car, angles, v_x=15.0)
    base = p.l_f + p.l_r
    load_f, load_r = p.m * p.g * p.l_r / base, p.m * p.g * p.l_f / base
    np.testing.assert_allclose(tyres.F_y_r, p.C_r * load_r * angles, rtol=0.01, atol=1.0)
    np.testing.assert_allclose(
        tyres.F_y_f * np.cos(angles), p.C_f * load_f * angles, rtol=0.02, atol=1.0
    )


def test_integrated_lateral_velocity_survives_biased_sensors():
    name = "single_track"
    run = drive(name)
    log = channels(name, 4, a_y=0.1, omega=0.003)
    v_y, std = integrated_v_y(run["v_x"], log["a_y"], log["omega"], 0.01)
    error = v_y - run["v_y"]
    assert np.sqrt(np.mean(error**2)) < 0.25 * np.abs(run["v_y"]).max()
    assert np.sqrt(np.mean(error**2)) < 2.0 * np.sqrt(np.mean(std**2))
    del log["v_y"]
    curves = axle_curves(CARS[name], log, run.t)
    assert any("integrated" in note for note in curves.notes)
    # Longer away from a straight means less certain.
    assert np.nanmax(curves.rear.alpha_std) > 5.0 * np.nanmin(curves.rear.alpha_std)


def test_lateral_velocity_from_an_estimator_and_from_sideslip_agree():
    run, log = drive("single_track"), channels("single_track")
    v_y = log.pop("v_y")
    car = CARS["single_track"]
    given = axle_curves(car, log, run.t, v_y=v_y)
    angle = axle_curves(car, {**log, "sideslip": np.arctan2(v_y, log["v_x"])}, run.t)
    np.testing.assert_allclose(given.rear.alpha, angle.rear.alpha, atol=1e-6)


def test_a_log_without_accelerations_gives_nearly_the_same_forces():
    run, log = drive("single_track"), channels("single_track")
    car = CARS["single_track"]
    full = axle_curves(car, log, run.t)
    less = axle_curves(car, {k: log[k] for k in ("v_x", "v_y", "omega", "steer")}, run.t)
    inner = slice(50, -50)
    peak = np.abs(full.rear.F_y).max()
    assert np.abs(less.rear.F_y - full.rear.F_y)[inner].max() < 0.05 * peak
    assert {note.split()[0] for note in less.notes} >= {"a_y", "a_x"}


def test_slow_and_unknown_samples_are_counted_and_left_out():
    t = np.arange(1000) * 0.01
    log = {key: np.zeros(1000) for key in CHANNELS} | {"v_x": np.linspace(0.0, 10.0, 1000)}
    log["omega"][600:650] = np.nan
    curves: AxleCurves = axle_curves(CARS["single_track"], log, t, v_min=2.0)
    assert curves.excluded == {"a channel is unknown": 50, "slower than 2 m/s": 200}
    assert np.isnan(curves.front.F_y).sum() == 250
    with pytest.raises(InvalidValue, match="1000 samples: slower than 50 m/s"):
        axle_curves(CARS["single_track"], {**log, "omega": 0.0 * t}, t, v_min=50.0)


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        (("steer",), "need the channels steer"),
        (("v_x", "omega"), "v_x, omega"),
        (("a_y", "v_y"), "a_y (or v_y, or sideslip)"),
    ],
)
def test_missing_channels_are_named(missing, text):
    run, log = drive("single_track"), channels("single_track")
    for key in missing:
        del log[key]
    with pytest.raises(InvalidValue) as caught:
        axle_curves(CARS["single_track"], log, run.t)
    assert text in str(caught.value)


def test_what_cannot_be_computed_is_refused():
    car, t = CARS["single_track"], np.arange(400) * 0.01
    turn = {"v_x": np.full(400, 10.0), "omega": np.full(400, 0.3), "steer": np.full(400, 0.1)}
    with pytest.raises(InvalidValue, match="never drives straight"):
        axle_curves(car, {**turn, "a_y": np.full(400, 3.0)}, t)
    with pytest.raises(InvalidValue, match="evenly spaced"):
        axle_curves(car, {**turn, "a_y": t}, t**2 + t)
    with pytest.raises(InvalidValue, match="v_y has shape"):
        axle_curves(car, turn, t, v_y=np.zeros(3))
    with pytest.raises(InvalidValue, match="has no tyre curve"):
        tyre_curve(sp.vehicles.kinematic_bicycle(), np.linspace(-0.1, 0.1, 5), v_x=10.0)
