"""Settings every test runs under."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from hypothesis import settings

# Set before anything imports the libraries: no window, no search for accelerators.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

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
