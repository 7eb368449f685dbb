"""Settings every test runs under."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile

import pytest
from hypothesis import settings

# Set before anything imports the libraries: no window, no search for accelerators.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# JAX is compared with, not timed: a third of its time here was the optimisation of its code.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
# There are as many workers as cores: threads of linear algebra would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A run starts a hundred processes: without the files that Python keeps beside its sources, each
# would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Compiled code goes to a folder of this run, shared by its workers: never to the user's cache, and
# nothing is found there that the code under test did not make.
if "SKIDPAD_TEST_RUN" not in os.environ:
    os.environ["SKIDPAD_TEST_RUN"] = os.environ["SKIDPAD_CACHE"] = tempfile.mkdtemp(
        prefix="skidpad-tests-"
    )
    atexit.register(shutil.rmtree, os.environ["SKIDPAD_CACHE"], ignore_errors=True)

# The same examples in every run, so that a failure seen once is seen again; other seeds with
# `--hypothesis-profile=explore`. No deadline: the first example may have to compile.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Look for garbage rarely, and not among what is there now, which stays: it took a tenth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


LARGE = ("commonroad_mb", "commonroad_std", "formula_student")
"""Vehicles that take seconds to compile, whatever is done with them."""
LARGE_IN = ("recordings", "recorded", "conformance", "commonroad_motion")
"""Parts of the names of tests that look at their equations: there they are not slow."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of what all vehicles share have the large ones among the slow: smaller ones show it."""
    for item in items:
        call = getattr(item, "callspec", None)
        large = call is not None and any(
            isinstance(value, str) and value.endswith(LARGE) for value in call.params.values()
        )
        if large and not any(part in item.path.as_posix() for part in LARGE_IN):
            item.add_marker(pytest.mark.slow)
