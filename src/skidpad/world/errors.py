"""What is wrong with a world, and what its reader has to say."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidValue, MissingFile
from .scene.fields import Source


class WorldError(InvalidValue):
    """A world file that cannot be used; the message begins with file, line, column and element."""

    def __init__(self, message: str, *, source: Source | None = None, element: str = "") -> None:
        place = f"{source}: " if source is not None else ""
        super().__init__(f"{place}{f'<{element}>: ' if element else ''}{message}")
        self.message = message
        """The message without its place."""
        self.source = source
        """Where in the files; None: nowhere in particular."""
        self.element = element
        """Tag of the element that is wrong."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.message, self.source, self.element)


class MissingWorld(WorldError, MissingFile):
    """A world file that does not exist."""


class WorldWarning(UserWarning):
    """Parts of a world that are not simulated, or that were not understood."""


def _restored(kind: Any, message: str, source: Source | None, element: str) -> WorldError:
    return kind(message, source=source, element=element)
