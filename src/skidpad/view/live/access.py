"""Access control of the server: allowed host names, origins of its pages, and the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

COOKIE = "skidpad_token"
_HERE = ("localhost", "127.0.0.1", "::1")


def is_local(host: str) -> bool:
    """Whether a listening address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """Random token that cannot be guessed."""
    return secrets.token_urlsafe(16)


@dataclass(frozen=True)
class Access:
    """Conditions that a request must meet."""

    host: str
    token: str | None = None

    def refusal(
        self, headers: Mapping[str, str], query: Mapping[str, str], cookies: Mapping[str, str]
    ) -> str | None:
        """Reason to refuse a request, or None if it is allowed. Header names are in lower case."""
        host = headers.get("host", "")
        if not (_name(host) in (*_HERE, self.host.strip("[]")) or self.token is not None):
            return f"this server does not go by the name {host[:80]!r}"
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host:
            return "the page that asks is not from this server"
        if self.token is not None:
            token = query.get("token") or cookies.get(COOKIE) or ""
            if not hmac.compare_digest(token.encode(), self.token.encode()):
                return "the token is missing or wrong: use the address that the server printed"
        return None


def _place(origin: str) -> str | None:
    """Host and port of an Origin header; None if it is malformed."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _name(host: str) -> str:
    """Host name of a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
