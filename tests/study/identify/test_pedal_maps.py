"""Pedal maps: known maps are found again from drives, and are written as Autoware reads them."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from skidpad.compat.autoware.converter import ActuationStatus, CommandConverter, SteerMap
from skidpad.errors import InvalidValue
from skidpad.study.identify.pedal_maps import PedalMap, PedalMaps, pedal_maps
from skidpad.vehicles.command_driven.parameters import Table

V = np.array([0.0, 3.0, 6.0, 9.0, 12.0, 15.0])
P = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
DT, LATENCY, G = 0.02, 0.14, 9.81


def table(rows: np.ndarray, columns: np.ndarray, value: Any) -> Table:
    lines = tuple(tuple(float(value(row, column)) for column in columns) for row in rows)
    return Table(tuple(rows.tolist()), tuple(columns.tolist()), lines)


ACCEL = table(P, V, lambda p, v: 20.0 * p**1.3 * (1.0 - v / 40.0) - 0.3 - 0.02 * v)
BRAKE = table(P, V, lambda p, v: -9.0 * p**1.2 - 0.3 - 0.02 * v)
COMMANDS, ANGLES = np.linspace(-2.0, 2.0, 9), np.linspace(-0.4, 0.4, 9)
STEER = table(COMMANDS, ANGLES, lambda u, d: np.tanh(0.8 * u) - 0.9 * d)
"""Rate of a wheel that aligns itself."""


@cache
def drive(seed: int, seconds: float = 300.0) -> SimpleNamespace:
    """Random plateaus of throttle and brake on a hilly road; the acceleration is late."""
    rng = np.random.default_rng(seed)
    n, late = round(seconds / DT), round(LATENCY / DT)
    t = np.arange(n) * DT
    throttle, brake, v = np.zeros(n), np.zeros(n), np.full(n, 2.0)
    slope = 0.05 * np.sin(t / 13.0)
    pushes, level = True, 0.0
    for k in range(n - 1):
        if k % 100 == 0:
            pushes = bool(v[k] < 14.0 and (rng.random() < 0.6 or v[k] < 1.5))
            level = float(rng.uniform(0.0, 0.5 if pushes else 0.45))
        throttle[k], brake[k] = (level, 0.0) if pushes else (0.0, level)
        before = max(k - late, 0)
        braked = brake[before] > 0.0
        source, pedal = (BRAKE, brake) if braked else (ACCEL, throttle)
        a_x = source.value(pedal[before], v[k]) - G * np.sin(slope[k])
        v[k + 1] = max(v[k] + DT * a_x, 0.0)
    channels = {"v_x": v + rng.normal(0.0, 0.01, n), "throttle": throttle, "brake": brake}
    return SimpleNamespace(t=t, channels={**channels, "pitch": -slope})


@cache
def maps(seeds: tuple[int, ...] = (0, 1)) -> PedalMaps:
    return pedal_maps([drive(seed) for seed in seeds], velocities=V, pedals=P)


def with_channels(drive: SimpleNamespace, **channels: Any) -> SimpleNamespace:
    changed = {**drive.channels, **channels}
    return SimpleNamespace(
        t=drive.t, channels={key: v for key, v in changed.items() if v is not None}
    )


def check_map(found: PedalMap | None, wanted: Table, bound: float) -> None:
    """Values of cells that samples determine."""
    assert found is not None
    error = (found.values - np.array(wanted.values))[~found.filled]
    assert np.abs(error).max() < bound
    assert found.filled.mean() < 0.4


def test_known_maps_are_found_again():
    check_map(maps().acceleration, ACCEL, 0.15)
    check_map(maps().brake, BRAKE, 0.1)
    assert maps().steering is None


def test_the_latency_is_found_and_taken_out():
    for one in maps().maps.values():
        assert one.latency == pytest.approx(LATENCY, abs=2.0 * DT)


def test_columns_are_monotone_even_where_there_are_no_samples():
    found = maps((0,))
    for one, sign in ((found.acceleration, 1.0), (found.brake, -1.0)):
        assert one is not None
        assert one.filled.any()
        assert (sign * np.diff(one.values, axis=0) > 0.0).all()


def test_pedals_that_do_nothing_at_first_still_give_a_map_that_can_be_searched():
    """With a dead band of the throttle, noise alone would decide the sign between the rows."""
    log = drive(0)
    throttle = log.channels["throttle"]
    late = np.where(throttle > 0.0, throttle + 0.2, 0.0)
    found = pedal_maps(with_channels(log, throttle=late))
    assert found.acceleration is not None
    rows = found.acceleration.values
    assert found.acceleration.rows.max() == pytest.approx(0.7)
    assert found.acceleration.filled[1].all()
    assert (np.diff(rows, axis=0) >= 0.9e-3).all()


def test_hills_are_taken_out():
    flat = pedal_maps(with_channels(drive(0), pitch=None), velocities=V, pedals=P)
    hilly = maps((0,))
    uphill = with_channels(drive(0), pitch=None, slope=-drive(0).channels["pitch"])
    same = pedal_maps(uphill, velocities=V, pedals=P)
    assert flat.brake is not None
    assert hilly.brake is not None
    assert same.brake is not None
    assert hilly.brake.error < 0.5 * flat.brake.error
    np.testing.assert_allclose(same.brake.values, hilly.brake.values, atol=1e-9)


def test_coverage_counts_every_sample_that_was_used():
    one = maps((0,)).brake
    assert one is not None
    n = len(drive(0).t)
    left_out = dict(one.left_out)
    # Samples at the start come before the first command has acted.
    missing = n - int(one.coverage.sum()) - sum(left_out.values())
    assert 0 <= missing <= round(0.6 / DT)
    assert left_out["the other pedal is pressed"] > 1000
    text = maps((0,)).coverage
    assert "accel_map" in text
    assert one.filled[one.coverage == 0].all()
    assert "0*" in str(one)


def test_files_are_read_by_the_reader_of_the_models(tmp_path):
    found = maps()
    paths = found.write(tmp_path / "maps")
    assert [path.name for path in paths] == ["accel_map.csv", "brake_map.csv"]
    for path, one in zip(paths, found.maps.values(), strict=True):
        read = Table.of(path)
        np.testing.assert_allclose(read.values, one.table.values, atol=1e-4)
        np.testing.assert_allclose(read.rows, one.rows, rtol=1e-5)
        np.testing.assert_allclose(read.columns, one.columns, rtol=1e-5)
        head, first = path.read_text().splitlines()[:2]
        assert head == "default,0,3,6,9,12,15"
        assert first.startswith("0,")
    for wanted in (1.5, -1.5):
        pedals = CommandConverter(*paths).convert(wanted, 0.0, 8.0, 0.0, DT)
        source, pedal = (ACCEL, pedals.accel) if wanted > 0.0 else (BRAKE, pedals.brake)
        assert source.value(pedal, 8.0) == pytest.approx(wanted, abs=0.1)
    accel, brake = ActuationStatus(*paths)(1.5, 8.0) or (0.0, 0.0)
    assert ACCEL.value(accel, 8.0) == pytest.approx(1.5, abs=0.1)
    assert brake == 0.0


def test_the_steering_map_of_a_wheel_that_follows_its_command_late(tmp_path):
    rng = np.random.default_rng(7)
    n, late = 15000, 4
    command = np.repeat(rng.uniform(-2.0, 2.0, n // 25), 25)
    steer = np.zeros(n)
    for k in range(n - 1):
        rate = STEER.value(command[max(k - late, 0)], steer[k])
        steer[k + 1] = np.clip(steer[k] + DT * rate, -0.4, 0.4)
    log = SimpleNamespace(
        t=np.arange(n) * DT,
        channels={"u_steer": command, "steer": steer + rng.normal(0.0, 1e-3, n)},
    )
    found = pedal_maps(log, commands=COMMANDS, angles=ANGLES, window=0.1)
    assert found.steering is not None
    assert found.acceleration is None
    assert found.steering.latency == pytest.approx(late * DT, abs=DT)
    # At the end stops the wheel stands still, whatever the command: there the map is another.
    inner = np.array(STEER.values)[:, 2:-2]
    assert np.sqrt(np.mean((found.steering.values[:, 2:-2] - inner) ** 2)) < 0.1
    (path,) = found.write(tmp_path)
    assert path.name == "steer_map.csv"
    CommandConverter(None, None, SteerMap(path))


def test_a_pedal_that_is_never_pressed_gives_no_map():
    log = drive(0)
    coasting = np.where(log.channels["brake"] > 0.0, 0.0, log.channels["throttle"])
    found = pedal_maps(with_channels(log, throttle=coasting, brake=np.zeros(len(log.t))))
    assert list(found.maps) == ["accel_map"]
    assert found.notes == ("no map of brake: the pedal is never pressed",)


def test_without_the_channels_the_error_names_them():
    log = drive(0)
    with pytest.raises(InvalidValue, match=r"v_x with throttle or brake.*the logs have v_x"):
        pedal_maps(SimpleNamespace(t=log.t, channels={"v_x": log.channels["v_x"]}))
    with pytest.raises(InvalidValue, match="at least one log"):
        pedal_maps([])
    still = with_channels(log, v_x=np.zeros(len(log.t)))
    with pytest.raises(InvalidValue, match=r"no samples of throttle.*slower than 0\.3 m/s"):
        pedal_maps(still)
    with pytest.raises(InvalidValue, match=r"velocities\[1\]"):
        pedal_maps(log, velocities=[3.0, 1.0])
    with pytest.raises(InvalidValue, match="at least 2 rows"):
        pedal_maps(log, pedals=[0.0])
