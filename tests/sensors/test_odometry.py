"""Odometry: exact on arcs, and errors that grow with the way whatever the rate."""

from __future__ import annotations

import math

import casadi
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.linalg import expm

from skidpad.errors import InvalidValue
from skidpad.sensors import Channel, Growth, Motion, Mounting, Odometry
from skidpad.sensors.navigation import Step, change_of, twist_of

length = st.floats(-3.0, 3.0)


def arc(v: float, omega: float, t: np.ndarray, vehicles: int = 1) -> Motion:
    """A body whose point moves along its heading on a circle, or straight."""
    yaw = omega * t
    x = v * np.sin(yaw) / omega if omega else v * t
    y = v * (1.0 - np.cos(yaw)) / omega if omega else 0.0 * t
    wide = (np.repeat(q[:, None], vehicles, 1) for q in (x, y, yaw))
    x, y, yaw = wide
    return Motion(x=x, y=y, yaw=yaw, v_x=v, omega=omega)


@given(x=length, y=length, yaw=st.one_of(length, st.floats(-3e-4, 3e-4)))
def test_the_change_of_a_twist_is_the_exponential_of_its_matrix(
    x: float, y: float, yaw: float
) -> None:
    matrix = expm(np.array([[0.0, -yaw, x], [yaw, 0.0, y], [0.0, 0.0, 0.0]]))
    change = change_of(Step(x, y, yaw))
    assert np.abs(matrix[:2, 2] - change[:2]).max() < 1e-13
    back = twist_of(change)
    assert np.abs(np.array(back) - (x, y, yaw)).max() < 1e-12


@pytest.mark.parametrize("omega", [0.8, -0.8, 0.0])
def test_on_an_arc_the_twist_is_the_velocity_and_the_pose_the_path(omega: float) -> None:
    t = np.arange(0.0, 5.0, 0.1)
    truth = arc(4.0, omega, t)
    found = Odometry(rate=10.0).along_fleet(t, truth)
    assert len(found) == t.size - 1, "the first sample has no way behind it"
    for name, expected in [("v_x", 4.0), ("v_y", 0.0), ("omega", omega)]:
        assert np.abs(found[name] - expected).max() < 1e-12
    assert np.abs(found["x"] - truth.x[1:]).max() < 1e-12
    assert np.abs(found["y"] - truth.y[1:]).max() < 1e-12
    assert np.abs(found["yaw"] - truth.yaw[1:]).max() < 1e-12
    chord = 2.0 * 4.0 / omega * math.sin(0.05 * omega) if omega else 0.4
    assert np.abs(np.hypot(found["d_x"], found["d_y"]) - chord).max() < 1e-12


def test_the_mounting_is_what_is_followed() -> None:
    t = np.arange(0.0, 3.0, 0.05)
    mounting = Mounting(x=-1.2, y=0.3, yaw=0.5)
    found = Odometry(mounting=mounting).along_fleet(t, arc(4.0, 0.8, t))
    instant = Odometry(mounting=mounting).measure(Motion(v_x=4.0, omega=0.8))
    for name in ("v_x", "v_y", "omega"):
        assert np.abs(found[name] - getattr(instant, name)).max() < 1e-11
    # Velocity of the point in body axes, seen from axes turned by 0.5 rad.
    body = np.array([4.0 - 0.8 * 0.3, 0.8 * -1.2])
    c, s = math.cos(0.5), math.sin(0.5)
    assert np.abs(np.array(instant[:2]) - np.array([[c, s], [-s, c]]) @ body).max() < 1e-14


def test_a_heading_that_wraps_does_not_matter() -> None:
    t = np.arange(0.0, 20.0, 0.1)
    truth = arc(4.0, 0.8, t)
    wrapped = truth._replace(yaw=(truth.yaw + np.pi) % (2.0 * np.pi) - np.pi)
    found = Odometry().along_fleet(t, wrapped)
    assert np.abs(found["omega"] - 0.8).max() < 1e-10
    assert np.abs(found["yaw"][-1] - truth.yaw[-1]).max() < 1e-10


def test_scale_and_bias_act_on_the_way() -> None:
    t = np.arange(0.0, 10.0 + 1e-9, 0.1)
    sensor = Odometry(forward=Channel(scale=0.02), turning=Channel(bias=0.01))
    found = sensor.along_fleet(t, arc(3.0, 0.0, t))
    assert found["yaw"][-1, 0] == pytest.approx(0.1)
    # A straight drive bends into an arc of length 1.02 times 30 m.
    radius = 3.0 * 1.02 / 0.01
    assert found["x"][-1, 0] == pytest.approx(radius * math.sin(0.1))
    assert found["y"][-1, 0] == pytest.approx(radius * (1.0 - math.cos(0.1)))


@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_the_error_over_a_way_does_not_depend_on_the_rate(rate: float) -> None:
    vehicles = 2000
    t = np.arange(0.0, 4.0 + 1e-9, 0.02)
    way = 6.0 * 4.0
    growth = Growth(along=0.05, yaw=0.01)
    found = Odometry(rate=rate, growth=growth).along_fleet(t, arc(6.0, 0.0, t, vehicles))
    low, high = stats.chi2.ppf(1e-6, vehicles), stats.chi2.isf(1e-6, vehicles)
    assert low < np.sum(found["yaw"][-1] ** 2) / (0.01**2 * way) < high
    # The heading error bends the way, by less than 1e-3 of it; allow for that.
    along = np.sum((np.sum(found["v_x"], axis=0) / rate - way) ** 2) / (0.05**2 * way)
    assert low < along < high


def test_turning_on_the_spot_has_an_error_of_its_own() -> None:
    vehicles = 2000
    t = np.arange(0.0, 2.0 + 1e-9, 0.1)
    truth = Motion(yaw=np.repeat(0.5 * t[:, None], vehicles, 1), omega=0.5)
    found = Odometry(growth=Growth(along=1.0, yaw_turning=0.02)).along_fleet(t, truth)
    squares = np.sum((found["yaw"][-1] - 1.0) ** 2) / 0.02**2
    assert stats.chi2.ppf(1e-6, vehicles) < squares < stats.chi2.isf(1e-6, vehicles)
    assert np.abs(found["v_x"]).max() == 0.0


def test_lost_samples_are_in_the_pose() -> None:
    t = np.arange(0.0, 5.0, 0.1)
    truth = arc(4.0, 0.8, t)
    found = Odometry(dropout=0.5).along_fleet(t, truth, seed=3)
    rows = np.round(found.stamp / 0.1).astype(int)
    assert 10 < rows.size < 40
    assert np.abs(found["x"] - truth.x[rows]).max() < 1e-12


def test_the_twist_traces() -> None:
    symbols = casadi.SX.sym("change", 3)
    traced = casadi.Function(
        "twist", [symbols], [casadi.vertcat(*twist_of(Step(*casadi.vertsplit(symbols))))]
    )
    for change in ([1.0, 0.2, 0.3], [1.0, 0.2, 0.0]):
        found = traced(change).full().ravel()
        assert np.abs(found - twist_of(Step(*change))).max() < 1e-14
        slope = casadi.Function("slope", [symbols], [casadi.jacobian(traced(symbols), symbols)])
        assert np.isfinite(slope(change).full()).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"growth": Growth(along=-1.0)}, r"Growth.along = -1 m/√m must be at least 0"),
        ({"growth": 0.1}, "Odometry.growth must be a Growth"),
        ({"turning": 0.1}, "Odometry.turning must be a Channel"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Odometry(**settings)  # type: ignore[arg-type]
