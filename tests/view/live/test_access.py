"""Who may come in."""

from __future__ import annotations

import pytest

from skidpad.view.live.app import COOKIE, Access, is_local, new_token

LOCAL = Access("127.0.0.1")
OPEN = Access("0.0.0.0", "secret")


def refused(access: Access, host: str, origin: str | None = None, **rest: str) -> str | None:
    headers = {"host": host} | ({} if origin is None else {"origin": origin})
    cookies = {COOKIE: rest["cookie"]} if "cookie" in rest else {}
    query = {"token": rest["token"]} if "token" in rest else {}
    return access.refusal(headers, query, cookies)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "localhost"])
def test_this_machine_comes_in_by_its_own_names(host: str) -> None:
    assert refused(LOCAL, host) is None
    assert refused(LOCAL, host, f"http://{host}") is None


@pytest.mark.parametrize("host", ["evil.example:8000", "", "127.0.0.1.evil.example", "[", "a b"])
def test_a_website_that_points_its_name_here_does_not(host: str) -> None:
    assert "does not go by the name" in (refused(LOCAL, host) or "")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost:9999",
        "null",
        "https://127.0.0.1",
        "http://[",
        "http://[::1",
        "",
        "//",
        "http://127.0.0.1:8000@evil.example",
        "http://\N{FULLWIDTH SOLIDUS}",
    ],
)
def test_a_page_from_elsewhere_does_not(origin: str) -> None:
    assert "not from this server" in (refused(LOCAL, "127.0.0.1:8000", origin) or "")


def test_others_need_the_token() -> None:
    assert "token" in (refused(OPEN, "192.168.1.5:8000") or "")
    assert "token" in (refused(OPEN, "192.168.1.5:8000", token="secreT") or "")
    assert "token" in (refused(OPEN, "192.168.1.5:8000", token="") or "")
    assert "token" in (refused(OPEN, "127.0.0.1:8000") or "")
    assert "token" in (refused(OPEN, "192.168.1.5:8000", cookie="ünknown") or "")
    assert refused(OPEN, "192.168.1.5:8000", token="secret") is None
    assert refused(OPEN, "192.168.1.5:8000", cookie="secret") is None


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("127.0.0.53", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("my-laptop", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, local: bool) -> None:
    assert is_local(host) is local


def test_tokens_are_long_and_different() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 20
