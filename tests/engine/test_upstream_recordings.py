"""Under compat="upstream" the engine repeats the runs of the program."""

from __future__ import annotations

import numpy as np
import pytest

from engine.recordings import NAMES, recording, replay

NOISY = "s21_noise"
KEPT = ("ctl_v", "ctl_a", "ctl_c")
"""The program's own bookkeeping, which `state` does not tell."""


@pytest.mark.parametrize("name", [name for name in NAMES if name != NOISY])
def test_a_run_of_the_program_is_repeated(name: str) -> None:
    run = recording(name)
    got = replay(run.scenario, compat="upstream")
    for column, want in zip(run.columns, run.state.T, strict=True):
        if column not in KEPT:
            np.testing.assert_allclose(got.state[column], want, rtol=0, atol=1e-9, err_msg=column)
    thrown = [op["op"][0] for op in run.meta["ops"] if op.get("threw")]
    assert got.rejected == thrown


@pytest.mark.parametrize("name", [n for n in NAMES if "scan" in recording(n).arrays and n != NOISY])
def test_scans_of_the_program_are_repeated_with_their_faults(name: str) -> None:
    run = recording(name)
    got = replay(run.scenario, compat="upstream")
    assert got.scan.dtype == np.float32
    assert got.scan.shape[1] == run.meta["rays"]
    np.testing.assert_allclose(got.scan, run.arrays["scan"], rtol=2e-7, atol=0)


def test_the_status_and_the_clock_are_whole_numbers_like_upstreams() -> None:
    run = recording("s18_collision_drive")
    got = replay(run.scenario, compat="upstream")
    for column in ("status", "time_ns"):
        want = run.state[:, run.columns.index(column)]
        assert got.state[column].tolist() == want.tolist()


def test_noise_has_the_deviations_of_the_program() -> None:
    run = recording(NOISY)
    got = replay(run.scenario, compat="upstream", seed=3)
    clean = replay({**run.scenario, "noise": None}, compat="upstream")
    # 28 800 ranges pin a deviation of 0.1 to half a percent, 40 rows of three axes 0.2 to 7 %.
    for scans in (got.scan, run.arrays["scan"]):
        assert np.std(scans - clean.scan) == pytest.approx(0.1, rel=0.03)
    gyro = np.array([got.state[f"gyro_{axis}"] for axis in "xyz"])
    recorded = np.array([run.state[:, run.columns.index(f"gyro_{axis}")] for axis in "xyz"])
    for rates in (gyro, recorded):
        assert np.std(rates) == pytest.approx(0.2, rel=0.25)


def test_a_map_of_the_wrong_kind_is_refused() -> None:
    from skidpad.compat.truck import Engine
    from skidpad.errors import InvalidValue
    from skidpad.plane.maps import Map

    with pytest.raises(InvalidValue, match="grid"):
        Engine(map=Map.from_grid([[True]], resolution=0.1), compat="upstream")
