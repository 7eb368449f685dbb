"""`skidpad serve`: a world that runs in real time, on a page to watch it and to drive."""

from __future__ import annotations

import sys
import webbrowser
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue, require_extras
from .options import WorldReading, check_port

if TYPE_CHECKING:
    from ..view.live.arena import Arena

World = Annotated[
    Path | None,
    typer.Argument(help="World file; without one, a car on a track of cones with things to push."),
]


def serve(
    world: World = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; by default 8000 or the next free one.")
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="What viewers need; made up if others can reach the host.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Frames a second for each viewer.")] = 60.0,
    factor: Annotated[float, typer.Option(help="Times real time.")] = 1.0,
    record: Annotated[Path | None, typer.Option(help="Record to this file from the start.")] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    *,
    reading: WorldReading,
) -> None:
    """Show a world live in the browser: watch it, drive it, change it; Ctrl-C ends it."""
    from ..view.live.messages import FACTORS, RATES
    from ..view.live.server import PORT, LiveServer, has_display
    from ..view.live.session import Session

    for name, value, allowed in (("factor", factor, FACTORS), ("rate", rate, RATES)):
        if not isfinite(value) or value not in allowed:
            raise InvalidValue(f"--{name} {value:g} must be {allowed}")
    check_port(port)
    if token == "":
        raise InvalidValue("--token must not be empty")
    require_extras("viewer", "world", purpose="skidpad serve")
    session = Session(_arena(world, seed, reading), rate=rate, factor=factor, record=record)
    server = LiveServer(session, host=host, port=port, token=token)
    if port is None and server.port != PORT:
        _say(f"port {PORT} is in use; using {server.port}")
    _say(f"skidpad is at {server.url}  (Ctrl-C ends it)")
    if not no_browser and has_display():
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        session.stop()
    if session.news:
        _say(session.news)


def _arena(file: Path | None, seed: int, reading: WorldReading) -> Arena:
    """The world of a file, or the playground; notes on what is not simulated go to stderr."""
    import warnings

    from ..view.live.arena import Arena
    from ..view.live.sources import playground
    from ..world.scene import WorldWarning
    from ..world.xml.markup import in_brief

    if file is None:
        play = playground()
        return Arena(play.scene, seed=seed, lines=play.lines, starts=play.starts, title=play.title)
    scene = reading.load(file, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        arena = Arena(scene, seed=seed)
    for line in in_brief(scene.warnings, scene.file):
        sys.stderr.write(f"note: {line}\n")
    return arena


def _say(text: str) -> None:
    typer.echo(text)
    sys.stdout.flush()
