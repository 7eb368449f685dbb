"""Units and names that no heading states follow from physics, or are left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.logs import Log, read_log
from skidpad.study.manoeuvres import drive_of_log

DT = 0.02
T = DT * np.arange(1500)
DEGREE = 180.0 / np.pi
G = 9.80665
SENSED = ("v_x", "v_y", "omega", "yaw", "x", "y", "a_x", "a_y")


@pytest.fixture(scope="module")
def drive() -> dict[str, np.ndarray]:
    """A car that weaves while its speed changes, with the noise of sensors."""
    car = sp.vehicles.single_track()
    controls = np.zeros((len(T) - 1, len(car.Input._fields)))
    t = T[:-1]
    steer = 0.03 * np.sin(0.9 * t) + 0.01 * np.sin(2.3 * t)
    controls[:, car.Input._fields.index("steer")] = steer
    controls[:, car.Input._fields.index("F_drive")] = 1500.0 * np.sin(0.35 * t)
    simulator = sp.Simulator(car, DT)
    simulator.reset(v_x=20.0)
    run = simulator.run(controls)
    columns = {name: np.array(run[name]) for name in ("v_x", "v_y", "omega", "yaw", "x", "y")}
    rate, v_x, v_y = columns["omega"], columns["v_x"], columns["v_y"]
    columns["a_x"] = np.gradient(v_x, DT) - v_y * rate
    columns["a_y"] = np.gradient(v_y, DT) + v_x * rate
    rng = np.random.default_rng(7)
    noise = {
        "v_x": 0.03,
        "omega": 0.003,
        "yaw": 0.001,
        "x": 0.02,
        "y": 0.02,
        "a_x": 0.1,
        "a_y": 0.1,
    }
    return {k: v + noise.get(k, 0.0) * rng.normal(size=len(T)) for k, v in columns.items()}


def logged(
    folder: Path,
    drive: Mapping[str, np.ndarray],
    *names: str,
    factors: Mapping[str, float] | None = None,
    called: Mapping[str, str] | None = None,
) -> Log:
    columns = {"t": T}
    for name in names:
        columns[(called or {}).get(name, name)] = (factors or {}).get(name, 1.0) * drive[name]
    table = np.column_stack(list(columns.values()))
    np.savetxt(folder / "log.csv", table, delimiter=",", header=",".join(columns), comments="")
    return read_log(folder / "log.csv")


@pytest.mark.parametrize(
    ("names", "factors"),
    [
        (SENSED, {}),
        (("v_x", "omega", "a_y"), {"omega": DEGREE}),
        (("v_x", "omega", "a_y"), {"a_y": 1.0 / G}),
        (("v_x", "omega", "a_y"), {"v_x": 3.6}),
        (("v_x", "omega", "a_y"), {"v_x": 1.0 / 0.44704}),
        (("v_x", "omega", "a_x", "a_y"), {"a_x": 1.0 / G, "a_y": 1.0 / G}),
        (("v_x", "omega", "yaw"), {"omega": DEGREE}),
        (("v_x", "omega", "yaw"), {"yaw": DEGREE}),
        (("v_x", "x", "y"), {"v_x": 3.6}),
        (SENSED, {"v_x": 3.6, "omega": DEGREE, "yaw": DEGREE, "a_x": 1.0 / G, "a_y": 1.0 / G}),
        (SENSED, {"omega": DEGREE, "a_x": 1.0 / G, "a_y": 1.0 / G}),
        # Signs are not those of units.
        (("v_x", "omega", "a_y"), {"omega": -DEGREE}),
    ],
    ids=lambda one: "+".join(one) if isinstance(one, dict) else None,
)
def test_units_that_explain_the_drive_are_taken(
    drive: dict[str, np.ndarray], names: tuple[str, ...], factors: dict[str, float], tmp_path: Path
) -> None:
    log = logged(tmp_path, drive, *names, factors=factors)
    for name in names:
        sign = np.sign(factors.get(name, 1.0))
        np.testing.assert_allclose(log[name].values, sign * drive[name], rtol=1e-9, atol=1e-9)
    heads = [note.partition(": converted from")[0] for note in log.notes]
    assert {name for head in heads for name in head.split(", ")} == set(factors)


def test_the_reason_is_said(drive: dict[str, np.ndarray], tmp_path: Path) -> None:
    log = logged(tmp_path, drive, "v_x", "omega", "a_y", factors={"omega": DEGREE})
    (note,) = log.notes
    assert re.fullmatch(
        r"omega: converted from deg/s to rad/s, since a_y is (0\.9\d+|1|1\.0\d+) times v_x times "
        r"omega then, and 0\.01[67]\d* before",
        note,
    )
    assert log["omega"].unit == "rad/s"


def test_a_spike_hides_no_unit(drive: dict[str, np.ndarray], tmp_path: Path) -> None:
    factors = {"v_x": 3.6, "omega": DEGREE}
    broken = {**drive, "omega": drive["omega"].copy(), "sideslip": drive["v_y"] / drive["v_x"]}
    broken["omega"][700] = 480.0 / DEGREE
    broken["sideslip"] += 0.0002 * np.random.default_rng(2).normal(size=len(T))
    broken["sideslip"][900] = 40.0
    log = logged(tmp_path, broken, "v_x", "omega", "a_x", "a_y", "sideslip", factors=factors)
    np.testing.assert_allclose(log["v_x"].values, drive["v_x"], rtol=1e-9)
    np.testing.assert_allclose(log["omega"].values[:700], drive["omega"][:700], rtol=1e-9)
    assert log["omega"].values[700] == pytest.approx(480.0 / DEGREE)
    assert log["sideslip"].values[10] == pytest.approx(broken["sideslip"][10])


def test_a_vertical_accelerometer_shows_gravity(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    still = {k: 0.01 * rng.normal(size=len(T)) + (k == "a_z") for k in ("a_x", "a_y", "a_z")}
    log = logged(tmp_path, still, *still)
    np.testing.assert_allclose(log["a_y"].values, G * still["a_y"], rtol=1e-6, atol=1e-9)
    assert log["a_z"].values.mean() == pytest.approx(G, rel=1e-3)


def test_angles_beyond_half_a_turn_are_in_degrees(tmp_path: Path) -> None:
    angles = {"roll": 4.0 * np.sin(T), "yaw": np.mod(40.0 * T, 360.0), "sideslip": 0.1 * np.cos(T)}
    log = logged(tmp_path, angles, *angles)
    np.testing.assert_allclose(log["roll"].values, angles["roll"] / DEGREE, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(log["yaw"].values, angles["yaw"] / DEGREE, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(log["sideslip"].values, angles["sideslip"], rtol=1e-9, atol=1e-12)


def test_a_declared_unit_is_not_doubted(drive: dict[str, np.ndarray], tmp_path: Path) -> None:
    wrong = DEGREE * drive["omega"]
    table = np.column_stack([T, drive["v_x"], wrong, drive["a_y"]])
    heading = "t,v_x,omega [rad/s],a_y [m/s²]"
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=heading, comments="")
    log = read_log(tmp_path / "log.csv")
    np.testing.assert_allclose(log["omega"].values, wrong, rtol=1e-9)
    with pytest.raises(InvalidValue, match="omega is likely in deg/s"):
        drive_of_log(log)


@pytest.mark.parametrize("factor", [0.18, 0.65, 2.6, 25.0])
def test_what_no_unit_explains_is_left(
    drive: dict[str, np.ndarray], factor: float, tmp_path: Path
) -> None:
    log = logged(tmp_path, drive, "v_x", "omega", "a_y", factors={"a_y": factor})
    for name in ("v_x", "omega"):
        np.testing.assert_allclose(log[name].values, drive[name], rtol=1e-9)


def test_a_car_at_rest_tells_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    noise = {name: 0.003 * rng.normal(size=len(T)) for name in SENSED}
    log = logged(tmp_path, noise, *SENSED)
    assert log.notes == ()


@pytest.mark.parametrize(
    ("names", "called", "found"),
    [
        (("v_x", "omega", "a_y"), {"a_y": "channel 17"}, "a_y"),
        (("v_x", "yaw", "omega"), {"omega": "gz_filtered"}, "omega"),
        (("v_x", "a_x"), {"a_x": "ch2"}, "a_x"),
        (("x", "y", "v_x"), {"v_x": "Geschwindigkeit"}, "speed"),
    ],
)
def test_a_column_that_equals_a_quantity_gets_its_name(
    drive: dict[str, np.ndarray],
    names: tuple[str, ...],
    called: dict[str, str],
    found: str,
    tmp_path: Path,
) -> None:
    log = logged(tmp_path, drive, *names, called=called)
    ((own, strange),) = called.items()
    np.testing.assert_allclose(log[found].values, drive[own], rtol=1e-9, atol=1e-9)
    assert log[found].source == strange
    assert any(note.startswith(f"{found}: the column {strange!r}, which is 1") or
               note.startswith(f"{found}: the column {strange!r}, which is 0.9")
               for note in log.notes)  # fmt: skip
    assert strange in read_log(tmp_path / "log.csv", {strange: strange}).channels


def test_a_reversed_column_is_proposed_and_not_turned(
    drive: dict[str, np.ndarray], tmp_path: Path
) -> None:
    log = logged(tmp_path, drive, "v_x", "omega", "a_y", factors={"a_y": -1.0},
                 called={"a_y": "lateral"})  # fmt: skip
    assert "a_y" not in log
    assert any("--map lateral=-a_y turns it round" in note for note in log.notes)
    turned = read_log(tmp_path / "log.csv", {"lateral": "-a_y"})
    np.testing.assert_allclose(turned["a_y"].values, drive["a_y"], rtol=1e-9)


def test_two_columns_that_fit_are_left_to_the_caller(
    drive: dict[str, np.ndarray], tmp_path: Path
) -> None:
    both = dict(drive, other=drive["a_y"] + 0.05 * np.sin(T))
    log = logged(tmp_path, both, "v_x", "omega", "a_y", "other", called={"a_y": "one"})
    assert "a_y" not in log
    assert any(note.startswith("one and other each look like a_y") for note in log.notes)
