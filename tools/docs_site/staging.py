"""Copies of the pages as Sphinx reads them: links follow the pages to where they stand there."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from os.path import relpath
from pathlib import Path, PurePosixPath

from docs_site import live_pages, navigation, reference

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages outside `docs`, and where they stand on the site."""
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^ *```[^`]*$")
WIDE = """---
html_theme.sidebar_secondary.remove: true
---

"""
"""Before pages that have no contents at their side: the front page, and those with live pages."""


def stage(folder: Path, *, live: bool = True) -> None:
    """Write everything that Sphinx reads to a folder; without `live` no runs are recorded."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    order = navigation.read((DOCS / "index.md").read_text("utf-8"))
    for page in pages():
        if page != DOCS / "index.md":
            write(folder, page, rewritten(page, folder))
    modules = reference.write_pages(folder / "api")
    write_front(folder, order)
    for section in order.sections:
        more = navigation.contents(modules, "API") if section.title == "Reference" else ""
        page = navigation.section_page(in_place(section), more)
        (folder / f"{section.name}.md").write_text(moved_links(page, DOCS, folder), "utf-8")
    (folder / "extra").mkdir()
    if live:
        live_pages.record(folder / "extra" / "live")


def pages() -> list[Path]:
    """All pages and notebooks of the documentation."""
    own = [path for kind in ("md", "ipynb") for path in DOCS.rglob(f"*.{kind}")]
    return [*sorted(own), *(ROOT / name for name in MOVED if name != "README.md")]


def in_place(section: navigation.Section) -> navigation.Section:
    """A section whose pages are named as on the site."""
    placed = [
        group._replace(pages=tuple(site_path(DOCS / page).as_posix() for page in group.pages))
        for group in section.groups
    ]
    return section._replace(groups=tuple(placed))


def site_path(path: Path) -> PurePosixPath:
    """Where a file of the repository stands on the site."""
    name = path.resolve().relative_to(ROOT).as_posix()
    return PurePosixPath(MOVED.get(name, name.removeprefix("docs/")))


def write(folder: Path, page: Path, text: str) -> None:
    """Write a page to its place."""
    target = folder / site_path(page)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")


def write_front(folder: Path, order: navigation.Navigation) -> None:
    """Write the front page, with the sections of the site below it."""
    text = moved_links(live_pages.framed(order.front, "live"), DOCS, folder)
    names = tuple(f"{one.short} <{one.name}.md>" for one in order.sections)
    (folder / "index.md").write_text(WIDE + text + "\n" + navigation.contents(names), "utf-8")


def rewritten(page: Path, folder: Path) -> str:
    """A page or notebook as Sphinx reads it."""
    text = page.read_text("utf-8")
    up = "../" * (len(site_path(page).parts) - 1)
    if page.suffix == ".md":
        head = WIDE if live_pages.asked(text) else ""
        return head + moved_links(live_pages.framed(text, f"{up}live"), page.parent, folder)
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            source = moved_links("".join(cell["source"]), page.parent, folder)
            cell["source"] = source.splitlines(keepends=True)
    return json.dumps(notebook, ensure_ascii=False, indent=1)


def moved_links(text: str, home: Path, folder: Path) -> str:
    """Markdown of a page in the folder `home` with links that lead to the files of the site.

    Files of the repository that are no pages are copied, to be downloaded; of links to its folders
    the text is left, since a site shows no folders.
    """

    def moved(link: re.Match[str]) -> str:
        name, mark, anchor = link["target"].partition("#")
        if not name or ":" in name:
            return link[0]
        path = (home / name).resolve()
        if not path.is_relative_to(ROOT) or path.is_dir():
            return link["text"]
        place = site_path(path)
        if path.suffix not in (".md", ".ipynb"):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / place)
        here = site_path(home / "page.md").parent
        target = PurePosixPath(relpath(place, here)).as_posix()
        return f"{link['image']}[{link['text']}]({target}{mark}{anchor})"

    return in_prose(text, lambda line: LINK.sub(moved, line))


def in_prose(text: str, change: Callable[[str], str]) -> str:
    """A text with its lines changed, those in fenced blocks aside."""
    inside = False
    lines: list[str] = []
    for line in text.split("\n"):
        fence = FENCE.match(line) is not None
        inside ^= fence
        lines.append(line if inside or fence else change(line))
    return "\n".join(lines)
