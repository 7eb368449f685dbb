"""Recording what runs: one file after another, as the stage changes or the world starts again."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path

from ...recording import WorldRecorder
from ...units import per_s
from .arena import Arena

RATE: per_s = 30.0
"""Samples per second of simulated time."""

_log = logging.getLogger(__name__)


class Recordings:
    """The recording that is under way, if any. What fails ends it, and nothing else.

    Args:
        folder: where recordings go.
        wanted: the first of them, if it is to have a name of its own.
    """

    def __init__(self, folder: Path, wanted: Path | None) -> None:
        self._folder, self._wanted = folder, wanted
        self._recorder: WorldRecorder | None = None
        self.news = ""
        """Where the latest recording goes, went, or why it ended."""

    @property
    def file(self) -> Path | None:
        """What is recorded to."""
        return None if self._recorder is None else self._recorder.path

    def begin(self, arena: Arena) -> None:
        """Record from now on; nothing happens if that is so already."""
        if self._recorder is None:
            path = free_name(self._folder, self._wanted)
            stage = arena.stage
            self._recorder = WorldRecorder(
                arena.world, path, rate=RATE, title=stage.title, lines=stage.lines
            )
            self.news = f"recording to {path}"

    def end(self) -> None:
        """Close the file."""
        if self._recorder is None:
            return
        recorder, self._recorder = self._recorder, None
        self.news = f"recorded to {recorder.path}"
        try:
            recorder.close()
        except Exception as error:  # A full disk must not end the session.
            self._failed(recorder, error)

    def renew(self, arena: Arena) -> None:
        """Go on in another file, for another stage or a clock that starts again."""
        if self._recorder is not None:
            self.end()
            self.begin(arena)

    def sample(self) -> bool:
        """Take the moment, if it is due; whether the recording is still well."""
        if self._recorder is None:
            return True
        try:
            self._recorder.sample()
        except Exception as error:  # As above.
            self._failed(self._recorder, error)
            return False
        return True

    def settle(self) -> None:
        """Write what was taken: before parameters change, on which the rows depend."""
        if self._recorder is not None:
            self._recorder.flush()

    def _failed(self, recorder: WorldRecorder, error: Exception) -> None:
        _log.warning("recording to %s failed: %s", recorder.path, error)
        self._recorder = None
        self.news = f"the recording to {recorder.path} ended: {error}"


def free_name(folder: Path, name: Path | None = None) -> Path:
    """A file that does not exist yet: as wanted or named after the time, and a number if needed."""
    first = name or folder / f"skidpad-{datetime.now():%Y%m%d-%H%M%S}.mcap"
    if not first.exists():
        return first
    numbered = (first.with_stem(f"{first.stem}-{k}") for k in range(2, 10_000))
    return next(path for path in numbered if not path.exists())
