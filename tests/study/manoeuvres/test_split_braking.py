"""Braking with one side on a slippery road: the moment, the driver, and what comes after rest."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import Case, Result, Subject, perform
from skidpad.study.manoeuvres.case_run import CaseRun
from skidpad.study.manoeuvres.longitudinal import LANE, SplitBraking, brake_moment, braking
from study.manoeuvres.fakes import STOPS

CAR = Subject(sp.vehicles.two_track())
LOW = 0.3


@cache
def let_go() -> CaseRun:
    """Braked with 5 m/s² and the wheel held straight."""
    ice = {name: lambda t: np.where(t < 0.0, 1.0, LOW) for name in ("mu_fl", "mu_rl")}
    case = Case(
        label="wheel held", duration=6.0, v=15.0, speed=15.0, a=lambda t: 5.0 * braking(t),
        hold=lambda t: (t < 0.0).astype(float), disturbance=ice, rests=True,
    )  # fmt: skip
    (run,) = STOPS.drive([(CAR, case)])
    return run


def test_the_difference_of_brake_forces_times_half_the_track_turns_the_car() -> None:
    """I_z times the yaw acceleration, with what the tyres give sideways."""
    run, p = let_go().since(0.05, 0.45), CAR.vehicle.params
    F_x, F_y = (
        {w: run[f"{kind}_{w}"] for w in ("fl", "fr", "rl", "rr")} for kind in ("F_x", "F_y")
    )
    half_f, half_r = 0.5 * p.track_f, 0.5 * p.track_r
    brakes = half_f * (F_x["fr"] - F_x["fl"]) + half_r * (F_x["rr"] - F_x["rl"])
    sideways = p.l_f * (F_y["fl"] + F_y["fr"]) - p.l_r * (F_y["rl"] + F_y["rr"])
    turned = (run["omega"][-1] - run["omega"][0]) * p.I_z
    time = run.t[-1] - run.t[0]
    moment = (brakes + sideways).mean(axis=0)
    np.testing.assert_allclose(turned / time, moment, atol=0.03 * np.abs(brakes).mean())
    assert brakes.mean() < -200.0  # to the right, where the road grips
    assert run["omega"][-1, 0] < 0.0


def test_the_moment_is_between_those_of_a_slippery_side_at_its_limit_and_without_brakes() -> None:
    """0.5 track m (a - low grip) and 0.5 track m a: a wheel that slides gives less than peak."""
    run, p = let_go(), CAR.vehicle.params
    kept = run.since(0.5, 1.5)
    a = float(kept["v_x"][0, 0] - kept["v_x"][-1, 0])
    lever = 0.5 * max(p.track_f, p.track_r) * p.m
    assert lever * (a - LOW * CAR.grip) < -brake_moment(CAR, run)[0] < lever * a


def test_a_car_that_has_stopped_stands() -> None:
    """Who brakes does not want to reverse, and has turned round here before."""
    run = let_go()
    assert np.abs(run["v_x"][run.t > 5.8]).max() < 0.05
    rest = run["x"][run.t > 5.0]
    assert np.ptp(rest) < 0.05


@cache
def results() -> list[Result]:
    """All decelerations and styles: of the car, with half the grip across the road, and with weak
    brakes. Each has the bits that it has alone."""
    changed: list[dict[str, float]] = [{"tyres.tyre.lateral.mu": 0.5}, {"brake_max": 10.0}]
    cars = [CAR, *(Subject(sp.vehicles.two_track(**params)) for params in changed)]
    return perform([SplitBraking()], cars, STOPS)


@pytest.mark.slow
def test_some_driver_keeps_the_lane_and_brakes_harder_than_ice_alone_would_allow() -> None:
    """Between the grip of the slippery side on all wheels and that of both."""
    split, found = SplitBraking(), results()[0]
    way, v = found["stopping_distance"][0], split.speed
    low = v**2 / (2.0 * LOW * CAR.grip)
    mean = v**2 / (2.0 * 0.5 * (1.0 + LOW) * CAR.grip)
    assert mean < way < 0.9 * low
    assert found["deviation"][0] < LANE
    assert found["yaw_moment"][0] < 0.0


def test_of_weak_brakes_is_told_what_they_give() -> None:
    """And not that the car leaves its lane."""
    found = results()[2]
    assert found.findings is not None
    (note,) = found.findings.notes
    assert "brakes and resistance give no more than 0." in note


def test_theory_is_by_grip_along_the_road() -> None:
    """Half of that across does not change it."""
    found = [one.findings for one in results()[:2]]
    theories = [one["stopping_distance"].theory[0] for one in found if one is not None]
    assert theories[0] == theories[1]
