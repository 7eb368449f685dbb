"""What an action does, as the policy of a vehicle; with delays it acts late."""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import record
from ..ops import where
from ..policy import Policy
from ..units import one
from .task import Task


def action_policy(task: Task) -> Policy:
    """What an action does, as the policy of the vehicle: the reference is the action itself.

    With delays the memory is a queue of the last actions. The car that it knows is the task's: what
    is drawn for an episode is not told to who drives.
    """
    Params = record.define(
        "Params", {"car": task.vehicle.model.Params, "q": task.Params, "delay": one},
        {"car": task.vehicle.params, "q": task.params, "delay": 0.0},
        doc="Parameters of an action.",
    )  # fmt: skip
    if not task.delays:
        return Policy(partial(_acted, task), Reference=task.Action, Params=Params, name="action")
    Memory = _queue(task)
    act = partial(_acted_late, task, Memory)
    return Policy(act, Memory, task.Action, Params, name="action")


def _acted(task: Task, x: Any, r: Any, p: Any, dt: Any) -> Any:
    return task.called("act", {"x": x, "a": r, "p": p.car, "q": p.q, "dt": dt})


def _acted_late(task: Task, Memory: type, x: Any, m: Any, r: Any, p: Any, dt: Any) -> Any:
    acting = record.flatten(r)
    for k, action in enumerate(m, 1):
        pairs = zip(acting, record.flatten(action), strict=True)
        acting = [where(p.delay < k - 0.5, new, old) for new, old in pairs]
    u = _acted(task, x, record.unflatten(task.Action, acting), p, dt)
    return u, Memory(r, *m[:-1])


def _queue(task: Task) -> type:
    zero = record.unflatten(task.Action, [0.0] * record.size(task.Action))
    names = [f"late_{k + 1}" for k in range(task.delays)]
    hints: dict[str, Any] = dict.fromkeys(names, task.Action)
    return record.define("Late", hints, dict.fromkeys(names, zero), doc="Actions that act late.")
