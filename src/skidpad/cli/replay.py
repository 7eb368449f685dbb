"""`skidpad replay` and `skidpad html`: look at a recording, or make a page of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from .completion import drive_targets
from .drive_page import (
    DriveRequest,
    Dt,
    IntegratorName,
    Substeps,
    Track,
    VehicleName,
    write_page,
)
from .targets import Params, Settings
from .world import Compat, Download, Limit, ModelFolder, Shell, Variables, reading_options

if TYPE_CHECKING:
    from ..stage.film import Film

File = Annotated[
    Path,
    typer.Argument(help="Recording: an .mcap file; or a bag of ROS 2.", show_default=False),
]
LimitMb = Annotated[
    float,
    typer.Option(help="Size of the page in MB; beyond it, pictures are left out, then numbers."),
]


def replay(
    file: File,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address of the page.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of this machine; 0: any that is free.")] = 0,
    limit_mb: LimitMb = 60.0,
) -> None:
    """Open a recording in the browser; Ctrl-C ends it."""
    import webbrowser

    from ..viewer.html import html_of
    from ..viewer.page_server import PageServer

    page = html_of(_film(file), limit_mb=limit_mb)
    server = PageServer(page, port)
    typer.echo(f"{file} is at {server.url}  (Ctrl-C ends it)")
    sys.stdout.flush()
    if not no_browser:
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        typer.echo("")


def html(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|VEHICLE|WORLD",
            help="Recording: an .mcap file; or a bag of ROS 2. With --drive, a vehicle as "
            "`skidpad models` lists them, a world file, or playground.",
            show_default=False,
            autocompletion=drive_targets,
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Page to write.", show_default=False)],
    limit_mb: Annotated[
        float | None,
        typer.Option(
            help="Size of the page of a recording in MB, 15 by itself; beyond it, pictures are "
            "left out, then numbers."
        ),
    ] = None,
    drive: Annotated[
        bool, typer.Option("--drive", help="A page to drive a vehicle on, without a server.")
    ] = False,
    params: Params = None,
    settings: Settings = None,
    dt: Dt = None,
    integrator: IntegratorName = None,
    substeps: Substeps = None,
    track: Track = None,
    vehicle: VehicleName = None,
    compat: Compat = None,
    variables: Variables = None,
    limit: Limit = None,
    allow_shell: Shell = False,
    allow_download: Download = False,
    models: ModelFolder = None,
) -> None:
    """Write a recording, or a vehicle to drive, as one self-contained page, to open from disk or to
    send."""
    if out.is_dir():
        raise InvalidValue(f"{out} is a folder: give the name of a file in it, as in replay.html")
    request = DriveRequest(
        str(file),
        (*(params or ()),),
        (*(settings or ()),),
        {"dt": dt, "integrator": integrator, "substeps": substeps},
        track,
        vehicle,
        reading_options(compat, variables, limit, allow_shell, allow_download, models),
    )
    if drive:
        if limit_mb is not None:
            raise InvalidValue("--limit-mb goes with a recording, not with --drive")
        write_page(request, out)
    else:
        request.must_be_empty()
        _film(file).to_html(out, limit_mb=15.0 if limit_mb is None else limit_mb)
    typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def _film(file: Path) -> Film:
    from dataclasses import replace

    from ..identify.bag import is_bag
    from ..recording import read
    from ..recording.bag_film import bag_film

    if is_bag(file):
        return bag_film(file)
    recording = read(file)
    if not recording.times.size:
        raise InvalidValue(f"{file} has no samples: there is nothing to show")
    film = recording.film()
    return film if recording.complete else replace(film, note="the recording was cut off")
