"""One Chromium for all tests of a process, and pages of it that they have one after the other.

To start it takes as long as three tests, and a page of its own, which is a process, as long as two.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from waiting import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
"""Debian's or any other that is installed."""
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)
SCREEN = {"width": 1280, "height": 800}
HELD = ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Space")
"""Keys that tests hold; one that is still down would only repeat itself in the next test."""


class Chromium:
    """Starts when it is first lent, and ends with the tests."""

    def __init__(self) -> None:
        self._playwright: Any = None
        self._browser: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kept: dict[bool, list[Any]] = {False: [], True: []}

    @contextmanager
    def lent(self, config: pytest.Config) -> Generator[Any]:
        """The browser for a while; what was opened in it meanwhile is closed afterwards.

        Playwright leaves its event loop running between calls. Tests that do without a browser may
        run one of their own, so it is set aside when the browser comes back.
        """
        if self._browser is None:
            self._start()
            config.add_cleanup(self._end)
        else:
            asyncio._set_running_loop(self._loop)
        try:
            yield self._browser
        finally:
            kept = [page.context for pages in self._kept.values() for page in pages]
            for context in self._browser.contexts:
                if context not in kept:
                    context.close()
            self._loop = asyncio._get_running_loop()
            asyncio._set_running_loop(None)

    @contextmanager
    def empty_page(
        self,
        *,
        before: str = "",
        touch: bool = False,
        viewport: dict[str, int] = SCREEN,
        reduced_motion: str = "reduce",
        color_scheme: str = "light",
    ) -> Generator[Any]:
        """A page with nothing in it of those who had it before, on a phone if `touch`.

        For those who want less motion a page stands still until a test lets it play. A script that
        comes `before` those of the page cannot be taken back, so such a page is not kept.
        """
        kept = self._kept[touch]
        page = kept.pop() if kept else new_page(self._browser, has_touch=touch, is_mobile=touch)
        shown = page.context.new_page() if before else page
        if before:
            shown.add_init_script(before)
        shown.set_viewport_size(viewport)
        shown.emulate_media(reduced_motion=reduced_motion, color_scheme=color_scheme)
        yield shown
        if not shown.is_closed():
            for key in HELD:
                shown.keyboard.up(key)
            shown.evaluate("localStorage.clear()")
            shown.goto("about:blank")
        if before:
            shown.close()
        if not page.is_closed():
            kept.append(page)

    def _start(self) -> None:
        playwright = pytest.importorskip(
            "playwright.sync_api", reason="the page is not tested: playwright is not installed"
        )
        named = os.environ.get("SKIDPAD_CHROMIUM")
        path = named or next(filter(None, map(shutil.which, NAMES)), None)
        if path is None:
            pytest.skip("the page is not tested: there is no Chromium (set SKIDPAD_CHROMIUM)")
        self._playwright = playwright.sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))

    def _end(self) -> None:
        asyncio._set_running_loop(self._loop)
        self._browser.close()
        self._playwright.stop()


def new_page(browser: Any, **options: Any) -> Any:
    """A page in a context of its own."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000.0 * PATIENCE)
    return context.new_page()


@contextmanager
def complaints(
    page: Any, fine: tuple[str, ...] = ("file:", "data:", "about:")
) -> Generator[list[str]]:
    """Errors on a page, and what it asks for beyond addresses that are `fine`, as they come."""
    found: list[str] = []

    def note_error(error: Any) -> None:
        found.append(str(error))

    def note_request(request: Any) -> None:
        if not request.url.startswith(fine):
            found.append(f"asked for {request.url}")

    notes = {"pageerror": note_error, "request": note_request}
    for event, note in notes.items():
        page.on(event, note)
    yield found
    for event, note in notes.items():
        page.remove_listener(event, note)


CHROMIUM = Chromium()
