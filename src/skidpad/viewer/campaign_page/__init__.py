"""How far a campaign is, as one live page of this machine that ends with it."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from threading import Thread
from time import perf_counter, sleep

from ...campaigns.onlooker import Onlooker
from ..page_server import PageServer

_ATTENTION = 3.0
"""Time in s after which a page that did not ask has been closed."""
_FAREWELL = 2.0
"""Time in s that an open page has to see the end."""
_LOOK = 0.05


class LivePage:
    """Serves the page in a `with` block, at an address that others cannot guess."""

    def __init__(self, onlooker: Onlooker, port: int = 0) -> None:
        self._onlooker = onlooker
        self._asked = -_ATTENTION
        self._server = PageServer(_page(str(onlooker.plain()["name"])), port, self._data)
        self.url = self._server.url
        self._thread = Thread(target=self._server.run, name="campaign page", daemon=True)

    def _data(self) -> str:
        self._asked = perf_counter()
        return json.dumps(self._onlooker.plain(), allow_nan=False)

    def __enter__(self) -> LivePage:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        end = perf_counter()
        if kind is None and end - self._asked < _ATTENTION:
            while self._asked < end and perf_counter() - end < _FAREWELL:
                sleep(_LOOK)
            sleep(_LOOK)  # until the answer is on its way
        self._server.stop()
        self._thread.join()


def _page(name: str) -> str:
    text = files("skidpad.viewer").joinpath("campaign_page", "page.html").read_text("utf-8")
    return text.replace("{{name}}", escape(name))
