"""The checks of tasks: they pass for a sound one, and each finds what it is there for."""

from __future__ import annotations

from typing import Any

import pytest

from learn.ring_tasks import DRAWS, Seen, task
from skidpad.learn import check_task
from skidpad.ops import sqrt


@pytest.mark.parametrize(
    ("fault", "check", "changes"),
    [
        ("", "", {}),
        ("starts in contact", "starts", {"draws": {**DRAWS, "n": {"range": [-3.0, 3.0]}}}),
        ("heading never changes", "observations",
         {"observe": lambda place, velocity: Seen(velocity.v_x, place.n, 1.0)}),
        ("is not finite", "rewards", {"reward": lambda place: sqrt(place.n)}),
        ("the action steer makes no difference", "actions",
         {"act": lambda x, a: _straight(x, a)}),
    ],
)  # fmt: skip
def test_checks_find_their_faults(fault: str, check: str, changes: dict[str, Any]) -> None:
    report = check_task(task(**changes))
    failed = {result.name: result.detail for result in report.failed}
    assert set(failed) >= {check} - {""}
    assert fault in failed.get(check, "")
    if not fault:
        report.raise_if_failed()


def _straight(x: Any, a: Any) -> Any:
    from learn.ring_tasks import CAR

    torque = 50.0 * a.drive
    return CAR.model.Input(0.0 * x.v_x, torque, torque, torque, torque)
