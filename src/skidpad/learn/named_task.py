"""A task by its name and options, as `gymnasium.make` is given them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from .. import record
from ..errors import InvalidValue
from . import tasks
from .saved_task import SavedTask
from .task import Task


def task_of(
    task: Task | SavedTask | str, options: Mapping[str, Any], beside: tuple[str, ...] = ()
) -> Any:
    """The task, or that of a name with its options; raises for a name or an option not known.

    Args:
        task: a `Task`, one that was loaded, or the name of a function of `skidpad.learn.tasks`.
        options: arguments of that function.
        beside: what else the caller takes, for the error.
    """
    if isinstance(task, (Task, SavedTask)):
        if options:
            raise InvalidValue(
                f"{', '.join(options)}: options go with the name of a task, not with a Task"
            )
        return task
    if not isinstance(task, str):
        raise InvalidValue(f"task must be a Task or a name, got a {type(task).__qualname__}")
    if task not in tasks.__all__:
        raise InvalidValue(record.unknown_name("learn.tasks", task, tasks.__all__, "task"))
    make = getattr(tasks, task)
    allowed = option_names(make)
    for name in options:
        if name not in allowed:
            known = [*allowed, *beside]
            raise InvalidValue(record.unknown_name(f"task {task!r}", name, known, "option"))
    key = tuple((name, type(value), value) for name, value in options.items())
    return _made(task, key) if _is_hashable(key) else make(**options)


@lru_cache(maxsize=8)
def _made(task: str, options: tuple[tuple[str, type, Any], ...]) -> Task:
    """A task by name, made and traced once: nobody changes it, and many make it again."""
    return getattr(tasks, task)(**{name: value for name, _, value in options})


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def option_names(make: Any) -> list[str]:
    """What a function that makes a task takes: its arguments, and fields of the task if it takes
    any further ones."""
    arguments = inspect.signature(make).parameters.values()
    names = [a.name for a in arguments if a.kind is not inspect.Parameter.VAR_KEYWORD]
    if any(a.kind is inspect.Parameter.VAR_KEYWORD for a in arguments):
        names += [one.name for one in fields(Task) if one.name not in names]
    return names


def drawable(task: Any, render_mode: str | None) -> Any:
    """The task; raises if it is to be drawn and was loaded: its file says nothing of looks."""
    if render_mode is not None and not isinstance(task, Task):
        raise InvalidValue(
            f"render_mode = {render_mode!r}: task {task.name!r} was loaded from a file, which does "
            "not say what its vehicle looks like; allowed is None"
        )
    return task


def alone(task: Any, interface: str) -> Any:
    """The task; raises if vehicles share its worlds."""
    if task.agents != 1:
        raise InvalidValue(
            f"task {task.name!r} has {task.agents} agents and {interface} is for one: "
            "use SkidpadParallelEnv"
        )
    return task
