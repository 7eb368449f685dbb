"""Domains of Cyclone DDS: one for each id in a process, open while somebody is in it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidValue
from .cyclone_library import cyclone, delete, leave_to_the_parent, silence
from .dds_settings import Settings


@dataclass
class _Opened:
    settings: Settings
    domain: Any
    users: int = 0


@dataclass
class _Domains:
    opened: dict[int, _Opened] = field(default_factory=dict[int, _Opened])
    lock: threading.Lock = field(default_factory=threading.Lock)


_domains = _Domains()


def enter_domain(settings: Settings) -> None:
    """Open a domain, or share the one that this process has open with the same settings."""
    with _domains.lock:
        opened = _domains.opened.get(settings.domain)
        if opened is None:
            opened = _domains.opened[settings.domain] = _Opened(settings, _open(settings))
        if opened.settings != settings:
            raise InvalidValue(
                f"domain {settings.domain} is open in this process with other settings; "
                "ROS_LOCALHOST_ONLY, ROS_AUTOMATIC_DISCOVERY_RANGE and CYCLONEDDS_URI must agree"
            )
        opened.users += 1


def leave_domain(number: int) -> None:
    """Close a domain when the last one leaves it: the next one may have other settings."""
    with _domains.lock:
        opened = _domains.opened[number]
        opened.users -= 1
        if opened.users == 0:
            del _domains.opened[number]
            # Deleted here, with its threads: at the end of the interpreter it would be too late.
            delete(opened.domain)


def _open(settings: Settings) -> Any:
    silence()
    leave_to_the_parent()
    try:
        return cyclone("domain").Domain(settings.domain, settings.xml)
    except cyclone("core").DDSException as error:
        _, _, users = settings.xml.partition("</CycloneDDS>,")
        cause = f"CYCLONEDDS_URI is {users!r}" if users else "other code in this process has it"
        raise InvalidValue(
            f"domain {settings.domain} cannot be opened by Cyclone DDS ({error}): {cause}"
        ) from error
