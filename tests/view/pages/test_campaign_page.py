"""The live page of a campaign: it shows what was seen, follows it, and sees the end."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest

from skidpad.study.engines import Chunk, Finished, ProgressMonitor
from skidpad.study.experiment import Column, Rows
from skidpad.view.pages.campaign_report import LivePage

COLUMNS = (
    Column("m", "kg", "factor"),
    Column("slip", "", "highest slip"),
    Column("<b>off</b>", kind="truth"),
    Column("failed", kind="truth"),
)


def monitor(name: str = "slippery <corners>") -> ProgressMonitor:
    return ProgressMonitor(name, 1000, 100, COLUMNS)


def chunk(begin: int, count: int = 50) -> Finished:
    runs = np.arange(begin, begin + count)
    slip = np.where(runs % 10 == 0, np.nan, runs / 1000.0)
    out = {"slip": slip, "<b>off</b>": runs % 2 == 0, "failed": np.isnan(slip)}
    rows = Rows(runs, {"m": 1000.0 + runs}, 0)
    return Finished(Chunk(begin, begin + count, rows), out, 0.5, f"process {begin % 3}")


def test_it_serves_to_this_machine_who_knows_the_address() -> None:
    seen = monitor()
    seen.take(chunk(100))
    with LivePage(seen) as page:
        assert page.url.startswith("http://127.0.0.1:")
        text = urlopen(page.url).read().decode()
        assert "<title>slippery &lt;corners&gt;</title>" in text
        data: dict[str, Any] = json.loads(urlopen(f"{page.url}data.json").read())
        assert (data["done"], data["failed"], data["state"]) == (150, 5, "running")
        root = page.url[: page.url.index("/", 8)]
        for wrong in (f"{root}/", f"{root}/data.json", f"{page.url}other"):
            with pytest.raises(HTTPError) as error:
                urlopen(wrong)
            error.value.close()
        seen.end("finished")
    with pytest.raises(OSError, match="refused"):
        urlopen(page.url)


@pytest.mark.slow
def test_the_page_follows_and_sees_the_end(browser: Any) -> None:
    seen = monitor()
    errors: list[str] = []
    with LivePage(seen) as page:
        view = browser.new_page(viewport={"width": 400, "height": 800})
        view.on("pageerror", lambda error: errors.append(str(error)))
        view.on("console", lambda message: errors.append(message.text))
        view.goto(page.url)
        view.wait_for_function("document.getElementById('done').textContent == '100 of 1,000'")
        assert view.locator("figure").count() == 3
        assert not view.locator("#seen").is_visible()
        seen.take(chunk(100))
        view.wait_for_function("document.getElementById('done').textContent == '150 of 1,000'")
        assert view.inner_text("#failed") == "5"
        assert view.locator("#columns svg").count() == 2
        assert "<b>off</b>" in view.inner_text("#columns")
        assert "5 without a number" in view.inner_text("#columns")
        assert "process 1" in view.inner_text("#workers")
        wide = view.evaluate("document.documentElement.scrollWidth")
        assert wide <= 400
        seen.end("finished")
        view.wait_for_function("document.getElementById('state').textContent == 'finished'")
        view.close()
    assert errors == []
