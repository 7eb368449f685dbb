"""A browser for the tests of the page: Debian's or any other Chromium that is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from skidpad.viewer.drive_page import write_drive_page
from viewer.drives import CARS
from viewer.films import two_cars
from waiting import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)


@pytest.fixture(scope="module")
def browser() -> Generator[Any]:
    """One Chromium for all tests of a module."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the page is not tested: playwright is not installed"
    )
    named = os.environ.get("SKIDPAD_CHROMIUM")
    path = named or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("the page is not tested: there is no Chromium (set SKIDPAD_CHROMIUM)")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two cars on disk."""
    path = tmp_path_factory.mktemp("page") / "two cars.html"
    two_cars().to_html(path)
    return path


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Generator[Callable[..., Any]]:
    """Opens the page of two cars, or another one, and fails at errors and at requests."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def note_request(request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            complaints.append(f"asked for {request.url}")

    def open_page(path: Path | None = None, before: str = "", **options: Any) -> Any:
        # A page for those who want less motion stands still until a test lets it play.
        still = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
        options = {**still, **options}
        context = browser.new_context(**options)
        context.set_default_timeout(1000.0 * PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", note_request)
        if before:
            page.add_init_script(before)
        page.goto((path or page_file).as_uri())
        page.wait_for_function(
            "window.skidpad || document.documentElement.hasAttribute('data-failed')"
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a car by its name, written once."""
    folder, written = tmp_path_factory.mktemp("drive"), dict[str, Path]()

    def page(name: str) -> Path:
        if name not in written:
            written[name] = folder / f"{name}.html"
            write_drive_page(CARS[name](), written[name])
        return written[name]

    return page
