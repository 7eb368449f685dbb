"""The front door: files, sizes, titles and legends, and what is refused before anything is done."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D

import skidpad as sp
from skidpad.errors import InvalidValue, MissingExtra
from skidpad.view.plots.style import (
    axis_label,
    headings,
    literal,
    new_figure,
    quantity_title,
    room,
    shades,
    symbol,
)
from view.plots.drawn import keys
from view.plots.laps import lap

CAR = sp.vehicles.commonroad_st()
FIGURES = {
    "trajectory": lambda study, **k: lap().plot(**k),
    "columns": lambda study, **k: lap().plot(columns=["yaw", "u_steer"], **k),
    "compare": lambda study, **k: sp.view.plots.compare(lap(), lap(speed=6.0), lap(rate=0.4), **k),
    "gg": lambda study, **k: sp.view.plots.gg(lap(), limit=9.0, **k),
    "tyres": lambda study, **k: sp.view.plots.tyre_curves(sp.vehicles.formula_student(), **k),
    "phase": lambda study, **k: sp.view.plots.phase_portrait(CAR, speed=20.0, steer=0.01, **k),
    "bode": lambda study, **k: sp.view.plots.bode(CAR, speed=[10.0, 20.0], **k),
    "fan": lambda study, **k: sp.view.plots.fan(study, ["y", "yaw"], lines=3, worst=1, **k),
    "path": lambda study, **k: sp.view.plots.path(lap(), sp.vehicles.formula_student(), **k),
}
MADE = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


@pytest.mark.slow_cases("phase")
@MADE
def test_every_figure_is_a_figure_of_matplotlib_with_size_and_title(make, study):
    figure = make(study, backend="matplotlib", size=(7.5, 4.0), title="For 5 $, and 6 $")
    assert isinstance(figure, matplotlib.figure.Figure)
    assert figure.get_size_inches().tolist() == [7.5, 4.0]
    assert figure.get_suptitle() == r"For 5 \$, and 6 \$"
    assert make(study, title="").get_suptitle() == ""


@MADE
@pytest.mark.parametrize("backend", ["plotly", "bokeh"])
def test_other_back_ends_are_gone_and_the_error_says_what_to_use(make, study, backend):
    with pytest.raises(InvalidValue, match=rf"backend = '{backend}'.*drawn by matplotlib.*") as e:  # fmt: skip # noqa: E501
        make(study, backend=backend)
    assert 'path="figure.svg"' in str(e.value)
    assert "trajectory.show(vehicle)" in str(e.value)


def test_without_matplotlib_the_package_loads_and_one_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import skidpad as sp, numpy as np\n"
        "from skidpad.view.plots import bode, compare, fan, gg, path, runs, trajectory\n"
        "from skidpad.study.identify import comparison\n"
        "car = sp.vehicles.commonroad_st()\n"
        "print(len(sp.view.plots.steering_response(car, 20.0, 1.0).yaw_rate))\n"
        "for draw in (lambda: sp.view.plots.tyre_curves(sp.vehicles.four_wheel()),\n"
        "             lambda: sp.view.plots.fan(np.zeros((2, 3)), 'y', t=[0.0, 1.0]),\n"
        "             lambda: sp.Map(cones=np.zeros((1, 2)), colours=('blue',)).plot()):\n"
        "    try: draw()\n"
        "    except sp.MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence = 'a figure needs matplotlib, which is not installed: pip install "skidpad[plots]"'
    assert done.stdout.splitlines() == ["1", sentence, sentence, sentence]


def test_nothing_is_computed_before_matplotlib_is_found(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r'pip install "skidpad\[plots\]"'):
        run.plot(columns=["no such column"])


def test_files_are_refused_before_anything_is_computed(run, tmp_path):
    for suffix, more in (("bmp", "$"), ("html", "; a page")):
        with pytest.raises(InvalidValue, match=rf"suffix must be \.png, \.svg or \.pdf{more}"):
            sp.view.plots.gg(run, limit="nothing", path=tmp_path / f"gg.{suffix}")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        run.plot(tmp_path / "none" / "run.svg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [(0.1, 3.0), (3.0,), (3.0, 1e4), 3.0])
def test_sizes_are_checked(run, size):
    with pytest.raises(InvalidValue, match="inches"):
        run.plot(size=size)


@pytest.mark.slow_cases("pdf")
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_run_gives_the_same_file(tmp_path, suffix, study):
    for name in ("a", "b"):
        sp.view.plots.fan(study, "y", path=tmp_path / f"{name}.{suffix}", size=(3.5, 2.5))
    first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 4000


@pytest.mark.slow
def test_pdf_text_is_text(tmp_path, run):
    sp.view.plots.gg(run, path=tmp_path / "gg.pdf")
    # Type 42 is a TrueType font; the outlines of Type 3 are what journals refuse.
    data = (tmp_path / "gg.pdf").read_bytes()
    assert b"/Type3" not in data.replace(b" ", b"")
    assert b"FontFile2" in data


@pytest.mark.slow
def test_plotting_keeps_no_figure_open_and_leaves_the_style_alone():
    code = (
        "import sys; import skidpad as sp, matplotlib;"
        "size = matplotlib.rcParams['font.size'];"
        "sp.view.plots.tyre_curves(sp.vehicles.four_wheel());"
        "print('matplotlib.pyplot' in sys.modules, matplotlib.rcParams['font.size'] == size)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def headed(title: str, labels: list[str], size: tuple[float, float] = (6.0, 3.4)):
    """A figure with headings, laid out; and the boxes of its title, legend and axes."""
    with new_figure((6.0,), (3.4,), size) as (figure, grid):
        axes = figure.add_subplot(grid[0, 0])
        headings(figure, title, [Line2D([], [], label=label) for label in labels])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    (text,) = (t for t in figure.texts if t.get_text() == title)
    legend = figure.legends[0]
    return figure, [part.get_window_extent(renderer) for part in (text, legend, axes)]


@pytest.mark.parametrize(
    ("title", "labels"),
    [
        ("Short", ["a", "b"]),
        ("A bend on unknown grip, a thousand times", ["90 % of the runs"] * 5),
        ("A title " * 14, ["90 % of the runs"] * 3),
        ("A title " * 5, [f"entry {k} of many" for k in range(9)]),
    ],
)
def test_titles_legends_and_axes_do_not_overlap(title, labels):
    figure, (text, legend, axes) = headed(title, labels)
    assert not text.overlaps(legend)
    assert not text.overlaps(axes)
    assert not legend.overlaps(axes)
    width, height = figure.get_size_inches() * figure.dpi
    for part in (text, legend):
        assert part.x0 >= -1.0
        assert part.x1 <= width + 1.0
        assert part.y1 <= height + 1.0


def test_a_narrow_figure_stacks_its_legend(study):
    figure = sp.view.plots.fan(study, "y", lines=1, worst=1, size=(3.5, 2.5))
    assert len(keys(figure.legends[0])) == 5
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    legend = figure.legends[0].get_window_extent(canvas.get_renderer())
    assert legend.x0 >= 0.0


def test_symbols_of_print():
    assert symbol("omega") == "$ω$"
    assert symbol("v_y") == r"$v_{\mathrm{y}}$"
    assert symbol("F_z_fl") == r"$F_{\mathrm{z,fl}}$"
    assert symbol("steer") == r"$\mathrm{steer}$"
    assert literal("5 $") == r"5 \$"
    assert quantity_title("v_y", "m/s") == r"Velocity to the left $v_{\mathrm{y}}$ [m/s]"
    assert quantity_title("yaw", "rad") == "Heading [°]"
    assert quantity_title("twice $", "") == r"twice \$"
    assert axis_label("omega", "rad/s") == "yaw rate $ω$ [°/s]"
    assert axis_label("F_z", "N") == "F_z [N]"


def test_shades_grow_lighter():
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    series = [lightness(colour) for colour in shades(5)]
    assert series == sorted(series)
    assert min(np.diff(series)) > 15.0
    assert len(shades(1)) == 1


def test_ranges_leave_room_and_keep_constants_readable():
    assert room([np.array([0.0, 10.0])], 0.1) == (-1.0, 11.0)
    assert room([np.array([100.0, 100.0])]) == (90.0, 110.0)
    assert room([np.array([np.nan])]) == (None, None)
