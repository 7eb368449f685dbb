"""What all reports have around their sections: one page that asks for nothing, with replays."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from ..page_files import replay_page
from .replays import Replay

__all__ = [
    "contents",
    "document",
    "optional_section",
    "play_link",
    "replay_data",
    "replay_section",
    "section",
]

_FOLDER = files("skidpad.viewer").joinpath("report")
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cg "
    "fill='none' stroke='%230b6bcb' stroke-width='4'%3E%3Ccircle cx='16' cy='9.5' r='6.5'/%3E"
    "%3Ccircle cx='16' cy='22.5' r='6.5'/%3E%3C/g%3E%3C/svg%3E"
)


def document(title: str, body: str, data: str = "", style: str = "") -> str:
    """The whole page; `style` comes behind that of all reports, `data` behind the body."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="{ICON}">'
        f"<style>{_text('report.css')}{style}</style></head><body><main>{body}</main>"
        f"{data}</body></html>\n"
    )


def section(anchor: str, heading: str, inner: str) -> str:
    """With an anchor: the name of a manoeuvre, or one with a hyphen, which no manoeuvre has."""
    return f'<section id="{escape(anchor)}"><h2>{escape(heading)}</h2>{inner}</section>'


def optional_section(anchor: str, heading: str, inner: str) -> str:
    """Nothing where there is nothing in it."""
    return section(anchor, heading, inner) if inner else ""


def contents(entries: Mapping[str, str]) -> str:
    """Links to sections: titles by anchors."""
    links = "".join(
        f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in entries.items()
    )
    return f"<nav aria-label='Contents'><ul>{links}</ul></nav>" if links else ""


def play_link(film: int) -> str:
    """What shows a film in the frame."""
    return f'<a class="play" href="#replay-section" data-film="{film}">replay</a>'


def replay_section(films: Sequence[Replay], what: str) -> str:
    """The frame, and the list that a film is chosen from; `what` one is, such as "Drive"."""
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
    """The replay page once, and the films that it shows."""
    if not films:
        return ""
    page = base64.b64encode(replay_page("Replay", b"").encode()).decode()
    kind = 'type="application/octet-stream"'
    blocks = "".join(
        f'<script {kind} id="film-{k}">{film.film}</script>' for k, film in enumerate(films)
    )
    return (
        f'<script {kind} id="replay-page">{page}</script>{blocks}'
        f"<script>{_text('report.js')}</script>"
    )


def _text(name: str) -> str:
    return _FOLDER.joinpath(name).read_text("utf-8")
