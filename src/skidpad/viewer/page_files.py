"""The files of the page: HTML, style and ES modules, put together for disk or for a server.

Modules import each other by names such as `skidpad/view.js`; a map in the page says where those
are: at an address of a server, or as `data:` addresses inside one self-contained file.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

KINDS = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
"""Content types by suffix; all are UTF-8."""
_FOLDER = files("skidpad.viewer").joinpath("page")


@cache
def names() -> tuple[str, ...]:
    """Names of the files of the page, in order."""
    entries = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name for name in entries if name.endswith(tuple(KINDS))))


@cache
def text(name: str) -> str:
    """A file of the page; KeyError for one that there is not."""
    if name not in names():
        raise KeyError(name)
    return _FOLDER.joinpath(name).read_text("utf-8")


def modules() -> tuple[str, ...]:
    """Names of the ES modules."""
    return tuple(name for name in names() if name.endswith(".js"))


def live_page(base: str = "/page/") -> str:
    """The page that connects to the server it comes from; `base` is where its modules are."""
    imports = {f"skidpad/{name}": f"{base}{name}" for name in modules()}
    return _assembled("skidpad", imports, "live", "")


def replay_page(title: str, film: bytes) -> str:
    """One self-contained page; `film` is the packed block of `viewer.film`."""
    imports = {f"skidpad/{name}": _data_address(text(name)) for name in modules()}
    return _assembled(title, imports, "replay", base64.b64encode(film).decode())


def drive_page(title: str, block: bytes, more: Mapping[str, str]) -> str:
    """One self-contained page that drives; `block` is what `viewer.drive_page` packs, `more` are
    the modules and styles that only it has, by name."""
    scripts = {name: source for name, source in more.items() if name.endswith(".js")}
    sources = {name: text(name) for name in modules()} | scripts
    imports = {f"skidpad/{name}": _data_address(source) for name, source in sources.items()}
    style = "".join(source for name, source in more.items() if name.endswith(".css"))
    film = base64.b64encode(block).decode()
    return _assembled(title, imports, "drive", film, style, "drive_main.js")


def _data_address(source: str) -> str:
    coded = base64.b64encode(source.encode()).decode()
    return f"data:text/javascript;charset=utf-8;base64,{coded}"


def _assembled(
    title: str,
    imports: Mapping[str, str],
    mode: str,
    film: str,
    style: str = "",
    entry: str = "main.js",
) -> str:
    """The template with its gaps filled; the film comes last, so that a cut file still starts."""
    gaps = {
        "title": html.escape(title),
        "mode": mode,
        "style": text("page.css") + style,
        "entry": entry,
        "imports": json.dumps({"imports": dict(imports)}),
        "film": film,
    }
    page = text("page.html")
    for name, value in gaps.items():
        page = page.replace(f"<!--{name}-->", value)
    return page
