"""The domain of ROS 2: who is in another one is not heard."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..errors import InvalidValue

LARGEST_DOMAIN = 232
"""Beyond it the ports of DDS are no ports."""


def domain_id(environment: Mapping[str, str] | None = None) -> int:
    """The domain that `ROS_DOMAIN_ID` says, in these variables or the process's own; else 0."""
    variables = os.environ if environment is None else environment
    text = variables.get("ROS_DOMAIN_ID", "").strip() or "0"
    if not (text.isascii() and text.isdecimal() and int(text) <= LARGEST_DOMAIN):
        raise InvalidValue(
            f"ROS_DOMAIN_ID is {text!r}, but must be a whole number from 0 to {LARGEST_DOMAIN}"
        )
    return int(text)
