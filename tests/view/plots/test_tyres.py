"""Tyre curves: what the vehicles themselves do, and the closed forms of the formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.tyres import BrushTyre
from skidpad.tyres.simple import MagicFormula
from skidpad.units import N, one, positive
from skidpad.vehicles.formula import MODEL, Params
from skidpad.view.plots.tyres import tyre_laws
from view.plots.drawn import curves, diagrams, keys, titles


@record.extended
class SharingParams(Params):
    """A car whose drive and brakes use up the friction of its tyres."""

    use_max: Annotated[one, positive] = 0.95
    F_floor: Annotated[N, positive] = 1.0


@pytest.mark.parametrize("name", ["four_wheel"])
def test_wheels_of_a_car_lie_on_its_curves(name):
    car = sp.vehicles.get(name)()
    (law,) = tyre_laws(car)
    rng = np.random.default_rng(8)
    for _ in range(20):
        x = car.State(
            v_x=rng.uniform(5.0, 25.0), v_y=rng.uniform(-2.0, 2.0), omega=rng.uniform(-1.0, 1.0),
            steer=rng.uniform(-0.2, 0.2),
        )  # fmt: skip
        y = car.outputs(x, car.Input())
        for wheel in ("fl", "fr", "rl", "rr"):
            alpha, F_z = getattr(y, f"alpha_{wheel}"), getattr(y, f"F_z_{wheel}")
            wanted = getattr(y, f"F_y_{wheel}")
            assert law.lateral(np.array([alpha]), F_z)[0] == pytest.approx(wanted, rel=1e-12)


def test_axles_with_a_tyre_file_lie_on_their_curves():
    car = sp.vehicles.commonroad_std()
    (law,) = tyre_laws(car)
    assert law.longitudinal is not None
    rng = np.random.default_rng(8)
    for _ in range(20):
        x = record.build(
            car.State,
            {
                "v": rng.uniform(8.0, 30.0),
                "beta": rng.uniform(-0.2, 0.2),
                "omega": rng.uniform(-0.5, 0.5),
            },
        )
        settle = car.model.settle
        assert settle is not None
        y = car.outputs(settle(x, car.params), car.Input())
        for axle in ("f", "r"):
            alpha, F_z = getattr(y, f"alpha_{axle}"), getattr(y, f"F_z_{axle}")
            wanted = getattr(y, f"F_y_{axle}")
            assert law.lateral(np.array([alpha]), F_z)[0] == pytest.approx(wanted, rel=1e-9)


def test_linear_tyres_of_a_bicycle_are_straight_lines():
    car = sp.vehicles.commonroad_dynamic_bicycle()
    front, rear = tyre_laws(car)
    p = car.params
    assert front.load == pytest.approx(p.m * p.g * p.l_r / (p.l_f + p.l_r), rel=1e-12)
    assert rear.load == pytest.approx(p.m * p.g * p.l_f / (p.l_f + p.l_r), rel=1e-12)
    y = car.outputs(car.State(v_x=20.0, v_y=0.3, steer=0.02), car.Input(a=0.0, steer_rate=0.0))
    assert front.lateral(np.array([y.alpha_f]), y.F_z_f)[0] == pytest.approx(y.F_y_f, rel=1e-12)
    assert rear.lateral(np.array([y.alpha_r]), y.F_z_r)[0] == pytest.approx(y.F_y_r, rel=1e-12)


def test_the_drawn_curve_has_the_stiffness_and_the_peak_of_the_formula():
    tyre = MagicFormula(B=10.0, C=1.3, D=1.1, E=0.2)
    figure = sp.view.plots.tyre_curves(tyre, loads=[2000.0], alpha_max=0.35)
    (axes,) = diagrams(figure)
    (curve,) = curves(axes)
    x, y = curve.get_xdata(), curve.get_ydata()
    # Pacejka: slope B C D F_z at no slip, and a peak of D F_z; here in kN over degrees.
    middle = x.size // 2
    slope = (y[middle + 1] - y[middle - 1]) / np.deg2rad(x[middle + 1] - x[middle - 1])
    assert slope == pytest.approx(10.0 * 1.3 * 1.1 * 2.0, rel=2e-3)
    assert y.max() == pytest.approx(1.1 * 2.0, rel=1e-4)
    np.testing.assert_allclose(y, -y[::-1], atol=1e-12)
    assert axes.get_xlabel() == "slip angle $α$ [°], positive pushes left"
    assert axes.get_ylabel() == r"$F_{\mathrm{y}}$ [kN]"
    assert axes.get_xlim() == pytest.approx(np.rad2deg([-0.35, 0.35]))
    assert figure.get_suptitle() == ""


def test_drive_and_cornering_share_a_circle():
    model = replace(MODEL, Params=SharingParams)
    car = sp.Vehicle(model, SharingParams())
    D = car.params.tyre.D
    figure = sp.view.plots.tyre_curves(car, alpha_max=0.26)
    axes = diagrams(figure)[1]
    *shared, limit = (np.hypot(c.get_xdata(), c.get_ydata()) for c in curves(axes))
    for friction in shared:
        assert friction.max() <= D * (1.0 + 1e-12)
    np.testing.assert_allclose(limit, D, rtol=1e-12)
    # At eight degrees the tyre is at its peak, where the whole circle is used.
    np.testing.assert_allclose(shared[-2], D, rtol=2e-3)
    angles = [f"$α$ = {angle}°" for angle in (1, 2, 4, 8)]
    assert keys(axes.get_legend()) == [*angles, "peaks"]
    assert axes.get_aspect() == 1.0
    assert figure.get_suptitle() == "Tyres of four_wheel"


def test_a_tyre_file_gives_three_diagrams_and_its_peaks():
    car = sp.vehicles.commonroad_std()
    figure = sp.view.plots.tyre_curves(car, loads=[3000.0], alpha_max=0.26)
    assert titles(figure) == ["Lateral force", "Longitudinal force", "Shared friction"]
    axes = diagrams(figure)[1]
    assert curves(axes)[0].get_ydata().max() == pytest.approx(1.1739 * 3.0, rel=1e-3)
    assert axes.get_xlabel() == "longitudinal slip $κ$ [1]"


def test_axles_of_a_bicycle_are_told_apart():
    figure = sp.view.plots.tyre_curves(sp.vehicles.commonroad_st())
    assert titles(figure) == ["front axle: lateral force", "rear axle: lateral force"]


def test_a_heavier_load_has_the_higher_curve_and_comes_first():
    figure = sp.view.plots.tyre_curves(
        sp.vehicles.four_wheel(), loads=[500.0, 1000.0], alpha_max=0.2
    )
    axes = diagrams(figure)[0]
    heavy, light = (curve.get_ydata() for curve in curves(axes))
    F_z = r"$F_{\mathrm{z}}$"
    assert keys(axes.get_legend()) == [f"{F_z} = 1 kN", f"{F_z} = 0.5 kN"]
    np.testing.assert_allclose(heavy, 2.0 * light, rtol=1e-12, atol=1e-12)


def test_bad_requests_are_refused():
    with pytest.raises(InvalidValue, match="no tyres that can be drawn"):
        sp.view.plots.tyre_curves(sp.vehicles.kinematic_bicycle())
    with pytest.raises(InvalidValue, match="need a vehicle"):
        sp.view.plots.tyre_curves("car")
    with pytest.raises(InvalidValue, match="loads"):
        sp.view.plots.tyre_curves(sp.vehicles.four_wheel(), loads=[-1.0])
    with pytest.raises(InvalidValue, match="alpha_max"):
        sp.view.plots.tyre_curves(sp.vehicles.four_wheel(), alpha_max=2.0)


@pytest.mark.parametrize("name", ["passenger_car", "race_slick"])
def test_tyres_of_files_are_drawn_with_their_forces(name):
    tyre = sp.tyres.get(name)
    (law,) = tyre_laws(tyre)
    (same,) = tyre_laws(tyre.record)
    assert law.longitudinal is not None
    assert law.shared is not None
    slip = np.linspace(-0.2, 0.2, 9)
    lateral = tyre.forces(F_z=3000.0, alpha=-slip).F_y
    assert law.lateral(slip, 3000.0) == pytest.approx(lateral, rel=1e-9, abs=1e-6)
    assert same.lateral(slip, 3000.0) == pytest.approx(lateral, rel=1e-9, abs=1e-6)
    along = tyre.forces(F_z=3000.0, kappa=slip).F_x
    assert law.longitudinal(slip, 3000.0) == pytest.approx(along, rel=1e-9, abs=1e-6)
    F_x, F_y = law.shared(0.05, 3000.0)
    kappa = np.linspace(-1.0, 1.0, 401) ** 3
    both = tyre.forces(F_z=3000.0, kappa=kappa, alpha=-0.05)
    assert F_x == pytest.approx(both.F_x, rel=1e-9, abs=1e-6)
    assert F_y == pytest.approx(both.F_y, rel=1e-9, abs=1e-6)


def test_a_car_with_tyres_per_axle_has_a_row_for_each():
    car = sp.vehicles.two_track(front=BrushTyre(), rear=BrushTyre(mu=0.9))
    front, rear = tyre_laws(car)
    assert (front.name, rear.name) == ("front", "rear")
    assert front.peak == (1.0, 1.0)
    assert rear.peak == (0.9, 0.9)
    assert len(diagrams(sp.view.plots.tyre_curves(car))) == 6
