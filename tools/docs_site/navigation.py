"""The order of the site, read from `docs/index.md`, which is the order of the pages anywhere else.

Its sections named in `SECTIONS` become sections of the site, headings inside them groups, and the
pages they link the entries; a page belongs where it is linked first. What stands before them is
the front page.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SECTIONS = (
    "Tutorials",
    "How-to",
    "Explanation",
    "Reference",
    "Coming from another program",
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s#:]+\.(?:md|ipynb))\)")


class Group(NamedTuple):
    """Pages below one heading of a section."""

    title: str
    """"" for pages before the first heading."""
    text: str
    """Markdown below the heading."""
    pages: tuple[str, ...]
    """As paths relative to `docs`; those that no group before has."""


class Section(NamedTuple):
    """A part of the site with an entry in its bar."""

    title: str
    groups: tuple[Group, ...]

    @property
    def name(self) -> str:
        """The name of its page."""
        return re.sub(r"\W+", "_", self.title.lower())

    @property
    def short(self) -> str:
        """Its title in the bar, where there is little room."""
        return self.title.removesuffix(" another program")

    @property
    def pages(self) -> tuple[str, ...]:
        """Of all groups."""
        return tuple(page for group in self.groups for page in group.pages)


class Navigation(NamedTuple):
    """The front page and what comes after it."""

    front: str
    sections: tuple[Section, ...]


def read(index: str) -> Navigation:
    """The navigation that a text of `docs/index.md` gives."""
    front, *parts = re.split(r"^## ", index, flags=re.MULTILINE)
    placed: set[str] = set()
    sections: list[Section] = []
    for part in parts:
        title, _, text = part.partition("\n")
        if title.strip() in SECTIONS:
            sections.append(Section(title.strip(), groups(text, placed)))
        else:
            front += f"## {part}"
    return Navigation(front, tuple(sections))


def groups(text: str, placed: set[str]) -> tuple[Group, ...]:
    """The groups of a section; pages that are placed once are added to `placed`."""
    first, *others = re.split(r"^### ", text, flags=re.MULTILINE)
    titled = [("", first), *(other.split("\n", 1) for other in others)]
    return tuple(Group(title.strip(), below, fresh(below, placed)) for title, below in titled)


def fresh(text: str, placed: set[str]) -> tuple[str, ...]:
    """Pages that a text links and that have no place yet, in its order."""
    pages: list[str] = []
    for link in LINK.finditer(text):
        page = link["target"]
        if page not in placed and page != "index.md":
            placed.add(page)
            pages.append(page)
    return tuple(pages)


def contents(pages: tuple[str, ...], caption: str = "") -> str:
    """A table of contents for Sphinx that is not shown on the page itself.

    A page may come with the title that it has there: `Title <page.md>`.
    """
    lines = ["```{toctree}", ":hidden:"]
    lines += [f":caption: {caption}"] if caption else []
    names = [re.sub(r"\.(?:md|ipynb)(?=>?$)", "", page) for page in pages]
    return "\n".join([*lines, "", *names, "```", ""])


def section_page(section: Section, more: str = "") -> str:
    """The page of a section: what the index has of it, with tables of contents; `more` ends it."""
    parts = [f"# {section.title}\n"]
    for group in section.groups:
        parts += [f"## {group.title}\n"] if group.title else []
        parts += [group.text.strip("\n") + "\n"] if group.text.strip() else []
        parts += [contents(group.pages, group.title)] if group.pages else []
    return "\n".join([*parts, more])
