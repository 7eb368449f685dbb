"""Trajectories in Parquet, CSV and pandas: the same bits come back."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skidpad.core import files as atomic
from skidpad.errors import InvalidValue, MissingExtra, SimulationDiverged
from skidpad.run.trajectory import Trajectory
from skidpad.run.trajectory_table import Column
from skidpad.units import Unit

from .conftest import State, make

AWKWARD = [0.1, 1 / 3, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), -float("inf")]


def awkward() -> Trajectory:
    values = np.array([*AWKWARD, float("nan")])
    column = Column("v_x", Unit("m/s", length=1, time=-1), "state", values)
    return Trajectory(0.1 * np.arange(values.size), (column,))


def test_parquet_keeps_every_bit_unit_role_name_and_note(run, tmp_path):
    path = tmp_path / "run.parquet"
    noted = make(run.t, name="toy", meta={"integrator": "radau", "dt": 0.5})
    noted.to_parquet(path)
    back = Trajectory.from_parquet(path)
    assert back.same_data(noted)
    assert back.name == "toy"
    assert back.meta == {"integrator": "radau", "dt": 0.5}
    assert back.error is None
    assert back.state(3, State=State) == run.state(3)
    assert back.unit("u_F") == run.unit("u_F")


def test_parquet_keeps_that_a_run_ended_early(tmp_path):
    path = tmp_path / "run.parquet"
    error = SimulationDiverged("v_x is NaN", time=0.0, last_state=None)
    make(np.array([0.0]), error=error).to_parquet(path)
    assert str(Trajectory.from_parquet(path).error) == "SimulationDiverged: v_x is NaN"


def test_both_formats_keep_awkward_floats(tmp_path):
    trajectory = awkward()
    trajectory.to_parquet(tmp_path / "a.parquet")
    trajectory.to_csv(tmp_path / "a.csv")
    assert Trajectory.from_parquet(tmp_path / "a.parquet").same_data(trajectory)
    assert Trajectory.from_csv(tmp_path / "a.csv").same_data(trajectory)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=8))
def test_csv_keeps_any_float(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("csv") / "run.csv"
    values = np.array(numbers)
    trajectory = Trajectory(
        np.arange(values.size), (Column("x", Unit("m", length=1), "state", values),)
    )
    trajectory.to_csv(path)
    assert Trajectory.from_csv(path).same_data(trajectory)


def test_csv_is_readable(tmp_path):
    path = tmp_path / "toy.csv"
    make(np.array([0.0, 0.5]))[:2].to_csv(path)
    header, first, second = path.read_text(encoding="utf-8").splitlines()
    assert header.startswith("t [s],pose.x [m],pose.y [m],pose.yaw [rad],v_x [m/s],")
    assert "a_x [m/s²]" in header
    assert first.startswith("0.0,0.0,0.0,0.0,3.0,")
    assert second.startswith("0.5,1.5,0.25,0.05,4.0,")


def test_csv_knows_inputs_by_their_prefix(run, tmp_path):
    run.to_csv(tmp_path / "toy.csv")
    back = Trajectory.from_csv(tmp_path / "toy.csv")
    assert back.name == "toy"
    assert back.inputs.tobytes() == run.inputs.tobytes()
    assert back.units == run.units


def test_csv_takes_units_of_your_own(tmp_path):
    torr = Unit("Torr", length=-1, mass=1, time=-2)
    trajectory = Trajectory(np.array([0.0]), (Column("P", torr, "state", np.array([5.0])),))
    trajectory.to_csv(tmp_path / "p.csv")
    with pytest.raises(InvalidValue, match="'P' has the unknown unit 'Torr'; known are"):
        Trajectory.from_csv(tmp_path / "p.csv")
    back = Trajectory.from_csv(tmp_path / "p.csv", units={"P": torr})
    assert back.same_data(trajectory)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have 't \\[s\\]' as its first column"),
        ("x [m]\n1.0\n", "must have 't \\[s\\]' as its first column"),
        ("t [s],speed\n", "'speed' must be of the form 'name \\[unit\\]'"),
        ("t [s],x [m]\n0.0,1.0\n1.0\n", "line 3: 1 values for 2 columns"),
        ("t [s],x [m]\n0.0,fast\n", "line 2: x = 'fast' is not a number"),
        ("t [s],x [m]\n", "at least one sample"),
        ("t [s],x [m]\n1.0,0.0\n0.5,0.0\n", "time must increase"),
    ],
)
def test_a_bad_csv_is_refused_with_the_place(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValue, match=message):
        Trajectory.from_csv(path)


def test_bad_parquet_is_refused(tmp_path):
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "bad.parquet"
    path.write_bytes(b"not parquet at all")
    with pytest.raises(InvalidValue, match=r"bad\.parquet is not a readable Parquet file"):
        Trajectory.from_parquet(path)
    parquet.write_table(pyarrow.table({"x": [1.0]}), path)
    with pytest.raises(InvalidValue, match="has no column 't'"):
        Trajectory.from_parquet(path)
    parquet.write_table(pyarrow.table({"t": [1.0], "who": ["me"]}), path)
    with pytest.raises(InvalidValue, match="'who' must hold numbers"):
        Trajectory.from_parquet(path)


def test_other_programs_parquet_is_read_as_plain_numbers(tmp_path):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"t": [0.0, 1.0], "speed": [3, 4]}), tmp_path / "o.parquet")
    back = Trajectory.from_parquet(tmp_path / "o.parquet")
    assert back.speed.tolist() == [3.0, 4.0]
    assert str(back.unit("speed")) == "1"


def test_notes_must_be_plain_json(tmp_path):
    odd = make(np.array([0.0]), meta={"vehicle": object()})
    with pytest.raises(InvalidValue, match="meta must hold plain JSON values"):
        odd.to_parquet(tmp_path / "odd.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("old")

    def fail() -> None:
        with atomic.replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        fail()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.csv"]


def test_a_missing_folder_is_named(run, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        run.to_csv(tmp_path / "nowhere" / "run.csv")


def test_pandas_frame(run):
    frame = run.to_pandas()
    assert frame.index.name == "t"
    assert list(frame.columns) == list(run.names)
    assert frame["v_x"].to_numpy().tobytes() == run.v_x.tobytes()
    assert frame.attrs["units"]["v_x"] == "m/s"
    assert frame.attrs["name"] == "toy"


def test_without_pandas_the_error_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # what makes Python refuse to import it
    with pytest.raises(MissingExtra, match=r'pip install "skidpad\[pandas\]"'):
        run.to_pandas()


def test_importing_trajectories_loads_no_heavy_package():
    heavy = ("pandas", "pyarrow", "matplotlib", "casadi", "jax", "llvmlite")
    code = (
        "import sys, skidpad.run.trajectory, skidpad.run.trajectory_table;"
        f"print([n for n in {heavy!r} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_table_that_was_cut_off_is_refused_wherever(run, tmp_path):
    """A number that lost its last digits is another number."""
    path = tmp_path / "run.csv"
    run.to_csv(path)
    whole = path.read_text()
    end = whole.rstrip().rindex("\n") + 1
    for cut in range(end + 1, len(whole)):
        path.write_text(whole[:cut])
        with pytest.raises(InvalidValue, match=r"run\.csv"):
            Trajectory.from_csv(path)
    path.write_text(whole[:end])
    assert len(Trajectory.from_csv(path)) == len(run) - 1
