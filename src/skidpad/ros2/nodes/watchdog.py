"""What becomes of a vehicle whose commands stop coming."""

from __future__ import annotations

from collections.abc import Callable

from ...checks import not_negative
from ...units import s
from ..clock import SECOND
from ..node import Node


class Watchdog:
    """Stops a vehicle when its last command is older than the parameter `command_timeout`.

    Args:
        node: whose parameter and simulated time it is.
        stop: what to do then, once.
    """

    def __init__(self, node: Node, stop: Callable[[], None]) -> None:
        node.parameters.declare(
            "command_timeout",
            0.0,
            "Age in s at which a command no longer counts; 0: never.",
            dynamic=True,
            check=_must_be_an_age,
        )
        self._node, self._stop = node, stop
        self._heard: int | None = None

    def heard(self) -> None:
        """A command came now."""
        self._heard = self._node.elapsed

    def forget(self) -> None:
        """There is no command that could grow old."""
        self._heard = None

    def look(self) -> None:
        """Stop the vehicle if it is time to."""
        timeout = self._node.parameters["command_timeout"]
        if timeout == 0.0 or self._heard is None:
            return
        age = (self._node.elapsed - self._heard) / SECOND
        if age > timeout:
            self._heard = None
            self._stop()
            self._node.log("warn", f"no command for {age:.3g} s: the vehicle is stopped")


def _must_be_an_age(value: s) -> None:
    not_negative("command_timeout", value, "s")
