"""Runs Programs as WebAssembly in Chromium, through the loader that pages use, for tests."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from skidpad import Program
from skidpad.export.exported import LOADER, WebAssembly

KINDS = ("fused", "exact")
"""The two modules of an export."""

_LOAD = """async ({loader, fused, exact, layout, want}) => {
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const { loadModule } = await import(loader);
    globalThis.bytes = bytes;
    globalThis.loaded = await loadModule(
        { fused: bytes(fused), exact: bytes(exact), layout, want });
    return loaded.fused;
}"""

_RUN = """({name, given, wanted, count, each}) => {
    const Numbers = loaded.layout.precision === "float64" ? Float64Array : Float32Array;
    const sources = Object.entries(given).map(
        ([port, text]) => [loaded.view(port), new Numbers(bytes(text).buffer)]);
    const targets = wanted.map(
        (port) => [loaded.view(port), new Numbers(count * loaded.view(port).length)]);
    for (let k = 0; k < count; k += 1) {
        for (const [view, rows] of sources) {
            if (k > 0 && rows.length === view.length) continue;  // set once
            view.set(rows.subarray(k * view.length, (k + 1) * view.length));
        }
        for (const call of each) loaded.call(call);
        for (const [view, rows] of targets) rows.set(view, k * view.length);
    }
    const text = (rows) => {
        const all = new Uint8Array(rows.buffer);
        let out = "";
        for (let k = 0; k < all.length; k += 4096)
            out += String.fromCharCode(...all.subarray(k, k + 4096));
        return btoa(out);
    };
    return targets.map(([, rows]) => text(rows));
}"""


class Engine:
    """A page of a browser with a module loaded."""

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_page()
        self.precision = ""
        self.widths: dict[str, int] = {}

    def load(self, modules: WebAssembly, want: str | None = None) -> bool:
        """Load one of the modules; whether it is the fused one."""
        self.precision = modules.layout["precision"]
        self.widths = {name: len(p["fields"]) for name, p in modules.layout["ports"].items()}
        return self.page.evaluate(
            _LOAD,
            {
                "loader": f"data:text/javascript;base64,{_text(LOADER.read_bytes())}",
                "fused": _text(modules.fused),
                "exact": _text(modules.exact),
                "layout": modules.layout,
                "want": want,
            },
        )

    def run(
        self, given: Mapping[str, np.ndarray], wanted: list[str], *programs: str, count: int = 0
    ) -> list[np.ndarray]:
        """Rows of the ports `wanted` after running the programs on each row of the given ports.

        A port that is given one row keeps what it has: a state goes on from step to step.
        """
        rows = {
            name: np.ascontiguousarray(values, self.precision)
            for name, values in given.items()
            if self.widths[name]
        }
        count = count or max(len(values) for values in rows.values())
        found = self.page.evaluate(
            _RUN,
            {
                "name": programs[0],
                "given": {name: _text(values.tobytes()) for name, values in rows.items()},
                "wanted": wanted,
                "count": count,
                "each": programs,
            },
        )
        return [
            np.frombuffer(base64.b64decode(text), self.precision).reshape(count, self.widths[name])
            for name, text in zip(wanted, found, strict=True)
        ]

    def apply(self, name: str, program: Program, *ports: np.ndarray) -> list[np.ndarray]:
        """The output ports of a program for each row of its input ports."""
        given = {port.name: rows for port, rows in zip(program.inputs, ports, strict=True)}
        return self.run(given, [port.name for port in program.outputs], name)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
