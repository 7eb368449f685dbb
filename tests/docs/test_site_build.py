"""The documentation site is built strictly, and read in a browser; needs `.venv-docs`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Generator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT
from view.pages.conftest import browser as browser
from waiting import PATIENCE

pytestmark = pytest.mark.slow
PHONE = {"width": 390, "height": 844}


def builder() -> str:
    """The interpreter that has Sphinx."""
    folder = ROOT / ".venv-docs"
    for name in ("bin/python", "Scripts/python.exe"):
        if (folder / name).exists():
            return str(folder / name)
    if find_spec("sphinx") is None or find_spec("myst_nb") is None:
        pytest.skip("the site is not built: there is no .venv-docs (make docs creates it)")
    return sys.executable


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    command = [builder(), str(ROOT / "tools" / "build_site.py"), "--out", str(out)]
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    run = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return out


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def address(site: Path) -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_beside_the_versions_are_their_list_and_a_way_to_them(site: Path) -> None:
    assert {path.name for path in site.iterdir()} == {
        ".nojekyll",
        "dev",
        "index.html",
        "versions.json",
    }


def test_notebooks_were_run(site: Path) -> None:
    text = (site / "dev" / "notebooks" / "first_drive.html").read_text("utf-8")
    assert "1000 cars; yaw rates from" in text
    assert text.count('src="../_images/') >= 2


def test_the_reference_has_every_public_name(site: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import make_api_page as public

    texts = [page.read_text("utf-8") for page in (site / "dev" / "api").glob("*.html")]
    ids = {part.split('"', 1)[0] for text in texts for part in text.split('id="skidpad.')[1:]}
    modules = [one for one in public.declared() if one.path.count(".") < 2]
    for one in modules:
        for name, thing in public.rows(one.module):
            if public.kind(thing) == "value":
                assert f"{one.path}.{name}".removeprefix("skidpad.") in ids
            else:
                assert any(full.rpartition(".")[2] == name for full in ids)


def test_the_site_is_read_in_a_browser(browser: Any, address: str) -> None:
    context = browser.new_context(viewport=PHONE)
    context.set_default_timeout(1000.0 * PATIENCE)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    foreign = [f"{address}/", "data:", "blob:", "about:"]
    page.on("request", lambda r: r.url.startswith(tuple(foreign)) or errors.append(r.url))
    page.goto(address)
    page.wait_for_url("**/dev/")
    page.wait_for_function("document.querySelector('select.versions option').value === 'dev'")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    frame = page.frame_locator(".live iframe")
    page.locator(".live iframe").scroll_into_view_if_needed()
    frame.locator("canvas").first.wait_for()
    page.goto(f"{address}/dev/search.html?q=lidar")
    found = page.locator("#search-results li a", has_text="Lidar").first
    found.click()
    page.wait_for_load_state()
    assert "idar" in page.title()
    context.close()
    assert not errors
