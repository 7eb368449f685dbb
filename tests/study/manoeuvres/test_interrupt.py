"""Ctrl-C while vehicles of several kernels drive beside each other."""

from __future__ import annotations

import sys

import pytest

from run.fleet.scripts import run
from run.fleet.test_interrupt import AGAIN, INTERRUPT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are a POSIX matter")

DRIVES = """
    import numpy as np, skidpad as sp
    from skidpad.study.manoeuvres import Case, Kernels, Subject
    kernels = Kernels(threads=2)
    cars = [Subject(sp.vehicles.single_track()), Subject(sp.vehicles.kinematic_bicycle())]

    def drives(duration):
        case = Case(label="round", duration=duration, v=10.0, speed=10.0, steer=0.02)
        return kernels.drive([(car, case) for car in cars])

    check = lambda: b"".join(run["x"].tobytes() for run in drives(0.2))
    work = lambda: drives(2000.0)
"""


def test_drives_are_as_before_after_interrupts() -> None:
    assert run("REPEATS = 2", INTERRUPT, DRIVES, AGAIN).startswith("fine")
