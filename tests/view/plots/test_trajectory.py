"""The figure of a run: which panels it has, in which units, and that awkward runs can be drawn."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.run.trajectory import Trajectory
from skidpad.units import N, Nm, m, m_s, m_s2, rad, rad_s
from skidpad.view.plots.runs import TARGET, panels, thin_line
from view.plots.drawn import curves, keys, titles


class Car(NamedTuple):
    x: m
    y: m
    yaw: rad
    v_x: m_s
    v_y: m_s
    omega: rad_s
    steer: rad
    tau_rl: Nm
    tau_rr: Nm


class Command(NamedTuple):
    steer: rad
    tau_rl: Nm
    tau_rr: Nm


class Felt(NamedTuple):
    a_x: m_s2
    a_y: m_s2
    F_z_fl: N
    F_z_fr: N


class Cart(NamedTuple):
    x: m
    y: m
    v: m_s


def drive(samples: int = 101, speed: float = 5.0, rate: float = 0.5, **keywords) -> Trajectory:
    """A drive on a circle of radius speed / rate, or on a line for rate 0."""
    t = 0.05 * np.arange(samples)
    yaw = rate * t
    x = speed * t if rate == 0 else speed / rate * np.sin(yaw)
    y = 0.0 * t if rate == 0 else speed / rate * (1 - np.cos(yaw))
    one = np.ones_like(t)
    states = [x, y, yaw, speed * one, 0 * one, rate * one, 0.1 * one, 20 * one, 20 * one]
    return Trajectory.from_arrays(
        t,
        (Car, np.column_stack(states)),
        (Command, np.column_stack([0.2 * one, 20 * one, 20 * one])),
        (Felt, np.column_stack([0 * one, speed * rate * one, 500 * one, 600 * one])),
        **keywords,
    )


def test_a_car_gets_all_panels_with_units():
    assert titles(drive().plot()) == [
        "Path [m]",
        "Speed [m/s]",
        "Acceleration [m/s²]",
        "Steering angle [°]",
        "Yaw rate [°/s]",
        "Torque [N·m]",
        "Wheel load [N]",
    ]


def test_panels_without_data_are_left_out():
    cart = Trajectory.from_arrays([0.0, 1.0], (Cart, [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]))
    assert titles(cart.plot()) == ["Path [m]", "Speed [m/s]"]


def test_angles_are_degrees_on_screen_only():
    run = drive()
    steering = next(panel for panel in panels(run) if panel.title == "Steering angle")
    state, target = steering.lines
    np.testing.assert_allclose(state.values, 0.1 * 180 / np.pi, rtol=1e-15)
    assert (state.label, target.label) == ("steer", TARGET)
    assert (state.held, target.held) == (False, True)
    assert state.colour == target.colour
    assert run.steer[0] == 0.1


def test_states_and_their_targets_are_drawn_in_degrees():
    run = drive()
    axes = next(a for a in run.plot().axes if a.get_title(loc="left") == "Steering angle [°]")
    state, target = curves(axes)
    np.testing.assert_allclose(state.get_ydata(), np.rad2deg(run.steer), rtol=1e-12)
    np.testing.assert_allclose(target.get_ydata(), np.rad2deg(run["u_steer"]), rtol=1e-12)
    assert (state.get_linestyle(), state.get_drawstyle()) == ("-", "default")
    assert (target.get_linestyle(), target.get_drawstyle()) == ("--", "steps-post")
    assert state.get_color() == target.get_color()


def test_a_target_shared_by_several_lines_has_one_grey_entry():
    axes = next(a for a in drive().plot().axes if a.get_title(loc="left") == "Torque [N·m]")
    legend = axes.get_legend()
    assert keys(legend) == ["rl", "rr", "target"]
    assert [line.get_color() for line in legend.get_lines()][-1] == "#888888"


def test_a_single_line_needs_no_legend():
    axes = next(a for a in drive().plot().axes if a.get_title(loc="left") == "Yaw rate [°/s]")
    assert axes.get_legend() is None


def test_time_stands_below_the_lowest_panels_and_is_shared():
    _, *panels_of_time = (a for a in drive().plot().axes if a.get_label() != "<colorbar>")
    labels = [axes.get_xlabel() for axes in panels_of_time]
    assert labels == ["", "", "time [s]", "", "", "time [s]"]
    assert len({axes.get_xlim() for axes in panels_of_time}) == 1


def test_speed_is_the_length_of_the_velocity():
    run = Trajectory.from_arrays([0.0], (Car, [[0, 0, 0, 3.0, 4.0, 0, 0, 0, 0]]))
    speed = next(panel for panel in panels(run) if panel.title == "Speed")
    assert [(line.label, float(line.values[0])) for line in speed.lines] == [
        ("speed", 5.0),
        ("v_x", 3.0),
        ("v_y", 4.0),
    ]


def test_path_has_equal_axes_and_marks_start_and_end():
    run = drive()
    axes = run.plot().axes[0]
    assert axes.get_aspect() == 1.0
    marks = {line.get_label(): line for line in axes.lines}
    assert marks["start"].get_xydata().tolist() == [[run.x[0], run.y[0]]]
    assert marks["end"].get_xydata().tolist() == [[run.x[-1], run.y[-1]]]


def test_path_is_coloured_only_where_speed_changes():
    assert not drive().plot().axes[0].collections
    run = drive()
    faster = tuple(
        c._replace(values=c.values + run.t) if c.name == "v_x" else c for c in run.columns
    )
    path = Trajectory(run.t, faster).plot().axes[0].collections[0]
    colours = path.get_array()
    assert colours is not None
    np.testing.assert_allclose([colours[0], colours[-1]], [5.025, 9.975], rtol=1e-12)


def test_chosen_columns_share_a_panel_per_unit():
    figure = drive().plot(columns=["F_z_fl", "omega", "F_z_fr"])
    assert titles(figure) == ["F_z_fl, F_z_fr [N]", "omega [°/s]"]


def test_title_and_the_reason_of_an_early_end():
    error = SimulationDiverged("v_x is NaN", time=5.0, last_state=None)
    figure = drive(name="toy", error=error).plot()
    assert figure.get_suptitle() == "toy"
    assert figure.get_supxlabel() == "ended early at 5 s: v_x is NaN"
    assert drive(name="toy").plot(title="Lap 3").get_suptitle() == "Lap 3"


@pytest.mark.slow_cases("long", "parked", "resampled", "straight", "two samples")
@pytest.mark.parametrize(
    "run",
    [
        pytest.param(lambda: drive(1), id="one sample"),
        pytest.param(lambda: drive(2), id="two samples"),
        pytest.param(lambda: drive(speed=0.0, rate=0.0), id="parked"),
        pytest.param(lambda: drive(speed=40.0, rate=0.0), id="straight"),
        pytest.param(lambda: drive(20_001), id="long"),
        pytest.param(lambda: drive(3).resample([0.0, 0.1]), id="resampled"),
    ],
)
def test_awkward_runs_are_drawn_without_a_warning(run, tmp_path, caplog):
    run().plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert caplog.text == ""


def test_columns_of_nan_are_drawn(tmp_path):
    run = drive()
    lost = tuple(c._replace(values=c.values * np.nan) for c in run.columns)
    Trajectory(run.t, lost).plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").exists()


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_suffix_chooses_the_format(tmp_path, suffix, start):
    path = tmp_path / f"run.{suffix}"
    drive().plot(path, columns=["v_x"])
    assert path.read_bytes().startswith(start)


def test_bad_requests_are_refused_and_write_nothing(tmp_path):
    with pytest.raises(InvalidValue, match=r"suffix must be \.png, \.svg or \.pdf$"):
        drive().plot(tmp_path / "run.bmp")
    with pytest.raises(InvalidValue, match="did you mean 'v_x'"):
        drive().plot(tmp_path / "run.png", columns=["vx"])
    with pytest.raises(InvalidValue, match="nothing to plot"):
        Trajectory(np.array([0.0]), ()).plot(tmp_path / "run.png")
    assert list(tmp_path.iterdir()) == []


def test_thinning_keeps_the_ends_and_the_peaks():
    t = np.arange(100_000.0)
    values = np.zeros_like(t)
    values[54_321] = 7.0
    values[12_345] = -3.0
    times, kept = thin_line(t, values)
    assert times.size < 4100
    assert (times[0], times[-1]) == (0.0, 99_999.0)
    assert kept[times == 54_321.0].tolist() == [7.0]
    assert kept[times == 12_345.0].tolist() == [-3.0]
    assert np.all(np.diff(times) > 0)


def test_plotting_needs_no_display_and_keeps_no_figure_open():
    code = (
        "import sys, numpy as np; from skidpad.run.trajectory import Trajectory;"
        "from skidpad.run.trajectory_table import Column; from skidpad.units import Unit;"
        "c = Column('v_x', Unit('m/s', 1, 0, -1), 'state', np.array([1.0, 2.0]));"
        "Trajectory(np.array([0.0, 1.0]), (c,)).plot();"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
