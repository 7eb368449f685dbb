"""Units of tyre property files: exact conversion there and back."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.tyres.tir_file import Document, FileUnits, decimal_text, number_in_si, values_in_si

DATA = Path(__file__).parents[1] / "data" / "tyres" / "syntax"


def in_si(section: str, key: str, value: str, **units: str) -> float:
    lines = [f"{name.upper()} = '{unit}'" for name, unit in units.items()]
    text = "\n".join(["[UNITS]", *lines, f"[{section}]", f"{key} = {value}"])
    document = Document.parsed(text.encode())
    entry = document.entry(section, key)
    assert entry is not None
    return number_in_si(document, entry, FileUnits.of(document).factor(section, key))


def test_a_file_in_other_units() -> None:
    expected = json.loads((DATA / "units_61.json").read_text("utf-8"))["SI"]
    sections = values_in_si(Document.parsed((DATA / "units_61.tir").read_bytes()))
    values = {
        key: v for name, keys in sections.items() if name != "UNITS" for key, v in keys.items()
    }
    for key, value in expected.items():
        # Exact fractions: the same double as that of the number in SI.
        assert values[key.removesuffix("_per_rad")] == pytest.approx(value, rel=3e-16), key


@pytest.mark.parametrize(
    ("section", "key", "units", "size"),
    [
        ("DIMENSION", "WIDTH", {"length": "inch"}, 0.0254),
        ("DIMENSION", "WIDTH", {"length": "Foot"}, 0.3048),
        ("DIMENSION", "WIDTH", {"length": "km"}, 1000.0),
        ("DIMENSION", "WIDTH", {"length": "mile"}, 1609.344),
        ("DIMENSION", "WIDTH", {"length": "cm"}, 0.01),
        ("VERTICAL", "FNOMIN", {"force": "kN"}, 1000.0),
        ("VERTICAL", "FNOMIN", {"force": "pound_force"}, 4.4482216152605),
        ("VERTICAL", "FNOMIN", {"force": "kg_force"}, 9.80665),
        ("INERTIA", "MASS", {"mass": "slug"}, 14.593902937206364),
        ("INERTIA", "MASS", {"mass": "pound_mass"}, 0.45359237),
        ("INERTIA", "MASS", {"mass": "gram"}, 0.001),
        ("INERTIA", "IYY", {"mass": "gram", "length": "mm"}, 1e-9),
        ("MODEL", "LONGVL", {"length": "km", "time": "hour"}, 1.0 / 3.6),
        ("MODEL", "LONGVL", {"length": "mile", "time": "hour"}, 0.44704),
        ("MODEL", "VXLOW", {"length": "mm", "time": "milli"}, 1.0),
        ("VERTICAL", "VERTICAL_STIFFNESS", {"force": "kN", "length": "mm"}, 1e6),
        ("VERTICAL", "VERTICAL_DAMPING", {"force": "kN", "length": "mm", "time": "milli"}, 1e3),
        ("STRUCTURAL", "YAW_STIFFNESS", {"angle": "deg"}, 180.0 / math.pi),
        ("SLIP_ANGLE_RANGE", "ALPMAX", {"angle": "degrees"}, math.pi / 180.0),
        ("OPERATING_CONDITIONS", "INFLPRES", {"force": "kN", "length": "mm"}, 1.0),
        ("OPERATING_CONDITIONS", "INFLPRES", {"pressure": "bar"}, 1e5),
        ("OPERATING_CONDITIONS", "NOMPRES", {"pressure": "psi"}, 6894.757293168361),
        ("OPERATING_CONDITIONS", "NOMPRES", {"pressure": "kPa"}, 1e3),
        ("LATERAL_COEFFICIENTS", "PHY1", {"angle": "deg", "length": "mm", "force": "kN"}, 1.0),
        ("SCALING_COEFFICIENTS", "LMUX", {"angle": "deg", "length": "mm", "force": "kN"}, 1.0),
    ],
)
def test_sizes(section: str, key: str, units: dict[str, str], size: float) -> None:
    assert in_si(section, key, "1", **units) == pytest.approx(size, rel=1e-15)


def test_a_length_in_millimetres_is_the_double_of_its_metres() -> None:
    for k in range(1, 2000):
        assert in_si("DIMENSION", "WIDTH", f"{k}e-1", length="mm") == k / 10000


def test_an_unknown_unit_is_refused_with_what_there_is() -> None:
    with pytest.raises(InvalidValue, match=r"line 2: \[UNITS\] LENGTH has no unit 'ell'.*meter"):
        in_si("DIMENSION", "WIDTH", "1", length="ell")


@pytest.mark.parametrize("value", ["1e400", "1e308", "-1e999"])
def test_a_number_too_large_is_refused(value: str) -> None:
    with pytest.raises(InvalidValue, match=r"line 4: WIDTH = .* must be finite"):
        in_si("DIMENSION", "WIDTH", value, length="km")


def test_a_number_with_a_huge_exponent_costs_nothing() -> None:
    assert in_si("DIMENSION", "WIDTH", "1e-999999999", length="km") == 0.0
    assert in_si("DIMENSION", "WIDTH", "0." + "3" * 5000, length="km") == pytest.approx(1000 / 3)


FACTORS = st.sampled_from(
    [Fraction(1), Fraction(1, 1000), Fraction(math.pi) / 180, Fraction("4448.2216152605"),
     Fraction(1000, 3600), Fraction("0.0254")]
)  # fmt: skip


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e280, max_value=1e280), FACTORS)
def test_every_number_is_written_so_that_it_reads_back(value: float, factor: Fraction) -> None:
    if 0.0 < abs(value) < 1e-280:
        return
    text = decimal_text(value, factor)
    document = Document.parsed(f"[A]\nK = {text}\n".encode())
    entry = document.entry("A", "K")
    assert entry is not None
    assert number_in_si(document, entry, factor) == value


@given(st.integers(-99999, 99999), st.integers(-6, 6), FACTORS)
def test_a_short_number_is_written_short(digits: int, power: int, factor: Fraction) -> None:
    written = Fraction(digits) * Fraction(10) ** power
    text = decimal_text(float(written * factor), factor)
    assert Fraction(text) == written


def test_whole_numbers_have_no_point() -> None:
    assert decimal_text(2000000.0) == "2000000"
    assert decimal_text(-0.0) == "0"
    assert decimal_text(1e-7) == "1e-07"
    assert decimal_text(0.05) == "0.05"
