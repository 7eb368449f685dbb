"""Settings of Cyclone DDS from the environment variables that ROS 2 users set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from ..errors import InvalidValue
from .domain import domain_id

# Fast DDS 3 announces its types in a form that Cyclone asks for, does not understand, and then
# silently does not match; 1.15 is the vendor id of its maker, eProsima.
_COMPATIBILITY = (
    "<Compatibility><IgnoreTypeInformation>1.15</IgnoreTypeInformation></Compatibility>"
)
# Processes on this machine are found by messages to each port that one may have, as ROS 2 does
# since Iron, and by multicast on the loopback interface, as Fast DDS of Humble does.
_LOOPBACK = (
    '<General><Interfaces><NetworkInterface address="127.0.0.1" multicast="true"/></Interfaces>'
    "</General><Discovery><SPDPInterval>1s</SPDPInterval><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"
    '<Peers><Peer address="localhost"/></Peers></Discovery>'
)
# Only those with the same tag find each other.
_OFF = (
    "<General><AllowMulticast>false</AllowMulticast></General>"
    "<Discovery><Tag>skidpad_off_{process}</Tag></Discovery>"
)
_PLACES = {
    "SUBNET": "",
    "SYSTEM_DEFAULT": "",
    "LOCALHOST": _LOOPBACK,
    "OFF": _OFF.format(process=os.getpid()),
}
"""By what ROS_AUTOMATIC_DISCOVERY_RANGE may be."""


class Settings(NamedTuple):
    """What a domain is opened with."""

    domain: int
    xml: str
    """Fragments of Cyclone's configuration: ours, and behind a comma the user's, which wins."""


def settings_of(environment: Mapping[str, str]) -> Settings:
    """The settings that environment variables ask for."""
    places = _PLACES[_range(environment)]
    own = f'<CycloneDDS><Domain id="any">{places}{_COMPATIBILITY}</Domain></CycloneDDS>'
    users = environment.get("CYCLONEDDS_URI", "").strip()
    if not users.isascii():
        raise InvalidValue(f"CYCLONEDDS_URI is {users!r}: Cyclone DDS takes ASCII characters only")
    return Settings(domain_id(environment), f"{own},{users}" if users else own)


def _range(environment: Mapping[str, str]) -> str:
    """How far to look for others; ROS_LOCALHOST_ONLY goes before the variable of Iron."""
    localhost = environment.get("ROS_LOCALHOST_ONLY", "").strip() or "0"
    if localhost not in ("0", "1"):
        raise InvalidValue(f"ROS_LOCALHOST_ONLY is {localhost!r}, but must be 0 or 1")
    wide = environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").strip() or "SUBNET"
    if wide not in _PLACES:
        raise InvalidValue(
            f"ROS_AUTOMATIC_DISCOVERY_RANGE is {wide!r}, but must be one of {', '.join(_PLACES)}"
        )
    return "LOCALHOST" if localhost == "1" else wide
