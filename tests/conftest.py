"""Settings every test runs under."""

from __future__ import annotations

import os

from hypothesis import settings

# Set before anything imports the libraries: no window, no search for accelerators.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# The same examples in every run, so that a failure seen once is seen again; other seeds with
# `--hypothesis-profile=explore`. No deadline: the first example may have to compile.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile("repeatable")
