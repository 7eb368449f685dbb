"""A film as one self-contained page."""

from __future__ import annotations

import os
import zlib
from dataclasses import replace

import numpy as np

from ..errors import InvalidValue
from ..files import replacing
from ..stage import Stage
from ..stage.film import Film, ScanAt
from . import page_files

__all__ = ["html_of", "write_html"]

FPS = 60.0
"""Pictures a second of the film's own time, where there is room for them."""
LEAST_FPS = 10.0
SCANS_PER_SECOND = 10.0
"""Scans a second of each lidar, where there is no room for all."""
DRAWN = ("v_x", "v_y", "v", "speed", "steer", "a_x", "a_y", "omega")
"""Channels besides poses and wheels that are kept when there is no room for all."""


def write_html(film: Film, path: str | os.PathLike[str], *, limit_mb: float = 15.0) -> None:
    """Write a film as a page of at most `limit_mb` (10^6 bytes) where that is possible.

    The page is written beside `path` first and renamed, so that it is whole or not there.
    """
    page = html_of(film, limit_mb=limit_mb)
    with replacing(path) as temporary:
        temporary.write_text(page, "utf-8")


def html_of(film: Film, *, limit_mb: float = 15.0) -> str:
    """The page as text."""
    if not limit_mb > 0.0:
        raise InvalidValue(f"limit_mb = {limit_mb:g} must be positive")
    frame = len(page_files.replay_page(film.stage.title, b""))
    # Base64 makes four characters of three bytes.
    room = max(0.75 * (1e6 * limit_mb - frame), 0.0)
    return page_files.replay_page(film.stage.title, packed(film, room))


def packed(film: Film, room: float) -> bytes:
    """The deflated block of a film, which is thinned as far as needed to fit into `room` bytes.

    First fewer pictures, then fewer scans, then only channels that are drawn; what remains after
    that is kept, however large.
    """
    shown = film.thinned(FPS)
    block = zlib.compress(shown.to_bytes(), 6)
    fps = shown.times.size / max(shown.duration, 1e-9)
    while len(block) > room and fps > LEAST_FPS:
        # Samples that are further apart pack less well, so that a little more has to go.
        fps = max(LEAST_FPS, fps * min(max(0.9 * room / len(block), 0.3), 0.9))
        shown = _noted(film.thinned(fps), f"thinned to {fps:.0f} pictures a second")
        block = zlib.compress(shown.to_bytes(), 6)
    for smaller in (_fewer_scans, _drawn_only):
        if len(block) > room:
            shown = smaller(shown)
            block = zlib.compress(shown.to_bytes(), 6)
    return block


def _noted(film: Film, note: str) -> Film:
    return replace(film, note="; ".join(filter(None, [film.note, note])))


def _fewer_scans(film: Film) -> Film:
    kept: list[ScanAt] = []
    latest = np.full(len(film.stage.scans), -np.inf)
    for scan in film.scans:
        if scan.time - latest[scan.index] >= 1.0 / SCANS_PER_SECOND - 1e-6:
            latest[scan.index] = scan.time
            kept.append(scan)
    return replace(film, scans=tuple(kept))


def _drawn_only(film: Film) -> Film:
    """The film with the channels of poses, wheels and the most wanted numbers only."""
    stage = film.stage
    kept = {place for body in stage.bodies for place in (body.x, body.y, body.yaw)}
    for body in stage.bodies:
        kept |= {place for name, place in body.channels.items() if name in DRAWN}
        kept |= {wheel.steer for wheel in body.wheels if wheel.steer is not None}
    places = sorted(kept)
    new = {old: place for place, old in enumerate(places)}
    bodies = tuple(
        replace(
            body,
            x=new[body.x],
            y=new[body.y],
            yaw=new[body.yaw],
            channels={n: new[p] for n, p in body.channels.items() if p in new},
            wheels=tuple(
                replace(w, steer=new.get(w.steer) if w.steer is not None else None,
                        F_x=None, F_y=None, F_z=None, use=None)
                for w in body.wheels
            ),
        )
        for body in stage.bodies
    )  # fmt: skip
    slim: Stage = replace(stage, channels=tuple(stage.channels[p] for p in places), bodies=bodies)
    return replace(film, stage=slim, rows=film.rows[:, places], note="thinned to what is drawn")
