"""Units of headings become SI."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from skidpad.study.logs.units import same_quantity, same_unit, to_si, unit_in_name

# Exact by definition: the international yard and pound, the nautical mile, the standard
# atmosphere and gravity (SI Brochure, 9th edition; NIST SP 811, appendix B).
DEFINED = {
    "km/h": (1.0 / 3.6, 0.0, "m/s"),
    "mph": (0.44704, 0.0, "m/s"),
    "kn": (1852.0 / 3600.0, 0.0, "m/s"),
    "g": (9.80665, 0.0, "m/s²"),
    "G": (9.80665, 0.0, "m/s²"),
    "ft/s^2": (0.3048, 0.0, "m/s²"),
    "deg": (np.pi / 180.0, 0.0, "rad"),
    "°/s": (np.pi / 180.0, 0.0, "rad/s"),
    "deg/s²": (np.pi / 180.0, 0.0, "rad/s²"),
    "rpm": (np.pi / 30.0, 0.0, "rad/s"),
    "rev/min": (np.pi / 30.0, 0.0, "rad/s"),
    "ms": (1e-3, 0.0, "s"),
    "us": (1e-6, 0.0, "s"),
    "mm": (1e-3, 0.0, "m"),
    "cm": (1e-2, 0.0, "m"),
    "km": (1e3, 0.0, "m"),
    "bar": (1e5, 0.0, "Pa"),
    "kPa": (1e3, 0.0, "Pa"),
    "psi": (0.45359237 * 9.80665 / 0.0254**2, 0.0, "Pa"),
    "lbf": (0.45359237 * 9.80665, 0.0, "N"),
    "lb-ft": (0.45359237 * 9.80665 * 0.3048, 0.0, "N·m"),
    "%": (0.01, 0.0, "1"),
    "degC": (1.0, 273.15, "K"),
    "°F": (5.0 / 9.0, 273.15 - 32.0 * 5.0 / 9.0, "K"),
    "N.m/deg": (180.0 / np.pi, 0.0, "N·m/rad"),
    "kN/mm": (1e6, 0.0, "N/m"),
    "KM/H": (1.0 / 3.6, 0.0, "m/s"),
    "m s-2": (1.0, 0.0, "m/s²"),
}


@pytest.mark.parametrize("text", DEFINED)
def test_factors_are_those_of_the_definitions(text: str) -> None:
    conversion = to_si(text)
    assert conversion is not None
    factor, offset, unit = DEFINED[text]
    assert conversion.factor == pytest.approx(factor, rel=1e-12)
    assert conversion.offset == pytest.approx(offset, rel=1e-12, abs=1e-12)
    assert conversion.unit == unit


@given(st.sampled_from(sorted(DEFINED)), st.floats(-1e6, 1e6))
def test_conversions_have_an_inverse_and_arrive_in_si(text: str, value: float) -> None:
    conversion = to_si(text)
    assert conversion is not None
    there = conversion.of(value)
    assert (there - conversion.offset) / conversion.factor == pytest.approx(value, abs=1e-6)
    again = to_si(conversion.unit)
    assert again is not None
    assert again.of(there) == there
    assert again.unit == conversion.unit
    assert same_quantity(text, conversion.unit)
    assert same_unit(text, conversion.unit) is (conversion.changes_nothing)


@pytest.mark.parametrize("text", ["", "furlong", "g/s", "Sats", "l/h", "m//s", "m/s^999", "[m]"])
def test_what_is_no_known_unit_is_not_converted(text: str) -> None:
    assert to_si(text) is None


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("speed_kmh", ("speed", "km/h")),
        ("yaw_rate_deg_s", ("yaw_rate", "deg/s")),
        ("steeringAngleDeg", ("steeringAngle", "deg")),
        ("time_ms", ("time", "ms")),
        ("acc_y_g", ("acc_y", "g")),
        ("oil_bar", ("oil", "bar")),
        # Names of skidpad and others that only look as if they ended with a unit.
        ("v_x", ("v_x", "")),
        ("a_stop", ("a_stop", "")),
        ("wheels_ms", ("wheels_ms", "")),
        ("flag_g", ("flag_g", "")),
        ("m", ("m", "")),
        ("deg", ("deg", "")),
    ],
)
def test_units_at_the_end_of_names(name: str, split: tuple[str, str]) -> None:
    assert unit_in_name(name) == split
