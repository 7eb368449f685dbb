"""Names of topics, services and nodes: made full, and remapped as users type it."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import InvalidValue
from .transport import Identity

_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"(~(?=/|$)|/)?(/?[A-Za-z_][A-Za-z0-9_]*)(/[A-Za-z_][A-Za-z0-9_]*)*|~")


class Remap(NamedTuple):
    """One rule `from:=to`, for every node or for one."""

    old: str
    new: str
    node: str = ""
    """Name of the node it is for; empty for all."""


def full_name(name: str, who: Identity) -> str:
    """A topic or service as others see it: relative to the namespace, "~" to the node itself."""
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"{name!r} is no name of a topic or service: letters, digits and underscores between "
            "slashes, no part may begin with a digit"
        )
    if name.startswith("/"):
        return name
    if name.startswith("~"):
        return who.full + name[1:]
    return f"{who.namespace.rstrip('/')}/{name}"


def remapped(name: str, who: Identity, rules: tuple[Remap, ...]) -> str:
    """The full name after the first rule that fits it."""
    full = full_name(name, who)
    for rule in rules:
        if rule.node in ("", who.name) and full_name(rule.old, who) == full:
            return full_name(rule.new, who)
    return full


def namespace(text: str) -> str:
    """A namespace with its slash in front; raises for what is none."""
    parts = [part for part in text.split("/") if part]
    if not all(_PART.fullmatch(part) for part in parts) or "//" in text:
        raise InvalidValue(f"namespace {text!r} must be names between slashes, such as /robots/one")
    return "/" + "/".join(parts)


def node_name(text: str) -> str:
    """The name of a node; raises for what is none."""
    if not _PART.fullmatch(text):
        raise InvalidValue(
            f"node name {text!r} must be letters, digits and underscores, no digit first"
        )
    return text
