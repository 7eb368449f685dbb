"""The usual spellings of a unit are that unit, and no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.study.logs import Log, read_log
from skidpad.study.logs.log import Channel
from skidpad.study.logs.units import same_unit
from skidpad.study.manoeuvres import drive_of_log

SPELT = {
    "m/s²": ("m/s^2", "m/s2", "m/s**2", "m/s/s", "m s^-2", "m*s**-2", "m·s⁻²", "m.s-2", "m / s^2",
             "m/sec^2", "mps2", "meters per second^2", "m/(s*s)"),
    "m/s": ("m/sec", "mps", "m s-1", "m·s⁻¹", "meters/second", "metres per second"),
    "rad/s": ("rad/sec", "rad s-1", "radians/s", "rad·s^-1", "1/s*rad"),
    "rad": ("radians", "rads"),
    "m": ("meter", "metres"),
    "s": ("sec", "seconds"),
    "N·m": ("Nm", "N m", "N*m", "N.m"),
    "N·m/rad": ("Nm/rad", "N*m/rad"),
    "1": ("-",),
}  # fmt: skip


@pytest.mark.parametrize(("unit", "text"), [(u, t) for u, texts in SPELT.items() for t in texts])
def test_spellings_of_a_unit_are_it_and_none_of_the_others(unit: str, text: str) -> None:
    assert [other for other in SPELT if same_unit(text, other)] == [unit]


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("m/s²", "m/s"),
        ("m/s²", "g"),
        ("m/s²", "m/s^3"),
        ("m/s", "km/h"),
        ("m/s", "mph"),
        ("m/s", "m*s"),
        ("rad/s", "deg/s"),
        ("rad/s", "°/s"),
        ("rad/s", "rpm"),
        ("rad", "deg"),
        ("rad", "mrad"),
        ("s", "ms"),
        ("s", "1/s"),
        ("m", "mm"),
        ("m/s", "m//s"),
        ("m/s", "/"),
    ],
)
def test_other_units_stay_others(unit: str, text: str) -> None:
    assert not same_unit(text, unit)


def test_a_log_may_spell_its_units_in_ascii(tmp_path: Path) -> None:
    rows = [f"{0.1 * k:.1f},20,0.1,2" for k in range(40)]
    heading = "t [sec],v_x [m/sec],omega [rad/sec],a_y [m/s^2]"
    (tmp_path / "log.csv").write_text("\n".join([heading, *rows]))
    drive, _ = drive_of_log(read_log(tmp_path / "log.csv"))
    np.testing.assert_array_equal(drive["a_y"], 2.0)


def test_another_unit_is_refused_as_it_is_spelt() -> None:
    t = np.linspace(0.0, 4.0, 41)
    log = Log("log.csv", {"v_x": Channel(t, 20.0 + t), "omega": Channel(t, t, "deg/s")})
    with pytest.raises(InvalidValue, match=r"omega is in deg/s; it must be in rad/s"):
        drive_of_log(log)
