"""What to warn of after a reading: one sentence for each kind of thing, with names and places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from ..scene.fields import Source
from .markup import Document, Element

_MOST_PLACES = 3
"""Places that a warning names for one thing."""
_MOST_NAMES = 12
"""Objects that it names for one thing."""
_OF_XML = ("xmlns", "xsi:", "xml:")
"""Begin attributes that belong to XML and not to the world."""


class Note(NamedTuple):
    """Something to warn of at the end."""

    source: Source
    whom: str = ""
    """The object it is about, where many may share the subject."""


Notes = Mapping[tuple[str, str], Sequence[Note]]
"""By kind and subject."""


def summaries(notes: Notes) -> tuple[str, ...]:
    """Notes as sentences, one for each kind."""
    kinds: dict[str, list[str]] = {}
    for (kind, subject), those in notes.items():
        lines = (f"{Path(note.source.file).name}:{note.source.line}" for note in those)
        places = _listed(lines, _MOST_PLACES)
        names = _listed((note.whom for note in those if note.whom), _MOST_NAMES)
        times = f"{len(those)} times " if len(those) > 1 and not names else ""
        kinds.setdefault(kind, []).append(f"{times}{subject}{names and ' '}{names} ({places})")
    return tuple(f"{kind}: {'; '.join(subjects)}" for kind, subjects in kinds.items())


LONGEST_LINE = 240
"""Characters of a kind of note in a warning."""
MOST_LINES = 6
"""Kinds of notes in a warning."""


def in_brief(lines: Sequence[str], file: str = "") -> tuple[str, ...]:
    """Sentences of `summaries` cut to what fits on a screen, with a count of what is left out.

    What is cut ends with a line that says where all of them are.
    """
    brief = [_shortened(line) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        brief.append(f"and {len(lines) - MOST_LINES} more kinds of notes")
    if brief != list(lines):
        command = f"`skidpad check {Path(file).name}` and " if Path(file).suffix else ""
        brief.append(f"{command}Scene.warnings list them in full")
    return tuple(brief)


def _shortened(line: str) -> str:
    """A sentence of `summaries` with as many of its subjects as fit."""
    if len(line) <= LONGEST_LINE:
        return line
    subjects = line.split("; ")
    kept = next(
        n for n in range(len(subjects), -1, -1) if len("; ".join(subjects[:n])) <= LONGEST_LINE
    )
    if kept == 0:
        more = f"; {len(subjects) - 1} more" if len(subjects) > 1 else ""
        return f"{subjects[0][:LONGEST_LINE].rstrip()}…{more}"
    return f"{'; '.join(subjects[:kept])}; {len(subjects) - kept} more"


def _listed(words: Iterable[str], most: int) -> str:
    """Words with commas between them, each once, and how many more there are."""
    different = list(dict.fromkeys(words))
    more = f" and {len(different) - most} more" if len(different) > most else ""
    return ", ".join(different[:most]) + more


def unknown_attributes(
    documents: Iterable[Document], failed: Collection[Source | None] = ()
) -> Iterator[tuple[str, Source]]:
    """Attributes of elements that were read, but which nothing has asked for, and their places.

    Where something `failed`, its element and those around it were not read to their end.
    """
    for document in documents:
        for element in _all(document.roots):
            if element.asked is None or element.tag == "include":
                continue
            if failed and any(part.source in failed for part in _all([element])):
                continue
            for name in element.attributes:
                if name not in element.asked and not name.startswith(_OF_XML):
                    close = get_close_matches(name, sorted(element.asked), 1, 0.75)
                    hint = f", did you mean {close[0]}?" if close else ""
                    yield f"{name} of <{element.tag}>{hint}", element.source


def _all(elements: Iterable[Element]) -> Iterator[Element]:
    for element in elements:
        yield element
        yield from _all(element.children)
