"""A campaign in the terminal: it runs, it may be stopped, it is summed up."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from shlex import quote
from typing import NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from ..campaigns.campaign import Campaign
from ..campaigns.engine import Engine
from ..campaigns.engines import ENGINES, engine_of
from ..campaigns.folder import Folder
from ..campaigns.onlooker import Onlooker, WatchedEngine
from ..campaigns.summary import summary_of
from ..errors import InvalidValue, MissingFile
from ..extras import require
from ..progress import interactive
from .campaign_tables import summary_sheet
from .json_output import print_json

STOPPED = 130
"""Exit status after Ctrl-C, as shells have it."""


class Request(NamedTuple):
    """How a campaign is to be run."""

    engine: str
    address: str | None
    shared: bool
    workers: int | None
    chunk_seconds: float
    page: bool
    json: bool


def performed(plan: Campaign, folder: str, request: Request) -> None:
    """Run what is missing and print the summary."""
    engine = _engine(plan, request)
    try:
        with _watched(plan, folder, engine, request) as who:
            study = plan.run(
                folder,
                engine=who,
                chunk_seconds=request.chunk_seconds,
                progress=interactive() and not request.json,
            )
    except KeyboardInterrupt:
        _tell_stop(plan, folder)
        raise typer.Exit(STOPPED) from None
    summary = summary_of(study)
    if request.json:
        print_json(summary)
    else:
        Console().print(summary_sheet(summary))


def _engine(plan: Campaign, request: Request) -> Engine:
    if request.engine not in ENGINES:
        raise InvalidValue(f"--engine {request.engine} must be one of {', '.join(ENGINES)}")
    if request.engine != "ray":
        for option, setting in (("--address", request.address), ("--shared", request.shared)):
            if setting:
                raise InvalidValue(f"{option} goes with --engine ray")
    if request.engine == "cuda" and request.workers is not None:
        raise InvalidValue("--workers goes with --engine local or ray")
    # A missing package is reported before a folder is made. RayEngine imports Ray itself, because
    # Ray reads environment variables on import.
    if request.engine == "cuda":
        require("cupy", purpose="--engine cuda")
    if request.engine == "ray":
        from ..campaigns.ray_engine import RayEngine

        return RayEngine(request.address, request.workers, shared=request.shared)
    return engine_of(request.engine, plan.experiment, request.workers)


@contextmanager
def _watched(plan: Campaign, folder: str, engine: Engine, request: Request) -> Generator[Engine]:
    """The engine, with a page that shows what it does as long as it does it."""
    if not request.page:
        yield engine
        return
    from ..viewer.campaign_page import LivePage

    onlooker = Onlooker(plan.name, plan.runs, _there(plan, folder), plan.columns())
    with LivePage(onlooker) as page:
        Console(stderr=True, soft_wrap=True).print(
            Text.assemble("progress is at ", (page.url, "cyan")), highlight=False
        )
        try:
            yield WatchedEngine(engine, onlooker)
        except BaseException:
            onlooker.end("stopped")
            raise
        onlooker.end("finished")


def _there(plan: Campaign, folder: str) -> int:
    """Runs that a folder has already."""
    try:
        missing = Folder.open(folder).missing(0, plan.runs)
    except MissingFile:
        return 0
    return plan.runs - sum(end - begin for begin, end in missing)


def _tell_stop(plan: Campaign, folder: str) -> None:
    """One line: how far it is, and how to go on."""
    try:
        done = _there(plan, folder)
    except InvalidValue:
        done = 0
    text = f"stopped: {done} of {plan.runs} runs are in {folder}; go on with "
    again = Text(f"skidpad campaign resume {quote(folder)}", "bold")
    Console(stderr=True, soft_wrap=True).print(Text.assemble(text, again), highlight=False)
