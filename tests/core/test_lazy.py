"""Public names that are imported on first use."""

from __future__ import annotations

import subprocess
import sys

from skidpad.bench.timing import environment


def test_a_public_name_is_not_hidden_by_the_module_of_the_same_name() -> None:
    code = (
        "import importlib, skidpad as sp\n"
        "module = importlib.import_module('skidpad.study.identify.axle_curves')\n"
        "assert sp.study.identify.axle_curves is module.axle_curves\n"
    )
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)
