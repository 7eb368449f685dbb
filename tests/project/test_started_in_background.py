"""Tests of Ctrl-C pass however the run was started: a shell starts jobs with SIGINT ignored."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import PATIENCE

IGNORING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""
RUN = """
import subprocess, sys
handler = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
exec(handler)
import conftest
exec(handler)
subprocess.run([sys.executable, "-c", handler], check=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows ignores no signals for a process")
def test_tests_and_what_they_start_answer_to_ctrl_c() -> None:
    """Before the settings of the tests are loaded, after it, and in a process started by a test."""
    run = subprocess.run(
        [sys.executable, "-uc", IGNORING, RUN],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (run.stdout.split(), run.returncode) == (["False", "True", "True"], 0), run.stderr
