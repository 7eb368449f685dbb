"""Laps of least time: against theory, symmetry, the vehicle's own equations, and bad input."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

import skidpad as sp
from skidpad.core import record
from skidpad.errors import InvalidValue, NotOptimal
from skidpad.geometry.maps import Track
from skidpad.run.trim import fastest_turn
from skidpad.vehicles import formula_student, four_wheel, get, single_track


def circle(radius: Any, width: Any = 8.0) -> Any:
    angle = np.linspace(0.0, 2.0 * np.pi, 80, endpoint=False)
    points = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return Track.between(points, 0.5 * width, 0.5 * width, spacing=1.0, name="circle")


def oval(straight: Any = 60.0, radius: Any = 20.0, width: Any = 8.0) -> Any:
    """Two straights and two half circles, counter-clockwise from the middle of a straight."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 25)
    right = [0.5 * straight, 0.0] + radius * np.column_stack([np.cos(angle), np.sin(angle)])
    half = [[0.0, -radius], *right, [0.0, radius]]
    points = np.vstack([half, -np.array(half)])
    points = points[np.append(True, np.hypot(*np.diff(points, axis=0).T) > 1e-9)][:-1]
    return Track.between(points, 0.5 * width, 0.5 * width, spacing=1.0, name="oval")


def straight(length: Any = 300.0) -> Any:
    points = np.column_stack([np.linspace(0.0, length, 20), np.zeros(20)])
    return Track.between(points, 4.0, 4.0, closed=False, spacing=1.0, name="straight")


@pytest.fixture(scope="module")
def lap() -> Any:
    return sp.control.minimum_lap(single_track(), oval(), progress=False)


def test_circle_is_driven_at_the_fastest_steady_turn() -> None:
    car, radius = single_track(), 40.0
    lap = sp.control.minimum_lap(car, circle(radius), line="centre", step=6.0, progress=False)
    fastest = fastest_turn(car, radius)
    assert lap.converged
    # Within the centre line's centimetre the radius is as much smaller.
    assert lap.time == pytest.approx(2.0 * np.pi * radius / fastest.v, rel=1e-3)
    np.testing.assert_allclose(lap.v, fastest.v, rtol=2e-3)


def test_lap_satisfies_the_equations_of_the_vehicle(lap: Any) -> None:
    car, trajectory = lap.vehicle, lap.trajectory()
    p = car.params
    w = record.build(car.model.Disturbance)
    rates = []
    for x, u in zip(lap.states, lap.inputs, strict=True):
        x, u = (
            record.unflatten(car.model.State, list(x)),
            record.unflatten(car.model.Input, list(u)),
        )
        rates.append(record.flatten(car.model.derivative(x, u, w, p)))
    rates = np.array(rates)
    # Trapezoidal rule over time; what remains is the curvature of rates over time per distance,
    # and the rounded corner between drive and brakes.
    steps = np.diff(lap.t)[:, None]
    change = np.diff(lap.states, axis=0) - 0.5 * steps * (rates[1:] + rates[:-1])
    scale = np.abs(lap.states).max(axis=0)
    error = np.abs(change) / scale
    assert np.median(error) < 1e-4
    assert error[:, :6].max() < 0.01  # pose and velocity
    assert error.max() < 0.1  # actuators and load, which follow within a step
    assert trajectory.t[-1] == pytest.approx(lap.time)


def test_vehicle_stays_within_track_and_limits(lap: Any) -> None:
    car, limits = lap.vehicle, lap.model.limits
    half = 0.5 * car.params.width
    assert np.abs(lap.n).max() == pytest.approx(4.0 - half, abs=1e-5)  # it uses the whole width
    for name, column in zip(car.model.Input._fields, lap.inputs.T, strict=True):
        low, high = limits.inputs[name]
        assert low - 1e-6 * abs(low) <= column.min()
        assert column.max() <= high + 1e-6 * abs(high)
    steer = lap.states[:, car.model.State._fields.index("steer")]
    rate = np.diff(steer) / np.diff(lap.t)
    assert np.abs(rate).max() <= limits.steer_rate_max * (1.0 + 1e-6)


def test_lap_is_faster_than_the_centre_line_and_than_a_narrower_track(lap: Any) -> None:
    car, track = lap.vehicle, lap.track
    centre = sp.control.minimum_lap(car, track, line="centre", progress=False)
    narrow = sp.control.minimum_lap(car, track, margin=1.0, progress=False)
    assert lap.time < narrow.time < centre.time
    assert np.abs(centre.n).max() <= 0.0101


def test_lap_of_a_symmetric_track_is_symmetric(lap: Any) -> None:
    # Turned by half a turn the oval is itself, so the second half repeats the first.
    half = 0.5 * lap.track.length
    s = np.linspace(5.0, half - 5.0, 50)
    first, second = np.interp(s, lap.s, lap.v), np.interp(s + half, lap.s, lap.v)
    np.testing.assert_allclose(first, second, rtol=0.01)
    mirrored = sp.control.minimum_lap(lap.vehicle, lap.track.mirrored(), progress=False)
    assert mirrored.time == pytest.approx(lap.time, rel=1e-6)
    np.testing.assert_allclose(mirrored.n, -lap.n, atol=1e-3)


def test_solution_is_stationary(lap: Any) -> None:
    made, found = lap.evaluations, lap.solution
    pattern = made.of.jacobian.pattern
    entries = made.jacobian(found.x)
    jacobian = sparse.csc_matrix((entries, pattern.indices, pattern.indptr), shape=pattern.shape)
    rest = made.gradient(found.x) + jacobian.T @ found.multipliers + found.bound_multipliers
    assert np.abs(rest).max() < 1e-7


def test_both_orders_agree_on_a_fine_mesh() -> None:
    car, track = single_track(), oval()
    times = [
        sp.control.minimum_lap(car, track, order=order, step=2.0, progress=False).time
        for order in (2, 4)
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-3)


def test_open_lap_begins_at_its_speed_and_accelerates() -> None:
    car = single_track()
    lap = sp.control.minimum_lap(car, straight(), v_start=10.0, progress=False)
    assert lap.v[0] == pytest.approx(10.0)
    assert lap.n[0] == 0.0
    # Along a straight the drive force is at its limit, after its lag.
    force = lap.states[:, car.model.State._fields.index("F_drive")]
    assert force[-1] == pytest.approx(car.params.drive.F_max, rel=0.01)
    assert (np.diff(lap.v) > 0.0).all()
    flying = sp.control.minimum_lap(car, straight(), v_start=20.0, progress=False)
    assert flying.time < lap.time


@pytest.mark.slow_cases("formula_student")
@pytest.mark.parametrize("car", [four_wheel(), formula_student()], ids=lambda c: c.name)
def test_other_vehicles(car: Any) -> None:
    lap = sp.control.minimum_lap(car, oval(), step=8.0, progress=False)
    assert lap.converged
    assert lap.solution.violation < 1e-6
    assert lap.states.shape == (len(lap.s), record.size(car.model.State))
    grip = lap.model.limits.grip
    assert 0.8 * np.sqrt(grip * 20.0) < lap.v.min() < 1.4 * np.sqrt(grip * 24.0)


def test_next_lap_starts_from_a_previous_one(lap: Any) -> None:
    heavier = single_track(m=1.01 * lap.vehicle.params.m)
    cold = sp.control.minimum_lap(heavier, lap.track, progress=False)
    warm = sp.control.minimum_lap(heavier, lap.track, previous=lap, progress=False)
    assert warm.evaluations.of is lap.evaluations.of
    assert warm.cost == pytest.approx(cold.cost, abs=2e-5)
    assert warm.solution.iterations < 0.6 * cold.solution.iterations
    assert warm.time > lap.time


def test_lap_is_a_trajectory_a_file_and_a_reference(lap: Any, tmp_path: Any) -> None:
    trajectory = lap.trajectory()
    assert trajectory["s"][-1] == pytest.approx(lap.track.length)
    np.testing.assert_array_equal(trajectory["n"], lap.n)
    lap.to_csv(tmp_path / "lap.csv")
    read = sp.Trajectory.from_csv(tmp_path / "lap.csv")
    np.testing.assert_array_equal(read["v_x"], trajectory["v_x"])
    reference = lap.reference()
    assert reference.duration == pytest.approx(lap.time)
    x, y = lap.states[:, 0], lap.states[:, 1]
    np.testing.assert_allclose(reference.at_time(lap.t).x, x, atol=1e-9)
    # Driven line and centre line are as far apart as n says.
    centre = lap.track.line
    offset = centre.project(np.column_stack([x, y])).left
    np.testing.assert_allclose(offset[:-1], lap.n[:-1], atol=0.05)


def test_failure_names_the_constraint() -> None:
    with pytest.raises(NotOptimal, match=r"did not converge in \d+ iterations.*at s = ") as caught:
        sp.control.minimum_lap(single_track(), oval(), max_iterations=3, progress=False)
    assert not caught.value.lap.converged
    assert np.isfinite(caught.value.lap.time)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"line": "outside"}, r"line = 'outside' is unknown; allowed are|line = 'outside' must be"),
        ({"order": 3}, "order = 3 must be 2 or 4"),
        ({"margin": -1.0}, "margin = -1 m must be at least 0"),
        ({"margin": 3.5}, r"is 8 m wide at s = .*needs"),
        ({"step": 0.0}, "step = 0"),
        ({"v_start": 0.0}, "v_start = 0 m/s must be at least 1 m/s"),
        ({"controls": "joystick"}, "controls = 'joystick' must be one of driver, inputs"),
        ({"starts": 0}, "starts = 0"),
        ({"previous": 3}, "previous"),
    ],
)
def test_bad_settings(changes: Any, message: Any) -> None:
    with pytest.raises(InvalidValue, match=message):
        sp.control.minimum_lap(single_track(), oval(), **changes, progress=False)


def test_vehicles_and_tracks_without_a_lap() -> None:
    with pytest.raises(InvalidValue, match="no smooth continuous motion"):
        sp.control.minimum_lap(get("DELAY_STEER_ACC")(), oval())
    with pytest.raises(InvalidValue, match="closed = True, but track 'straight' is open"):
        sp.control.minimum_lap(single_track(), straight(), closed=True)
    with pytest.raises(InvalidValue, match="reaches the centre of its bend"):
        sp.control.minimum_lap(single_track(), oval(radius=30.0, width=59.8))
