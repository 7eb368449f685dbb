"""The API reference: a page for each package, of all names that are public, from the code alone.

A name that several modules offer is described once, where its path is shortest; the others lead
there. Docstrings are Markdown, as the pages are.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import make_api_page as public
from docs_site import described
from docs_site.docstrings import as_markdown
from docs_site.navigation import contents
from docs_site.places import Places


class Page(NamedTuple):
    """A package, or a module at the top."""

    path: str
    modules: tuple[public.Declared, ...]


def write_pages(folder: Path) -> tuple[str, ...]:
    """Write the reference to a folder; the pages at the top of it, relative to the folder above."""
    folder.mkdir(parents=True, exist_ok=True)
    written = pages()
    places = Places()
    for one in (one for page in written for one in page.modules):
        for name, thing in public.rows(one.module):
            places.take(f"{one.path}.{name}", thing)
    tops: list[str] = []
    for page in written:
        above = parent(page.path, written)
        below = [other for other in written if parent(other.path, written) == page.path]
        text = page_text(page, places, tuple(f"{other.path}.md" for other in below))
        (folder / f"{page.path}.md").write_text(text, "utf-8")
        tops += [] if above else [f"{folder.name}/{page.path}.md"]
    return tuple(tops)


def pages() -> list[Page]:
    """All pages, `skidpad` first."""
    modules: dict[str, list[public.Declared]] = {}
    for one in public.declared():
        if public.rows(one.module):
            modules.setdefault(page_of(one), []).append(one)
    return [Page(path, tuple(found)) for path, found in modules.items()]


def page_of(one: public.Declared) -> str:
    """The page of a module: its own if it is a package or at the top, else that of its package."""
    alone = hasattr(one.module, "__path__") or one.path.count(".") < 2
    return one.path if alone else one.path.rpartition(".")[0]


def parent(path: str, written: list[Page]) -> str:
    """The page above another, other than that of `skidpad` itself; "" if there is none."""
    paths = {page.path for page in written} - {"skidpad"}
    while "." in path:
        path = path.rpartition(".")[0]
        if path in paths:
            return path
    return ""


def page_text(page: Page, places: Places, below: tuple[str, ...]) -> str:
    """The page of a package."""
    parts = [f"# {page.path}\n"]
    for one in page.modules:
        parts += [] if one.path == page.path else [f"## {one.path}\n"]
        parts += module_parts(one, places)
    return "\n".join([*parts, contents(below) if below else ""])


def module_parts(one: public.Declared, places: Places) -> Iterator[str]:
    """A module: what it is, its names, those described elsewhere as a list."""
    yield f"```{{py:currentmodule}} {one.path}\n```\n"
    if one.path == "skidpad":
        yield "`import skidpad as sp`, then `sp.Simulator` and so on.\n"
    else:
        yield as_markdown(inspect.getdoc(one.module) or "")
    elsewhere: list[str] = []
    for name, thing in public.rows(one.module):
        full = f"{one.path}.{name}"
        place = places.take(full, thing)
        if place == full:
            yield described.entry(one, name, thing, places)
        else:
            elsewhere.append(f"{{py:obj}}`{name} <{place}>`")
    if elsewhere:
        yield f"Also here, and described where the link leads: {', '.join(elsewhere)}.\n"
