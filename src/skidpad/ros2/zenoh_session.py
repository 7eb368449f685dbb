"""How a session of zenoh is opened: settings of rmw_zenoh, and variables that change them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValue, MissingFile
from ..extras import require

if TYPE_CHECKING:
    import zenoh

SETTINGS: dict[str, Any] = {
    "mode": "peer",
    "connect/endpoints": ["tcp/localhost:7447"],
    # Without a router the session opens all the same, and tries again and again.
    "connect/timeout_ms": {"router": -1, "peer": -1, "client": 0},
    "connect/exit_on_failure": {"router": False, "peer": False, "client": True},
    "connect/retry": {"period_init_ms": 1000, "period_max_ms": 1000, "period_increase_factor": 1},
    "listen/endpoints": ["tcp/localhost:0"],
    "scouting/multicast/enabled": False,
    "scouting/gossip/enabled": True,
    # Samples that are kept for late joiners need times.
    "timestamping/enabled": {"router": True, "peer": True, "client": True},
    "queries_default_timeout": 600_000,
}
"""Settings of rmw_zenoh (DEFAULT_RMW_ZENOH_SESSION_CONFIG.json5) that differ from zenoh's own."""
_FILE, _OVERRIDE = "ZENOH_SESSION_CONFIG_URI", "ZENOH_CONFIG_OVERRIDE"


def session_settings() -> zenoh.Config:
    """Settings of a session: `SETTINGS` or a whole file, and single ones on top of either."""
    config = _file_settings() or _own_settings()
    for path, value in _overrides():
        try:
            config.insert_json5(path, value)
        except Exception as error:
            raise InvalidValue(
                f"{_OVERRIDE}: {path}={value} is no setting of zenoh: {error}"
            ) from error
    return config


def open_session(config: zenoh.Config) -> zenoh.Session:
    """A session; where no router answers, one that keeps trying."""
    zenoh = require("zenoh", purpose="The transport zenoh")
    try:
        return zenoh.open(config)
    except zenoh.ZError as error:
        raise InvalidValue(
            f"zenoh cannot open a session that connects to {places(config)}: {error}"
        ) from error


def places(config: zenoh.Config) -> str:
    """Where a session looks for a router."""
    endpoints: Any = json.loads(config.get_json("connect/endpoints"))
    # One list for all modes, or one for each.
    if isinstance(endpoints, dict):
        endpoints = [place for some in endpoints.values() for place in some]
    return ", ".join(map(str, endpoints)) or "nowhere"


def _own_settings() -> zenoh.Config:
    config = require("zenoh", purpose="The transport zenoh").Config()
    for path, value in SETTINGS.items():
        config.insert_json5(path, json.dumps(value))
    return config


def _file_settings() -> zenoh.Config | None:
    path = os.environ.get(_FILE, "").strip()
    if not path:
        return None
    if not os.path.isfile(path):
        raise MissingFile(f"{_FILE}={path!r}: there is no such file")
    zenoh = require("zenoh", purpose="The transport zenoh")
    try:
        return zenoh.Config.from_file(path)
    except Exception as error:
        raise InvalidValue(f"{_FILE}={path!r} is no settings file of zenoh: {error}") from error


def _overrides() -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for part in filter(str.strip, os.environ.get(_OVERRIDE, "").split(";")):
        path, equals, value = part.partition("=")
        if not (equals and path.strip() and value.strip()):
            raise InvalidValue(f"{_OVERRIDE}: {part!r} must be path=value, joined by semicolons")
        pairs.append((path.strip(), value.strip()))
    return pairs
