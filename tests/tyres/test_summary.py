"""What a summary says of a tyre: closed forms of the Magic Formula and of simple tyres."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.tyres import BrushTyre, LinearTyre, LoadSensitiveTyre
from skidpad.tyres.characteristics import peak
from skidpad.tyres.reading import evaluate_on_arrays
from tyres.magic_sets import DATA, SETS

OWN = sp.tyres.names()


def symmetric(name: str) -> sp.tyres.Tyre:
    """An own set without shifts, so that its peaks are the factors D of the formula."""
    tyre = sp.tyres.get(name)
    shifts = ("PHX1", "PHX2", "PVX1", "PVX2", "PHY1", "PHY2", "PVY1", "PVY2")
    return tyre.with_values(dict.fromkeys(shifts, 0.0))


@pytest.mark.parametrize("name", ["passenger_car", "race_slick"])
def test_friction_and_stiffness_are_those_of_the_coefficients(name):
    tyre = symmetric(name)
    r, F_z0 = tyre.record, tyre.record.vertical.FNOMIN
    (half, whole, more) = sp.tyres.summary(tyre).at
    for at in (half, whole, more):
        dfz = (at.F_z - F_z0) / F_z0
        mu_x = r.longitudinal.PDX1 + r.longitudinal.PDX2 * dfz
        mu_y = r.lateral.PDY1 + r.lateral.PDY2 * dfz
        assert (at.mu_x, at.mu_brake) == pytest.approx((mu_x, mu_x), rel=1e-6)
        assert at.mu_y == pytest.approx(mu_y, rel=1e-6)
    # Pacejka 4.E25: sin(PKY4 atan(F_z / (PKY2 F_z0))) is 1 at F_z = PKY2 F_z0 for PKY4 = 2.
    found = sp.tyres.summary(tyre)
    assert r.lateral.PKY4 == 2.0
    assert found.K_y_max == pytest.approx(abs(r.lateral.PKY1) * F_z0, rel=1e-6)
    assert found.F_z_of_K_y_max == pytest.approx(r.lateral.PKY2 * F_z0, rel=1e-4)
    assert found.F_z0 == F_z0
    assert whole.K_x == pytest.approx(r.longitudinal.PKX1 * F_z0, rel=1e-9)


def test_trail_is_that_of_the_formula():
    """-dM_z/dF_y at 0 slip is the pneumatic trail of a tyre without residual torque."""
    tyre = symmetric("race_slick").with_values({f"QDZ{k}": 0.0 for k in (6, 7, 8, 9, 10, 11)})
    tyre = tyre.with_values(QHZ1=0.0, QHZ2=0.0)
    (at,) = sp.tyres.summary(tyre, loads=[2500.0]).at
    assert at.trail == pytest.approx(tyre.evaluate(F_z=2500.0, v_x=20.0).formula.t, rel=1e-5)


def test_simple_tyres_have_their_closed_forms():
    brush = BrushTyre()
    (at,) = sp.tyres.summary(sp.tyres.Tyre(brush), loads=[brush.F_z0]).at
    assert at.trail == pytest.approx(brush.a / 3.0, rel=5e-3)
    assert at.mu_y == pytest.approx(brush.mu, rel=1e-9)
    # All bristles slide: the force stays, so that none of the slips is that of a peak.
    assert (at.kappa_peak, at.kappa_brake, at.alpha_peak) == (None, None, None)
    # M_z = F_y trail has its largest value 27/256 mu F_z a at t = 1/4.
    assert at.M_z == pytest.approx(27.0 / 256.0 * brush.mu * brush.F_z0 * brush.a, rel=1e-5)
    linear = LinearTyre()
    found = sp.tyres.summary(sp.tyres.Tyre(linear))
    assert found.F_z_of_K_y_max is None
    assert found.F_z0 is None
    assert found.at[1].K_y == pytest.approx(linear.C_y * found.at[1].F_z)
    assert found.at[1].sigma_y == linear.carcass.sigma_y
    carcass = LoadSensitiveTyre().carcass
    rolling = sp.tyres.summary(sp.tyres.Tyre(LoadSensitiveTyre())).at[1]
    assert rolling.rolling == pytest.approx(carcass.rolling * carcass.radius / rolling.effective)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.filterwarnings("ignore:.*(USE_MODE|lacks)")
def test_peaks_are_higher_than_all_around_them(name):
    tyre = sp.tyres.read(DATA / "sets" / f"{name}.tir")
    for at in sp.tyres.summary(tyre).at:
        if at.kappa_peak is None:
            continue
        v_x = tyre.record.model.LONGVL
        around = at.kappa_peak + np.linspace(-0.05, 0.05, 501)
        force = tyre.forces(F_z=at.F_z, kappa=around, v_x=v_x).F_x
        assert force.max() / at.F_z == pytest.approx(at.mu_x, rel=1e-5)
        here = tyre.forces(F_z=at.F_z, kappa=at.kappa_peak, v_x=v_x).F_x
        assert here / at.F_z == pytest.approx(at.mu_x, rel=1e-6)


@pytest.mark.parametrize("name", OWN)
def test_a_mirrored_tyre_has_the_same_numbers(name):
    tyre = sp.tyres.get(name)
    one, other = sp.tyres.summary(tyre), sp.tyres.summary(tyre.mirrored())
    assert other.side != one.side
    for a, b in zip(one.at, other.at, strict=True):
        assert np.array(b, dtype=float) == pytest.approx(np.array(a, dtype=float), rel=1e-9)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("question", ["forces", "stiffness", "peaks", "relaxation", "radii"])
def test_answers_without_compiling_are_those_of_the_tyre(name, question):
    tyre = sp.tyres.get(name)
    F_z0 = tyre.record.vertical.FNOMIN
    contact = {
        "F_z": F_z0 * np.array([0.5, 1.0, 1.7]), "kappa": np.array([0.02, -0.1, 0.0]),
        "alpha": np.array([-0.1, 0.03, 0.2]), "gamma": 0.05, "v_x": 12.0,
    }  # fmt: skip
    direct = np.array(record.flatten(evaluate_on_arrays(tyre, question, **contact)))
    compiled = np.array(record.flatten(getattr(tyre, question)(**contact)))
    scale = np.abs(compiled).max(axis=1, keepdims=True) + 1e-300
    assert np.abs((direct - compiled) / scale).max() < 1e-11


def test_camber_and_pressure_are_those_asked_for():
    tyre = sp.tyres.get("passenger_car")
    usual = sp.tyres.summary(tyre, camber=0.03, pressure=2e5)
    assert (usual.camber, usual.pressure) == (0.03, 2e5)
    assert usual.at[1].K_y == tyre.stiffness(F_z=4100.0, gamma=0.03, p=2e5, v_x=16.7).K_y
    assert usual.warnings == ()
    robot = sp.tyres.summary(sp.tyres.get("robot"), pressure=2e5)
    assert robot.pressure is None  # MF 5.2 does not know of it
    assert robot.at == sp.tyres.summary(sp.tyres.get("robot")).at


def test_what_is_outside_of_the_ranges_is_said():
    tyre = sp.tyres.get("passenger_car")
    found = sp.tyres.summary(tyre, loads=[4000.0, 20000.0], camber=0.5, pressure=9e5)
    assert [text.split()[0] for text in found.warnings] == ["load", "camber", "pressure"]
    assert "20000 N" in found.warnings[0]


@pytest.mark.parametrize(
    "wrong",
    [{"loads": []}, {"loads": [0.0]}, {"loads": [math.nan]}, {"camber": math.inf},
     {"pressure": 0.0}],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        sp.tyres.summary(sp.tyres.get("robot"), **wrong)


def test_a_summary_is_plain_json():
    found = sp.tyres.summary(sp.tyres.get("robot"))
    read = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert read["at"][1]["mu_y"] == found.at[1].mu_y
    assert read["filled"] == ["INFLPRES", "NOMPRES"]
    broken = found._replace(C_z=math.nan, at=(found.at[0]._replace(trail=math.inf),))
    read = json.loads(json.dumps(broken.as_json(), allow_nan=False))
    assert (read["C_z"], read["at"][0]["trail"]) == (None, None)


def test_peaks_between_samples():
    x = np.linspace(0.0, 1.0, 21)
    found = peak(x, 3.0 - (x - 0.333) ** 2)
    assert (found.value, found.slip) == pytest.approx((3.0, 0.333), abs=1e-12)
    assert peak(x, x).slip is None
    assert peak(x, 1.0 - x).slip is None
    assert peak(x, np.minimum(x, 0.5)).slip is None


@pytest.mark.parametrize("wrong", ["pc.tir", BrushTyre(), 3])
def test_what_is_no_tyre_is_refused_in_words(wrong):
    words = r"tyre = .* must be a Tyre: sp\.tyres\.read\(path\)"
    with pytest.raises(InvalidValue, match=words):
        sp.tyres.summary(wrong)
    with pytest.raises(InvalidValue, match=words):
        sp.tyres.get("robot").plot(wrong)


def test_a_single_load_is_a_list_of_it():
    tyre = sp.tyres.get("passenger_car")
    assert sp.tyres.summary(tyre, loads=4000.0) == sp.tyres.summary(tyre, loads=[4000.0])
    with pytest.raises(InvalidValue, match="loads = '4000'"):
        sp.tyres.summary(tyre, loads="4000")
    assert tyre.plot(loads=4000.0, cambers=0.05, pressures=2e5).axes


def test_a_pressure_that_does_not_count_is_said():
    for tyre, name in ((sp.tyres.get("robot"), "MF 5.2"), (sp.tyres.Tyre(BrushTyre()), "Brush")):
        assert sp.tyres.summary(tyre).warnings == ()
        (text,) = sp.tyres.summary(tyre, pressure=2e5).warnings
        assert text.startswith(name)
        assert "knows no pressure" in text


def test_angles_in_warnings_have_few_digits():
    found = sp.tyres.summary(sp.tyres.get("passenger_car"), camber=0.5)
    assert found.warnings[0].startswith("camber of 28.6 ° is outside of the file's range, ")
    assert all(len(word) < 6 for word in found.warnings[0].split() if word[0].isdigit())
