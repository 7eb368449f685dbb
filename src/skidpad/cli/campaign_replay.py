"""One run of a campaign again: its numbers, its trajectory, its replay page."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console

from ..campaigns.experiment import RUN
from ..campaigns.study import Study
from ..errors import InvalidValue
from ..files import target_of
from ..runs.report import file_line
from ..stage.film import Film
from ..stage.trajectory_stage import trajectory_stage
from ..trajectory.trajectory import Trajectory
from ..viewer.html import html_of
from ..viewer.page_server import PageServer
from .campaign_tables import run_table

SUFFIXES = (".parquet", ".html")
PAGE_MB = 15.0


def replayed(study: Study, run: int, out: Path | None, *, browser: bool) -> None:
    """Print a run, and write it or show it."""
    if out is not None:
        target_of(out)
        if out.suffix.lower() not in SUFFIXES:
            raise InvalidValue(f"--out {out} must end in {' or '.join(SUFFIXES)}")
    again = study.replay(run)
    Console().print(run_table(study.columns, _row(study, run), run))
    if out is not None and out.suffix.lower() == ".parquet":
        again.to_parquet(out)
    elif out is not None:
        _film(study, run, again).to_html(out, limit_mb=PAGE_MB)
    else:
        _show(_film(study, run, again), browser)
        return
    Console(soft_wrap=True).print(file_line(f"run {run}", out))


def _row(study: Study, run: int) -> dict[str, Any]:
    names = (RUN, *(column.name for column in study.columns))
    read = study.folder.read(names, run, run + 1)
    return {name: values[0] for name, values in read.items()}


def _film(study: Study, run: int, again: Trajectory) -> Film:
    vehicle: Any = getattr(study.campaign.experiment, "vehicle", None)
    if vehicle is None:
        raise InvalidValue(
            f"run {run} has no vehicle that could be drawn: --out run.parquet writes its numbers"
        )
    title = f"{study.plan['name']}, run {run}"
    stage, times, rows = trajectory_stage({title: again}, vehicle, title=title)
    return Film(stage, times, rows.astype(np.float32))


def _show(film: Film, browser: bool) -> None:
    server = PageServer(html_of(film, limit_mb=PAGE_MB))
    typer.echo(f"the replay is at {server.url}  (Ctrl-C ends it)")
    sys.stdout.flush()
    if browser:
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        typer.echo("")
