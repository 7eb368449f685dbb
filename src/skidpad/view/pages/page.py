"""HTML pages: assembly of the replay page, parts that all reports share, and a server of one page.

ES modules import each other by names such as `skidpad/view.js`; an import map in the page resolves
them to addresses of a server, or to `data:` addresses inside one self-contained file.

A report is one page without external requests, for screens and paper. Its replays are films shown
in one frame of the page and chosen from a list.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from ...core.files import replacing
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.trajectory import Trajectory
from ..film import Film, ScanAt
from ..stage import Body, BodyShape, Stage
from ..stages import trajectory_stage

KINDS = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
"""Content types by suffix; all text is UTF-8."""
_FILES = files("skidpad.view.pages")


@cache
def names() -> tuple[str, ...]:
    """Sorted names of the files of the page."""
    entries = (entry.name for entry in _FILES.joinpath("replay").iterdir())
    return tuple(sorted(name for name in entries if name.endswith(tuple(KINDS))))


@cache
def text(name: str) -> str:
    """Content of a file of the page; KeyError if there is no such file."""
    if name not in names():
        raise KeyError(name)
    return asset(f"replay/{name}")


def asset(path: str) -> str:
    """Text of a file next to this module, such as "evaluation/report.css"."""
    return _FILES.joinpath(path).read_text("utf-8")


def module_sources() -> dict[str, str]:
    """ES modules by name."""
    return {name: text(name) for name in names() if name.endswith(".js")}


def live_page(base: str = "/page/") -> str:
    """Page that connects to the server it comes from; `base` is the address of its modules."""
    imports = {f"skidpad/{name}": f"{base}{name}" for name in module_sources()}
    return _assemble("skidpad", imports, "live", "")


def replay_page(title: str, film: bytes) -> str:
    """Self-contained replay page; `film` is the block of `pack_film`."""
    return _assemble(title, _data_addresses(module_sources()), "replay", base64_text(film))


def drive_page(title: str, block: bytes, more: Mapping[str, str]) -> str:
    """Self-contained drive page; `block` comes from `view.pages.drive`, `more` are the modules and
    style sheets that only this page has, by name."""
    scripts = {name: source for name, source in more.items() if name.endswith(".js")}
    imports = _data_addresses(module_sources() | scripts)
    style = "".join(source for name, source in more.items() if name.endswith(".css"))
    return _assemble(title, imports, "drive", base64_text(block), style, "drive_main.js")


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _data_addresses(sources: Mapping[str, str]) -> dict[str, str]:
    """Import map of modules as `data:` addresses."""
    head = "data:text/javascript;charset=utf-8;base64,"
    return {f"skidpad/{name}": head + base64_text(text.encode()) for name, text in sources.items()}


def _assemble(
    title: str,
    imports: Mapping[str, str],
    mode: str,
    film: str,
    style: str = "",
    entry: str = "main.js",
) -> str:
    """Page template with its gaps filled; the film comes last, so that a truncated file still
    starts."""
    gaps = {
        "title": escape(title),
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


FPS = 60.0
"""Most pictures per second of film time."""
LEAST_FPS = 10.0
SCANS_PER_SECOND = 10.0
"""Scans per second of each lidar, if not all fit."""
DRAWN = ("v_x", "v_y", "v", "speed", "steer", "a_x", "a_y", "omega")
"""Channels that are kept, besides poses and wheels, if not all fit."""


def write_html(film: Film, path: str | os.PathLike[str], *, limit_mb: float = 15.0) -> None:
    """Write a film as a page of at most `limit_mb` (10^6 bytes) where that is possible.

    The file is written atomically.
    """
    write_page(html_of(film, limit_mb=limit_mb), path)


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page atomically."""
    with replacing(path) as temporary:
        temporary.write_text(page, "utf-8")


def html_of(film: Film, *, limit_mb: float = 15.0) -> str:
    if not limit_mb > 0.0:
        raise InvalidValue(f"limit_mb = {limit_mb:g} must be positive")
    frame = len(replay_page(film.stage.title, b""))
    # Base64 makes four characters of three bytes.
    room = max(0.75 * (1e6 * limit_mb - frame), 0.0)
    return replay_page(film.stage.title, pack_film(film, room))


def pack_film(film: Film, room: float) -> bytes:
    """Deflated block of a film, thinned as needed to fit into `room` bytes.

    Pictures are dropped first, then scans, then channels that are not drawn; the result may
    still be larger than `room`.
    """
    shown = film.thinned(FPS)
    block = zlib.compress(shown.to_bytes(), 6)
    fps = shown.times.size / max(shown.duration, 1e-9)
    while len(block) > room and fps > LEAST_FPS:
        # Samples that are further apart pack less well, so that a little more has to go.
        fps = max(LEAST_FPS, fps * min(max(0.9 * room / len(block), 0.3), 0.9))
        notes = [film.note, f"thinned to {fps:.0f} pictures a second"]
        shown = replace(film.thinned(fps), note="; ".join(filter(None, notes)))
        block = zlib.compress(shown.to_bytes(), 6)
    for thin in (_thin_scans, _thin_channels):
        if len(block) > room:
            shown = thin(shown)
            block = zlib.compress(shown.to_bytes(), 6)
    return block


def _thin_scans(film: Film) -> Film:
    kept: list[ScanAt] = []
    latest = np.full(len(film.stage.scans), -np.inf)
    for scan in film.scans:
        if scan.time - latest[scan.index] >= 1.0 / SCANS_PER_SECOND - 1e-6:
            latest[scan.index] = scan.time
            kept.append(scan)
    return replace(film, scans=tuple(kept))


def _thin_channels(film: Film) -> Film:
    """A copy with only the channels of poses, wheels and a few others."""
    stage = film.stage
    kept = {place for body in stage.bodies for place in (body.x, body.y, body.yaw)}
    for body in stage.bodies:
        kept |= {place for name, place in body.channels.items() if name in DRAWN}
        kept |= {wheel.steer for wheel in body.wheels if wheel.steer is not None}
    places = sorted(kept)
    new: dict[int | None, int] = {old: place for place, old in enumerate(places)}
    bodies: list[Body] = []
    for body in stage.bodies:
        pose = {name: new[getattr(body, name)] for name in ("x", "y", "yaw")}
        channels = {name: new[place] for name, place in body.channels.items() if place in new}
        forces = dict.fromkeys(("F_x", "F_y", "F_z", "use"))
        wheels = (replace(w, steer=new.get(w.steer), **forces) for w in body.wheels)
        bodies.append(replace(body, channels=channels, wheels=tuple(wheels), **pose))
    slim: Stage = replace(
        stage, channels=tuple(stage.channels[p] for p in places), bodies=tuple(bodies)
    )
    return replace(film, stage=slim, rows=film.rows[:, places], note="thinned to what is drawn")


class EmbeddedPage(NamedTuple):
    """A page that a notebook displays as the last value of a cell."""

    about: str
    frame: str

    def __repr__(self) -> str:
        return f"<replay page of {self.about}, which notebooks show>"

    def _repr_html_(self) -> str:
        return self.frame


def show_film(film: Film, *, height: int, limit_mb: float) -> EmbeddedPage:
    """Notebook page of a film; `height` in pixels, at most `limit_mb` (10^6 bytes) where
    possible."""
    if not 100 <= height <= 10_000:
        raise InvalidValue(f"height = {height} must be from 100 to 10000 pixels")
    page = escape(html_of(film, limit_mb=limit_mb))
    title = film.stage.title
    # Sandboxed: the page runs its own scripts and cannot reach the notebook around it.
    frame = (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts" srcdoc="{page}" '
        f'style="width:100%;height:{height:d}px;border:1px solid rgba(128,128,128,0.3)"></iframe>'
    )
    return EmbeddedPage(f"{title!r}, {film.duration:g} s", frame)


def show_trajectory(
    run: Trajectory, vehicle: Vehicle | BodyShape, *, height: int, limit_mb: float
) -> EmbeddedPage:
    name = run.name or "run"
    film = Film.of(*trajectory_stage({name: run}, vehicle, title=name))
    return show_film(film, height=height, limit_mb=limit_mb)


HOST = "127.0.0.1"


class PageServer:
    """Server of one page at an address that others on this machine cannot guess.

    Args:
        page: the whole page as text.
        port: port to listen on; 0 for any free one.
        data: source of the JSON served as `data.json`, evaluated at each request.
    """

    def __init__(self, page: str, port: int = 0, data: Callable[[], str] | None = None) -> None:
        path = f"/{secrets.token_urlsafe(12)}/"
        content = page.encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code, kind, body = 404, "text/plain", b"there is nothing here\n"
                if self.path == path:
                    code, kind, body = 200, "text/html", content
                elif self.path == f"{path}data.json" and data is not None:
                    code, kind, body = 200, "application/json", data().encode()
                self.send_response(code)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Suppress the log: the terminal belongs to the command."""

        try:
            self._server = ThreadingHTTPServer((HOST, port), Handler)
        except (OSError, OverflowError) as error:
            raise InvalidValue(f"cannot listen at {HOST}, port {port}: {error}") from error
        self.url = f"http://{HOST}:{self._server.server_address[1]}{path}"

    def run(self) -> None:
        try:
            self._server.serve_forever(poll_interval=0.1)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.shutdown()


REPLAY_FPS = 25.0
"""Frame rate of replays."""
ROOM = 5.5e6
"""Budget of all films together, in bytes."""
LEAST_ROOM = 30e3
"""Least budget of one film in bytes; below it, fewer films are shown."""


class Replay(NamedTuple):
    """Film of a drive in a report."""

    manoeuvre: str
    """Title of its group."""
    label: str
    film: str
    """Film data for the replay page, deflated and in base64."""

    @classmethod
    def of(cls, group: str, label: str, film: Film, room: float) -> Replay:
        """Replay of a film, thinned to `room` bytes."""
        return cls(group, label, base64_text(pack_film(film.thinned(REPLAY_FPS), room)))


ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cg "
    "fill='none' stroke='%230b6bcb' stroke-width='4'%3E%3Ccircle cx='16' cy='9.5' r='6.5'/%3E"
    "%3Ccircle cx='16' cy='22.5' r='6.5'/%3E%3C/g%3E%3C/svg%3E"
)


def document(title: str, body: str, data: str = "", style: str = "") -> str:
    """Text of the whole page; `style` is appended to the style sheet of reports, `data` to the
    body."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="{ICON}">'
        f"<style>{asset('evaluation/report.css')}{style}</style></head><body><main>{body}</main>"
        f"{data}</body></html>\n"
    )


def section(anchor: str, heading: str, inner: str) -> str:
    """HTML section. `anchor` is the name of a manoeuvre, or a name with a hyphen, which no
    manoeuvre has."""
    return f'<section id="{escape(anchor)}"><h2>{escape(heading)}</h2>{inner}</section>'


def header(title: str, date: str, badges: str, *inner: str) -> str:
    """Head of a report: title, date and program, and badges."""
    made = ", ".join(filter(None, [date, f"skidpad {__version__}"]))
    return (
        f"<header><h1>{escape(title)}</h1><p class='made'>{escape(made)} {badges}</p>"
        f"{''.join(inner)}</header>"
    )


def badge(kind: str, text: str) -> str:
    """A word in a coloured box; `kind` is good, bad or dim."""
    return f'<span class="badge {kind}">{escape(text)}</span>'


def facts_list(facts: Mapping[str, str]) -> str:
    """List of names and values; those without a value are left out."""
    lines = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text
    )
    return f"<dl>{lines}</dl>"


def fact_cards(facts: Mapping[str, str], notes: Mapping[str, str] | None = None) -> str:
    """Cards with a value in large print, and a note below where there is one."""
    cards = "".join(
        f'<div class="card"><h3>{escape(name)}</h3><p><b>{escape(text)}</b>'
        f"<small>{escape((notes or {}).get(name, ''))}</small></p></div>"
        for name, text in facts.items()
    )
    return f'<div class="cards">{cards}</div>'


def percent(share: float) -> str:
    """A share as a percentage, such as 95 % or 0.123 %."""
    return f"{100.0 * share:.3g} %".replace("-", "−")


def notes_list(notes: Iterable[str], kind: str = "notes") -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<ul class="{kind}">{items}</ul>' if items else ""


def remark(text: str) -> str:
    """Paragraph in a lighter colour."""
    return f'<p class="source">{escape(text)}</p>'


def figure(caption: str, inner: str) -> str:
    """Figure element; the caption is HTML."""
    return f"<figure><figcaption>{caption}</figcaption>{inner}</figure>"


def side_by_side(figures: Iterable[str], kind: str = "charts") -> str:
    drawn = "".join(figures)
    return f'<div class="{kind}">{drawn}</div>' if drawn else ""


def contents(entries: Mapping[str, str]) -> str:
    """Table of contents: titles by anchor."""
    links = "".join(
        f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in entries.items()
    )
    return f"<nav aria-label='Contents'><ul>{links}</ul></nav>" if links else ""


def play_link(film: int) -> str:
    """Link that shows a film in the frame."""
    return f'<a class="play" href="#replay-section" data-film="{film}">replay</a>'


def replay_section(films: Sequence[Replay], what: str) -> str:
    """Frame with the list that a film is chosen from; `what` names an entry, such as "Drive"."""
    if not films:
        return ""
    groups: dict[str, list[str]] = {}
    for k, film in enumerate(films):
        option = f'<option value="{k}">{escape(film.label)}</option>'
        groups.setdefault(film.manoeuvre, []).append(option)
    options = "".join(
        f'<optgroup label="{escape(title)}">{"".join(own)}</optgroup>'
        for title, own in groups.items()
    )
    return section(
        "replay-section",
        "Replay",
        f'<p><label>{escape(what)} <select id="replay-drive">{options}</select></label></p>'
        f'<iframe id="replay-frame" title="Replay of a {escape(what.lower())}" '
        'sandbox="allow-scripts"></iframe>',
    )


def replay_data(films: Sequence[Replay]) -> str:
    """Data of the frame: the replay page once, and the films."""
    if not films:
        return ""
    page = base64_text(replay_page("Replay", b"").encode())
    kind = 'type="application/octet-stream"'
    blocks = "".join(
        f'<script {kind} id="film-{k}">{film.film}</script>' for k, film in enumerate(films)
    )
    return (
        f'<script {kind} id="replay-page">{page}</script>{blocks}'
        f"<script>{asset('evaluation/report.js')}</script>"
    )
