"""A process that is killed at any moment loses what it was at, nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from campaign_folders import plan, rows
from skidpad.study.folder import Folder
from waiting import PATIENCE

SCRIPT = Path(__file__).with_name("killed_writers.py")


@pytest.mark.slow_cases("2", "3")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    ("seed", "kills", "runs"),
    [
        pytest.param(1, 5, 150, id="1"),
        pytest.param(2, 12, 400, id="2"),
        pytest.param(3, 12, 400, id="3"),
    ],
)
def test_what_was_finished_stays_and_the_digest_is_that_of_one_go(
    seed: int, kills: int, runs: int, tmp_path: Path
) -> None:
    numbers = map(str, (seed, kills, runs))
    command = [sys.executable, str(SCRIPT), str(tmp_path / "killed"), *numbers]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    digest, told, files = run.stdout.split()
    with Folder.create(tmp_path / "whole", plan()) as folder:
        folder.write_part(0, runs, rows(0, runs))
        assert folder.digest() == digest
    assert int(told) > 0
    assert int(files) < 100
