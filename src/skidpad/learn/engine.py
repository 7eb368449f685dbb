"""What runs the Programs of a task: the contract of engines."""

from __future__ import annotations

from typing import Any, Protocol

from ..arrays import Array
from ..checks import one_of
from ..run.settings import DEVICES, PRECISIONS
from .cpu_engine import CpuEngine
from .programs import TaskPrograms


class TaskEngine(Protocol):
    """Arrays of all rows of a task and what advances them. On a GPU all of them live there."""

    dtype: Any
    width: int
    """Numbers of an observation, rays included."""
    x: Any
    """States, (1, B, n)."""
    m: Any
    """Memories, (1, B, n)."""
    observation: Any
    """(B, width)."""
    reward: Any
    """(B,)."""
    ended: Any
    """(B,), above 0.5 where an episode is over for good."""

    def draw_from(self, seeds: Any, periods: Any) -> None:
        """Take errors of lidars from the streams of these seeds and counts of periods, (B,), which
        the caller changes."""
        ...

    def set_actions(self, actions: Any) -> None:
        """Take the actions (B, n) of the coming period, within their bounds."""
        ...

    def advance(self) -> Any:
        """Move all vehicles by a control period; which rows (B,) are no longer finite, None if all
        are. Those stay where they were."""
        ...

    def judge(self, time: Any, noise: Array) -> None:
        """Scan, test contacts and fill observation, reward, ended; `time` (B,) in s, `noise` (B, k)
        shares."""
        ...

    def start(self, rows: Any, drawn: Array, agent: Any) -> None:
        """Put rows (k,) where their draws (k, n) begin."""
        ...

    def look(self, rows: Any, noise: Array) -> Any:
        """Fill the observations of rows (k,) that have just begun; returns their contacts (k,)."""
        ...

    def motion_of(self, row: int) -> tuple[float, ...]:
        """x, y, yaw, v_x, v_y, omega of one vehicle."""
        ...


def engine_of(
    programs: TaskPrograms, rows: int, precision: str, device: str, threads: int | None
) -> TaskEngine:
    """The engine of a device."""
    one_of("precision", precision, PRECISIONS)
    one_of("device", device, DEVICES)
    return CpuEngine(programs, rows, precision, threads)
