"""The packages `mcap` and `zstandard`, loaded when a recording is first written or read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import require

if TYPE_CHECKING:
    import zstandard as zstandard
    from mcap import data_stream as data_stream
    from mcap import opcode as opcode
    from mcap import records as records

_MODULES = {
    "data_stream": "mcap.data_stream",
    "opcode": "mcap.opcode",
    "records": "mcap.records",
    "zstandard": "zstandard",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = require(_MODULES[name], purpose="a recording")
    globals()[name] = module
    return module
