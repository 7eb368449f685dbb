"""A browser for the tests of the page, and pages in it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from chromium import CHROMIUM, complaints
from skidpad.view.pages.drive import write_drive_page
from view.pages.drives import CARS
from view.pages.films import two_cars

NOTES_STAY = """(() => {
  const usual = window.setTimeout;
  window.setTimeout = (f, wait, ...given) => usual(f, wait < 1000 ? wait : 1000 * wait, ...given);
})()"""
"""Notes on a page, which go after seconds, stay while a test looks for them on a busy machine."""


@pytest.fixture(scope="module")
def browser(pytestconfig: pytest.Config) -> Generator[Any]:
    """The Chromium of all tests."""
    with CHROMIUM.lent(pytestconfig) as found:
        yield found


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two cars on disk."""
    path = tmp_path_factory.mktemp("page") / "two cars.html"
    two_cars().to_html(path)
    return path


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Generator[Callable[..., Any]]:
    """Opens the page of two cars, or another one, and fails at errors and at requests."""
    said: list[list[str]] = []
    with ExitStack() as until:

        def open_page(path: Path | None = None, **options: Any) -> Any:
            page = until.enter_context(CHROMIUM.empty_page(**options))
            said.append(until.enter_context(complaints(page, ("file:", "data:", "blob:"))))
            page.goto((path or page_file).as_uri())
            page.wait_for_function(
                "window.skidpad || document.documentElement.hasAttribute('data-failed')"
            )
            page.evaluate(NOTES_STAY)
            return page

        yield open_page
    assert not any(said)


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
