"""The file that a campaign was written in, kept in its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from .folder import Folder

_NOTE = "plan_file"


@dataclass(frozen=True)
class PlanText:
    """The text of a file, and where it was."""

    name: str
    """Of the file."""
    folder: str
    """Where it was: what it names is looked for there."""
    text: str

    def keep_in(self, folder: Folder) -> None:
        """Write it into a folder that is open for writing."""
        folder.note(_NOTE, asdict(self))

    @classmethod
    def kept_in(cls, folder: Folder) -> PlanText | None:
        """The text that a folder has; None where its campaign was made in Python."""
        kept = folder.notes.get(_NOTE)
        return None if kept is None else cls(**kept)
