"""The sheet of a tyre's curves: which curves there are, and that they are the tyre's."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.tyres import BrushTyre
from view.plots.drawn import curves, keys, titles

pytest.importorskip("matplotlib")
TITLES = [
    "Lateral force", "Longitudinal force", "Aligning moment", "Camber at 4.1 kN", "Combined slip",
    "Stiffness and friction",
]  # fmt: skip


def drawn(axes):
    """Curves of a diagram without the cross at 0."""
    return [line for line in curves(axes) if len(line.get_xdata()) > 2]


def test_one_tyre_has_shades_by_load_and_its_own_forces():
    tyre = sp.tyres.get("passenger_car")
    figure = tyre.plot()
    assert titles(figure) == TITLES
    lateral, longitudinal, moment, camber, shared, over_load, friction = figure.axes
    v_x = tyre.record.model.LONGVL
    for axes, what, scale in ((lateral, "F_y", 1e-3), (moment, "M_z", 1.0)):
        for line, F_z in zip(drawn(axes), (2050.0, 4100.0, 6150.0), strict=True):
            alpha = np.deg2rad(line.get_xdata())
            forces = tyre.forces(F_z=F_z, alpha=alpha, v_x=v_x)
            wanted = scale * getattr(forces, what)
            assert line.get_ydata() == pytest.approx(wanted, abs=1e-9 * np.abs(wanted).max())
    assert len({line.get_color() for line in drawn(lateral)}) == 3
    assert len(drawn(longitudinal)) == len(drawn(camber)) == 3
    assert len(drawn(shared)) == 6  # three angles, to either side
    assert (len(drawn(over_load)), len(drawn(friction))) == (1, 2)
    assert keys(figure.legends[0]) == ["2.05 kN", "4.1 kN", "6.15 kN"]
    assert keys(camber.get_legend()) == ["−4°", "0°", "4°"]


def test_several_tyres_have_colours_and_loads_have_kinds_of_lines():
    one, two = sp.tyres.get("passenger_car"), sp.tyres.get("race_slick")
    figure = one.plot(two, sp.tyres.Tyre(BrushTyre()))
    lateral = figure.axes[0]
    assert len(drawn(lateral)) == 9
    assert len({line.get_color() for line in drawn(lateral)}) == 3
    assert len({line.get_linestyle() for line in drawn(lateral)}) >= 2
    assert keys(figure.legends[0]) == ["passenger_car", "race_slick", "BrushTyre"]
    assert [text[:3] for text in keys(lateral.get_legend())] == ["0.5", "1 $", "1.5"]


def test_legends_do_not_lie_on_the_curves():
    tyres = [sp.tyres.get(name) for name in ("passenger_car", "race_slick")]
    figure = tyres[0].plot(tyres[1])
    figure.draw_without_rendering()
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is not None:
            assert legend.get_window_extent().y0 >= axes.get_window_extent().y1 - 1.0


def test_loads_cambers_and_pressures_are_those_asked_for(tmp_path):
    tyre = sp.tyres.get("passenger_car")
    file = tmp_path / "sheet.svg"
    figure = tyre.plot(
        loads=[3000.0, 1000.0], cambers=[0.05], pressures=[2e5, 2.5e5], path=file, title="Mine"
    )
    assert file.stat().st_size > 10_000
    assert keys(figure.legends[0]) == ["passenger_car, 2 bar", "passenger_car, 2.5 bar"]
    assert keys(figure.axes[0].get_legend()) == ["1 kN", "3 kN"]
    assert keys(figure.axes[3].get_legend()) == ["0°", "2.86°"]
    force = tyre.forces(F_z=1000.0, alpha=0.05, p=2.5e5, v_x=tyre.record.model.LONGVL).F_y
    line = drawn(figure.axes[0])[2]
    assert np.interp(np.rad2deg(0.05), line.get_xdata(), 1e3 * line.get_ydata()) == pytest.approx(
        force, rel=1e-3
    )


def test_small_tyres_are_drawn_in_newtons():
    figure = sp.tyres.get("robot").plot()
    assert figure.axes[0].get_ylabel().endswith("[N]")


def test_what_cannot_be_drawn_is_refused(tmp_path):
    tyre = sp.tyres.get("robot")
    with pytest.raises(InvalidValue, match="9 tyres"):
        tyre.plot(*[tyre] * 8)
    with pytest.raises(InvalidValue, match=r"size = \(3, 2\) .* at least 7 and 4 inches"):
        tyre.plot(size=(3, 2))
    with pytest.raises(InvalidValue, match=r"pressures = 0\.0 Pa must be .* greater than 0"):
        tyre.plot(pressures=[0.0])
    with pytest.raises(InvalidValue, match="suffix"):
        tyre.plot(path=tmp_path / "sheet.bmp")
    with pytest.raises(InvalidValue, match="loads"):
        tyre.plot(loads=[-1.0])
    with pytest.raises(InvalidValue, match="cambers"):
        tyre.plot(cambers=[float("nan")])


def test_a_notebook_shows_curves_and_numbers():
    page = sp.tyres.get("robot")._repr_html_()
    assert "<svg" in page
    assert "Magic Formula 5.2, left" in page
    assert "cornering stiffness" in page
    assert "2 keys were left out" in page
