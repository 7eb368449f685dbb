"""A headless Chromium to measure pages in; software rendering."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
_COUNT = """seconds => new Promise(done => {
  let frames = 0;
  const begin = performance.now();
  const count = () => {
    frames += 1;
    const elapsed = performance.now() - begin;
    if (elapsed > 1000 * seconds) done(1000 * frames / elapsed);
    else requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
})"""


def why_not() -> str | None:
    """Why there is no browser to measure with; None if there is one."""
    if find_spec("playwright") is None:
        return "needs playwright"
    return None if _executable() else "needs Chromium"


def _executable() -> str | None:
    named = os.environ.get("SKIDPAD_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def page(width: int = 1440, height: int = 900) -> Generator[Any]:
    """A page of a browser that ends with the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_executable(), args=list(ARGUMENTS))
        try:
            yield browser.new_page(viewport={"width": width, "height": height})
        finally:
            browser.close()


def opened(tab: Any, file: Path) -> float:
    """Open a replay page; seconds until its film is there to be played."""
    begin = perf_counter()
    tab.goto(file.as_uri())
    tab.wait_for_function("window.skidpad && window.skidpad.film")
    return perf_counter() - begin


def frame_rate(tab: Any, duration: float = 3.0) -> float:
    """Frames a second while the film of an open page plays."""
    tab.evaluate("window.skidpad.seek(1); window.skidpad.play()")
    tab.wait_for_timeout(500)
    return float(tab.evaluate(_COUNT, duration))
