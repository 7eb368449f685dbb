"""A vehicle as C99: one header, one source, an example; no library, no allocation."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidValue
from ..files import path_of, replacing
from .c_header import header
from .c_main import example_main
from .c_names import Naming
from .c_queue import Queues
from .c_source import source
from .exported import Exported

__all__ = ["c_sources", "write_c"]


def c_sources(exported: Exported, *, queue: int | None = None) -> dict[str, str]:
    """The files of a vehicle in C by name: NAME.h, NAME.c and NAME_main.c, an example.

    `queue` is the room for commands that wait, for a vehicle with dead times: by default twice what
    its parameters need, at least 64.
    """
    naming = Naming(exported)
    queues = Queues(naming, queue)
    name = exported.name
    return {
        f"{name}.h": header(naming, queues),
        f"{name}.c": source(naming, queues),
        f"{name}_main.c": example_main(naming),
    }


def write_c(
    exported: Exported, folder: str | Path, *, queue: int | None = None
) -> tuple[Path, Path, Path]:
    """Write a vehicle as C into a folder, which is made if there is none.

    Returns the paths of the header, the source and the example; see `c_sources`.
    """
    target = path_of(folder, "folder")
    files = c_sources(exported, queue=queue)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write to {target}: {error.strerror or error}") from error
    for name, text in files.items():
        with replacing(target / name) as temporary:
            temporary.write_bytes(text.encode())
    head, code, main = (target / name for name in files)
    return head, code, main
