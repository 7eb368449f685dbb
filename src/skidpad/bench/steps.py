"""Single steps called from Python: the median time of `Simulator.step`, beside the alternatives.

Everybody drives the same weave, call by call on the clock, and is judged by where it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

from .. import record
from ..run.simulator import Simulator
from .budget import Budget
from .clock import typical
from .entry import TIME, Entry, Measured
from .peers import Drive, arrays, casadi_vm, jax_scan, scipy_ivp
from .work import RADAU_DT, RK4_DT, Reference, Weave, weave, weave_reference

POSE_AND_VELOCITY = 6
"""The first fields of the state: x, y, yaw, v_x, v_y, omega."""


def entries(budget: Budget) -> Iterator[Entry]:
    """RK4 at 1 ms with the input as record, array and keywords; Radau at 10 ms."""
    course = weave(budget.weave)
    reference = weave_reference(course)
    yield from _rk4(course, reference, budget)
    yield _radau(course, reference, budget)


def _rk4(course: Weave, reference: Reference, budget: Budget) -> Iterator[Entry]:
    peers = {
        "python": _drive(arrays.python_rk4(course), reference, 1),
        "scipy": _drive(scipy_ivp.single(course, RK4_DT, "RK45"), reference, 1),
        **_casadi(course, RK4_DT, reference, budget.weave_repeats),
    }
    absent: dict[str, str] = {}
    jax = jax_scan.results(budget, 1)
    if isinstance(jax, str):
        absent["jax"] = jax
    else:
        stepping = jax["step"]
        error = reference.error(stepping["end"])
        peers["jax"] = typical(stepping["times"])._replace(error=error)
    for form, suffix in (("record", ""), ("array", ".array"), ("keywords", ".keywords")):
        drive = _own(course, RK4_DT, "rk4", form)
        own = _drive(drive, reference, budget.weave_repeats)
        details = _details(drive, RK4_DT, form, reference)
        yield Entry(f"step.four_wheel.rk4{suffix}", TIME, own, peers, absent, details)


def _radau(course: Weave, reference: Reference, budget: Budget) -> Entry:
    peers = {
        "scipy": _drive(scipy_ivp.single(course, RADAU_DT, "Radau"), reference, 1),
        "casadi": _drive(casadi_vm.called(course, RADAU_DT), reference, 1),
    }
    # A step of Radau is one tenth as many calls; the same number of them is timed.
    repeats = budget.weave_repeats * round(RADAU_DT / RK4_DT)
    drive = _own(course, RADAU_DT, "radau", "record")
    own = _drive(drive, reference, repeats)
    details = _details(drive, RADAU_DT, "record", reference)
    absent = {"jax": "has no implicit method of its own"}
    return Entry("step.four_wheel.radau", TIME, own, peers, absent, details)


def _casadi(course: Weave, dt: float, reference: Reference, repeats: int) -> dict[str, Measured]:
    return {
        "casadi": _drive(casadi_vm.called(course, dt), reference, 1),
        "casadi_buffer": _drive(casadi_vm.buffered(course, dt), reference, repeats),
    }


def _own(course: Weave, dt: float, integrator: str, form: str) -> Drive:
    simulator = Simulator(course.vehicle, dt=dt, integrator=integrator)
    kind = course.vehicle.Input
    table = course.held_rows(dt)

    def with_keywords(row: Any) -> Any:
        return simulator.step(**row)

    forms: dict[str, list[Any]] = {
        "record": [record.unflatten(kind, row) for row in table.tolist()],
        "array": list(table),
        "keywords": [dict(zip(record.names(kind), row, strict=True)) for row in table.tolist()],
    }
    return Drive(
        forms[form],
        lambda: simulator.reset(course.x0),
        with_keywords if form == "keywords" else simulator.step,
        lambda: record.flatten(simulator.state),
    )


def _details(drive: Drive, dt: float, form: str, reference: Reference) -> dict[str, Any]:
    return {
        "dt": dt,
        "calls": len(drive.rows),
        "input": form,
        "pose_and_velocity_error": reference.distance(drive.state(), POSE_AND_VELOCITY),
    }


def _drive(drive: Drive, reference: Reference, repeats: int) -> Measured:
    """The median over all calls of all laps, and the error at the end of the last one."""
    step, times = drive.step, list[float]()
    for row in drive.rows[:10]:
        step(row)
    for _ in range(repeats):
        drive.reset()
        for row in drive.rows:
            begin = perf_counter()
            step(row)
            times.append(perf_counter() - begin)
    return typical(times)._replace(error=reference.error(drive.state()))
