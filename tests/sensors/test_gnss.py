"""GNSS: the antenna's own motion, places on the ellipsoid, and where there is no reception."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.geometry.geodesy import place_in_world
from skidpad.sensors import Channel, Gnss, Motion, Mounting, Origin


def test_a_level_antenna_turns_with_the_car() -> None:
    gnss = Gnss(mounting=Mounting(x=-0.5, y=0.2, z=1.4), velocity=Channel(), heading=Channel())
    truth = Motion(x=10.0, y=20.0, yaw=math.pi / 2, v_x=8.0, v_y=0.3, omega=0.5)
    found = gnss.measure(truth)
    assert np.abs(np.array(found[:3]) - (10.0 - 0.2, 20.0 - 0.5, 1.4)).max() < 1e-14
    # Body axes: (v_x - omega y, v_y + omega x); the car points along the world's y axis.
    assert np.abs(np.array(found[3:6]) - (-(0.3 - 0.25), 8.0 - 0.1, 0.0)).max() < 1e-14
    assert found.yaw == math.pi / 2


def test_a_high_antenna_leans_with_the_car() -> None:
    found = Gnss(mounting=Mounting(z=2.0)).measure(Motion(roll=0.3))
    assert np.abs(np.array(found[:3]) - (0.0, -2.0 * math.sin(0.3), 2.0 * math.cos(0.3))).max() < (
        1e-15
    )
    assert math.isnan(found.v_x)
    assert math.isnan(found.yaw)


def test_velocity_is_the_slope_of_position() -> None:
    gnss = Gnss(mounting=Mounting(1.0, -0.4, 1.2), velocity=Channel())
    h, omega = 1e-4, 0.7

    def at(t: float) -> Motion:
        yaw = 0.3 + omega * t
        x, y = 5.0 * (math.sin(yaw) - math.sin(0.3)), -5.0 * (math.cos(yaw) - math.cos(0.3))
        return Motion(x=x, y=y, yaw=yaw, pitch=0.0, v_x=5.0 * omega, omega=omega)

    before, now, after = (np.array(gnss.measure(at(t))[:6]) for t in (-h, 0.0, h))
    assert np.abs((after - before)[:3] / (2.0 * h) - now[3:]).max() < 1e-7


def test_the_place_follows_the_measured_position() -> None:
    origin = Origin(48.1, 11.6, 520.0)
    gnss = Gnss(rate=10.0, horizontal=Channel(std=2.0), vertical=Channel(bias=3.0), origin=origin)
    t = np.arange(0.0, 2.0, 0.1)
    found = gnss.along_fleet(t, Motion(x=5.0 * t), seed=1)
    assert np.abs(found["x"][:, 0] - 5.0 * t).max() > 0.5
    for k in range(len(found)):
        place = place_in_world(origin, *found.values[k, 0, :3])
        assert np.abs(found.values[k, 0, 7:] - place).max() < 1e-9
    assert found["altitude"][:, 0] == pytest.approx(523.0, abs=1e-3)


def test_no_fix_where_there_is_no_reception() -> None:
    t = np.arange(0.0, 10.0, 0.1)
    tunnel = Gnss(mounting=Mounting(x=2.0), coverage=lambda x, y: (x < 10.0) | (x > 20.0))
    found = tunnel.along_fleet(t, Motion(x=5.0 * t))
    antenna = 5.0 * t + 2.0
    assert found.stamp.tolist() == t[(antenna < 10.0) | (antenna > 20.0)].tolist()
    runner = tunnel.runner()
    given = [runner.step(float(k), Motion(x=5.0 * k)) is not None for k in range(6)]
    assert given == [True, True, False, False, True, True]


def test_no_fix_during_an_outage() -> None:
    t = np.arange(0.0, 5.0, 0.5)
    found = Gnss(outages=((1.0, 2.0), (4.0, 9.0))).along_fleet(t, Motion())
    assert found.stamp.tolist() == [0.0, 0.5, 2.5, 3.0, 3.5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"origin": Origin(latitude=91.0)}, "Origin.latitude = 91.0 ° must be from -90 to 90"),
        ({"origin": Origin(longitude=math.nan)}, "Origin.longitude = nan ° must be finite"),
        ({"coverage": 3.0}, "Gnss.coverage must be a function of x and y"),
        ({"outages": ((2.0, 1.0),)}, r"Gnss.outages has \(2.0, 1.0\); allowed are pairs"),
        ({"horizontal": None}, "Gnss.horizontal must be a Channel"),
        ({"velocity": 0.1}, "Gnss.velocity must be a Channel"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Gnss(**settings)  # type: ignore[arg-type]
