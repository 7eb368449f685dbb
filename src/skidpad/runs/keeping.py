"""Performing a show with a recording and a replay page of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidValue
from ..units import per_s, s
from .performing import Keeper, Outcome, checked_rate, perform
from .reel import Reel
from .show import Show


@dataclass(frozen=True)
class Kept:
    """What a performance left behind."""

    outcome: Outcome
    recording: Path | None
    page: Path | None


def perform_into(
    show: Show,
    folder: Path,
    name: str,
    *,
    record: bool = True,
    page: bool = True,
    duration: s | None = None,
    rate: per_s | None = None,
    watch: Callable[[s], None] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Kept:
    """Perform a show and leave NAME.mcap and NAME.html in a folder, which is made if need be.

    The files are there whatever ends the run: its time, an error of the show or Ctrl-C. `meta` is
    noted in the recording.
    """
    if record or page:
        _make(folder)
    recording = folder / f"{name}.mcap" if record else None
    reel = Reel(show.stage) if page else None
    keepers: list[Keeper] = [] if reel is None else [reel]
    with ExitStack() as stack:
        if recording is not None:
            wanted = checked_rate(show.rate if rate is None else rate)
            stack.enter_context(show.record(recording, wanted, meta or {}))
        outcome = perform(show, duration=duration, rate=rate, keepers=keepers, watch=watch)
    html = None
    if reel is not None:
        html = folder / f"{name}.html"
        reel.film(_note(outcome)).to_html(html)
    return Kept(outcome, recording, html)


def _note(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"ended at {outcome.done:.2f} s: {outcome.error}"
    return f"stopped at {outcome.done:.2f} s of {outcome.wanted:g} s" if outcome.stopped else ""


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write into {folder}: {error.strerror}") from error
