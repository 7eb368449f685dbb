"""Files of tyre measurements against the numbers they were written from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.tyres import Measurements, measurements

DATA = Path(__file__).parents[1] / "data" / "tyres"
RECORDED = np.load(DATA / "mfeval_book205_61.npz")
"""Recorded from MFeval 4.0; both files were written from its sweeps of the slip angle."""
INPUTS = dict(zip(RECORDED["in_columns"], RECORDED["sweep_alpha_in"].T, strict=True))
OUTPUTS = dict(zip(RECORDED["out_columns"], RECORDED["sweep_alpha_out"].T, strict=True))
TTC_NAMES = [
    "ET",
    "V",
    "N",
    "SA",
    "IA",
    "RL",
    "RE",
    "P",
    "FX",
    "FY",
    "FZ",
    "MX",
    "MZ",
    "NFX",
    "NFY",
    "RST",
    "TSTI",
    "TSTC",
    "TSTO",
    "AMBTMP",
    "SR",
    "SL",
]


def test_ttc_text_is_the_recorded_sweep() -> None:
    table = measurements(DATA / "ttc_like.dat")
    assert len(table) == 441
    for name, column in (("F_z", "Fz"), ("alpha", "alpha"), ("gamma", "gamma"), ("p", "p")):
        assert_allclose(table[name], INPUTS[column], rtol=1e-5, atol=1e-6)
    pairs = {"F_x": "Fx", "F_y": "Fy", "M_x": "Mx", "M_z": "Mz", "R_l": "Rl"}
    for name, column in pairs.items():  # six digits were written
        scale = np.abs(OUTPUTS[column]).max()
        assert_allclose(table[name], OUTPUTS[column], rtol=0.0, atol=5e-6 * scale)
    assert_array_equal(table.kappa, 0.0)
    assert np.isnan(table.omega).all()  # N is 0 at 60 km/h: not measured
    assert np.isnan(table.M_y).all()
    assert_allclose(table.v_x, 60.12 / 3.6 * np.cos(table.alpha))


def test_tydex_is_the_recorded_sweep() -> None:
    table = measurements(DATA / "tydex_like.tdx")
    rows = (INPUTS["Fz"] == 4000.0) & np.isclose(INPUTS["gamma"], 0.06)
    assert len(table) == rows.sum() == 49
    assert_allclose(table.alpha, INPUTS["alpha"][rows], atol=np.deg2rad(5.1e-4))
    assert_allclose(table.gamma, 0.06, rtol=1e-5)
    assert_array_equal(table.F_z, 4000.0)
    assert_allclose(table.p, 2.2e5)
    for name, column in (("F_x", "Fx"), ("F_y", "Fy"), ("M_x", "Mx"), ("M_z", "Mz")):
        assert_allclose(table[name], OUTPUTS[column][rows], atol=5.1e-4)
    assert set(table.label) == {"book205"}


def test_signs_of_sae_become_those_of_iso() -> None:
    """SAE J670: a slip angle to the right pushes to the left, loads are negative."""
    table = measurements(DATA / "ttc_like.dat")
    assert (table.F_z > 0.0).all()
    middle = (np.abs(table.alpha) > 0.02) & (table.gamma == table.gamma[200])
    assert (table.F_y[middle] * table.alpha[middle] < 0.0).all()


def us_text(table: Measurements) -> str:
    """The same rows in the units and signs of a US file."""
    zero = np.zeros(len(table))
    columns = {name: zero for name in TTC_NAMES}
    columns |= {
        "V": table.v_x / np.cos(table.alpha) / 0.44704,
        "SA": -np.rad2deg(table.alpha),
        "IA": np.rad2deg(table.gamma),
        "RL": table.R_l / 0.0254,
        "P": table.p / 6894.757293168361,
        "FX": table.F_x / 4.4482216152605,
        "FY": -table.F_y / 4.4482216152605,
        "FZ": -table.F_z / 4.4482216152605,
        "MX": table.M_x / 1.3558179483314004,
        "MZ": -table.M_z / 1.3558179483314004,
        "SR": zero - 1.0,
    }
    units = [
        "sec",
        "mph",
        "rpm",
        "deg",
        "deg",
        "in",
        "in",
        "psi",
        "lb",
        "lb",
        "lb",
        "ft-lb",
        "ft-lb",
        "none",
        "none",
    ]
    units += ["deg F"] * 5 + ["none"] * 2
    rows = ["\t".join(f"{v:.12g}" for v in row) for row in zip(*columns.values(), strict=True)]
    return "\r\n".join(["title", "\t".join(columns), "\t".join(units), *rows])


def test_us_units_give_the_same_as_si_ones(tmp_path: Path) -> None:
    table = measurements(DATA / "ttc_like.dat")
    file = tmp_path / "us.dat"
    file.write_text(us_text(table), "latin-1")
    again = measurements(file)
    for name in ("F_z", "alpha", "gamma", "p", "v_x", "F_x", "F_y", "M_x", "M_z", "R_l"):
        assert_allclose(again[name], table[name], rtol=1e-9, atol=1e-9)


def write_mat(path: Path, table: Measurements, packed: bool = False, **changes: Any) -> None:
    """A MAT-file of version 5 as the consortium writes them."""
    from scipy.io import savemat

    spin = table.v_x / np.cos(table.alpha) / table.R_l * 30.0 / np.pi
    content: dict[str, Any] = {
        "ET": table.time, "V": 3.6 * table.v_x / np.cos(table.alpha), "N": spin,
        "SA": -np.rad2deg(table.alpha), "IA": np.rad2deg(table.gamma), "RL": 100.0 * table.R_l,
        "P": table.p / 1e3, "FX": table.F_x, "FY": -table.F_y, "FZ": -table.F_z,
        "MX": table.M_x, "MZ": -table.M_z, "SL": table.kappa, "SR": table.kappa - 1.0,
    }  # fmt: skip
    names = list(content)
    units = [
        "sec",
        "kph",
        "rpm",
        "deg",
        "deg",
        "cm",
        "kPa",
        "N",
        "N",
        "N",
        "N-m",
        "N-m",
        "none",
        "none",
    ]
    cells = [np.array(part, dtype=object) for part in (names, units)]
    content = {name: np.asarray(values)[:, None] for name, values in content.items()}
    content |= {"channel": {"name": cells[0], "units": cells[1]}, "testid": "Cornering", **changes}
    kept = {name: value for name, value in content.items() if value is not None}
    savemat(path, kept, do_compression=packed)


def test_mat_files_are_read(tmp_path: Path) -> None:
    table = measurements(DATA / "ttc_like.dat")
    write_mat(tmp_path / "run.mat", table)
    again = measurements(tmp_path / "run.mat")
    for name in ("F_z", "alpha", "gamma", "p", "v_x", "F_x", "F_y", "M_x", "M_z", "R_l", "kappa"):
        assert_allclose(again[name], table[name], rtol=1e-12, atol=1e-12)
    assert set(again.label) == {"Cornering"}
    assert (again.omega[np.abs(again.alpha) < 0.3] > 0.0).all()  # here the spin was measured
    write_mat(tmp_path / "packed.mat", table, packed=True)
    assert_array_equal(measurements(tmp_path / "packed.mat").F_y, again.F_y)
    write_mat(tmp_path / "bare.mat", table, channel=None)
    with pytest.raises(InvalidValue, match=r"bare.mat .* no structure 'channel'"):
        measurements(tmp_path / "bare.mat")
    write_mat(tmp_path / "short.mat", table, FY=np.zeros(3))
    with pytest.raises(InvalidValue, match="channels differ in length"):
        measurements(tmp_path / "short.mat")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_own_files_give_back_the_same_bits(tmp_path: Path, suffix: str) -> None:
    table = Measurements.joined(
        [measurements(DATA / "ttc_like.dat"), measurements(DATA / "tydex_like.tdx")]
    )
    file = tmp_path / f"own.{suffix}"
    table.to_csv(file) if suffix == "csv" else table.to_parquet(file)
    again = measurements(file)
    for name, values in table.columns():
        assert_array_equal(again[name], values)
    assert_array_equal(again.label, table.label)


def test_csv_takes_other_units_and_leaves_out_rows_without_conditions(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("F_z [kN],alpha [deg],F_y [lbf],kappa [%],odd\n4,2,-100,1,7\nnan,1,2,3,7\n")
    table = measurements(file)
    assert_allclose(table.F_z, [4000.0])
    assert_allclose(table.alpha, np.deg2rad([2.0]))
    assert_allclose(table.F_y, [-444.82216152605])
    assert_allclose(table.kappa, [0.01])
    assert np.isnan(table.p).all()
    assert any("odd" in note for note in table.notes)
    assert any("1 of 2 rows" in note for note in table.notes)


def tydex_text(data: str, channels: str = "") -> str:
    constants = f"{'FZW':10}{'load':30}{'kN':10}4\n{'INFLPRES':10}{'':30}{'bar':10}2.2\n"
    lines = channels or "".join(
        f"{name:10}{'':30}{unit:10}{numbers}\n"
        for name, unit, numbers in (
            ("SLIPANGL", "deg", f"{'2':10}{'1':10}{'0.5':10}"),
            ("LONGSLIP", "%", f"{'1':10}{'0':10}{'0':10}"),
            ("FYW", "N", ""),
        )
    )
    return f"**HEADER\n**CONSTANTS\n{constants}**MEASURCHANNELS\n{lines}**MEASURDATA\n{data}**END\n"


def test_tydex_factors_offsets_and_gaps(tmp_path: Path) -> None:
    file = tmp_path / "x.tdx"
    rows = ["3.0 10.0 -500.0", "4.0 NOTAVAIL -600.0", "5.0 20.0 NOTAVAIL"]
    file.write_text(
        tydex_text("".join("".join(f"{c:>10}" for c in r.split()) + "\n" for r in rows))
    )
    table = measurements(file)
    assert_allclose(table.alpha, np.deg2rad([2.0 * (3.0 - 1.0) + 0.5, 2.0 * (5.0 - 1.0) + 0.5]))
    assert_allclose(table.kappa, [0.1, 0.2])
    assert_allclose(table.F_z, 4000.0)
    assert_array_equal(np.isnan(table.F_y), [False, True])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.dat", "t\nSA\tFZ\tIA\tSL\ndeg\tN\tdeg\tnone\n1\t2\tx\t4\n", r"line 4, column IA: 'x'"),
        ("a.dat", "t\nSA\tFZ\tIA\tSL\ndeg\tN\tdeg\tnone\n1\t2\t3\n", r"line 4: 3 values for 4"),
        ("a.dat", "t\nSA\tFZ\tIA\tSL\ndeg\tN\n", r"line 3: 2 units for 4"),
        ("a.dat", "t\nSA\tFZ\tIA\tSR\ndeg\tN\tdeg\tnone\n1\t2\t3\t4\n", "no channel SL; SR is"),
        ("a.dat", "t\nSA\tFZ\tIA\tSL\ndeg\tstone\tdeg\tnone\n1\t2\t3\t4\n", "FZ is in 'stone'"),
        ("a.tdx", tydex_text("       1.0       2.0       abc\n"), r"column FYW: 'abc'"),
        ("a.tdx", tydex_text("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"), "15 values for 3"),
        ("a.tdx", "**HEADER\n**END\n", r"no section \*\*MEASURCHANNELS"),
        ("a.csv", "F_z [N],F_y [N]\n1,x\n", r"column F_y: line 2 has 'x'"),
        ("a.csv", "F_z [N],F_y [N],p [stone]\n1,2,3\n", r"p is in 'stone'"),
        ("a.csv", "alpha,F_y\n1,2\n", "no column F_z"),
        ("a.csv", "F_z,F_y,p\n1,2,-3\n", "p of row 0 is -3"),
        ("a.csv", "", "is empty"),
    ],
)
def test_errors_name_file_and_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InvalidValue, match=message) as error:
        measurements(file)
    assert name in str(error.value)


def stepped() -> Measurements:
    """Three loads with ramps between them, up and down sweeps with hysteresis."""
    loads = np.concatenate(
        [np.full(200, 222.0), np.linspace(222.0, 445.0, 12), np.full(200, 445.0),
         np.linspace(445.0, 1112.0, 20), np.full(200, 1112.0)]
    )  # fmt: skip
    rng = np.random.default_rng(2)
    sweep = np.concatenate([np.linspace(-0.1, 0.1, 100), np.linspace(0.1, -0.1, 100)])
    alpha = np.concatenate([sweep, np.zeros(12), sweep, np.zeros(20), sweep])
    way = np.gradient(alpha)
    actual = loads + 10.0 * rng.normal(size=loads.size)
    force = -10.0 * actual * alpha + 20.0 * np.sign(way)
    return Measurements(actual, alpha=alpha, F_y=force)


def opcodes_of(call: Callable[[], object]) -> int:
    """How many instructions of Python a call runs: its cost, whatever the machine does besides."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def test_reading_tydex_takes_time_in_proportion_to_channels(tmp_path: Path) -> None:
    counts: list[int] = []
    for extra in (60, 240):
        channels = "".join(f"{f'C{k}':<10}{'':30}{'N':<10}\n" for k in range(extra))
        channels = f"{'FYW':<10}{'':30}{'N':<10}\n{channels}"
        file = tmp_path / f"{extra}.tdx"
        file.write_text(tydex_text(f"{'1.0':>10}" * (1 + extra) + "\n", channels))
        counts.append(opcodes_of(lambda file=file: measurements(file)))
    assert counts[1] < 6 * counts[0]  # each with each would be 16 times as many


def test_tydex_with_thousands_of_channels_is_refused(tmp_path: Path) -> None:
    channels = "".join(f"{f'C{k}':<10}{'':30}{'N':<10}\n" for k in range(1001))
    (tmp_path / "many.tdx").write_text(tydex_text("1.0\n", channels))
    with pytest.raises(
        InvalidValue, match=r"many\.tdx has 1001 channels; at most 1000 are allowed"
    ):
        measurements(tmp_path / "many.tdx")


def test_rows_between_steps_are_left_out() -> None:
    """Steps of 50 lb are nearer to each other than two bins of 150 N are wide."""
    table = stepped()
    kept = table.in_steps()
    assert 590 <= len(kept) < 620 < len(table)
    for load in (222.0, 445.0, 1112.0):
        assert np.sum(np.abs(kept.F_z - load) < 45.0) >= 190
    assert not np.any(np.abs(kept.F_z - 333.0) < 20.0)
    assert any("between steps" in note for note in kept.notes)


def test_means_of_both_ways_lie_between() -> None:
    mean = stepped().averaged(alpha=0.002)
    inner = np.abs(mean.alpha) < 0.09
    assert_allclose(
        mean.F_y[inner] / mean.F_z[inner], -10.0 * mean.alpha[inner], atol=0.02
    )  # 20 N of hysteresis would be 0.09 at the smallest load


def test_columns_are_checked() -> None:
    with pytest.raises(InvalidValue, match="equally long"):
        Measurements([1.0, 2.0], alpha=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidValue, match="alpha of row 1 is nan"):
        Measurements([1.0, 2.0], alpha=[1.0, np.nan])
    with pytest.raises(InvalidValue, match="F_y must be numbers"):
        Measurements([1.0, 2.0], F_y="many")
    table = Measurements([1.0, 2.0], F_y=3.0)
    with pytest.raises(ValueError, match="read-only"):
        table.F_z[0] = 7.0
    with pytest.raises(InvalidValue, match="did you mean 'alpha'"):
        table["alfa"]
    assert len(table.where(F_z=(1.5, 2.5))) == 1
    assert len(table.where([True, False])) == 1
    assert len(table.where([1], label="")) == 1
    with pytest.raises(InvalidValue, match="pair"):
        table.where(F_z=3.0)
    assert len(sp.tyres.Measurements.joined([table, table])) == 4
