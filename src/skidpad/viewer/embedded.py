"""The replay page within a notebook: one frame that holds the whole page and asks for nothing."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..model import Vehicle
from ..stage import BodyShape
from ..stage.film import Film
from ..stage.trajectory_stage import trajectory_stage
from ..trajectory.trajectory import Trajectory
from .html import html_of

__all__ = ["EmbeddedPage", "show_film", "show_trajectory"]


class EmbeddedPage(NamedTuple):
    """A page that a notebook shows where it is the last value of a cell."""

    about: str
    frame: str
    """HTML of the frame."""

    def __repr__(self) -> str:
        return f"<replay page of {self.about}, which notebooks show>"

    def _repr_html_(self) -> str:
        return self.frame


def show_film(film: Film, *, height: int, limit_mb: float) -> EmbeddedPage:
    """The page of a film; `height` in pixels, at most `limit_mb` (10^6 bytes) where possible."""
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
    """The page of a run."""
    name = run.name or "run"
    stage, times, rows = trajectory_stage({name: run}, vehicle, title=name)
    film = Film(stage, times, rows.astype(np.float32))
    return show_film(film, height=height, limit_mb=limit_mb)
