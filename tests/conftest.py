"""Settings every test runs under."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Set before anything imports the libraries: no window, no search for accelerators.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# JAX is compared with, not timed: most of its time here was the optimisation of its code. It ends
# at once over a flag that it does not know; the second is known to releases that were tried.
XLA_FLAGS = ["--xla_backend_optimization_level=0"]
if find_spec("jaxlib") is not None and version("jaxlib").startswith("0.10."):
    XLA_FLAGS.append("--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", " ".join(XLA_FLAGS))
# There are as many workers as cores: threads of linear algebra would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell starts what is in the background with SIGINT ignored, and every process that such a one
# starts inherits that. Tests of Ctrl-C need Python's own handler, here and in what they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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

# The same examples in every run, so that a failure seen once is seen again: some with `make test`,
# more with `make test-all`; other seeds with `--hypothesis-profile=explore`. No deadline: the first
# example may have to compile.
settings.register_profile("some", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("more", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile("some")
# Of itself hypothesis also tries the constants of those modules of the package that are loaded,
# which are others in each worker and in a test that is run alone. To find them took it seconds.
if hasattr(providers, "_get_local_constants"):
    NO_CONSTANTS = providers._local_constants
    providers._get_local_constants = lambda: NO_CONSTANTS


def pytest_collection_finish() -> None:
    """Look for garbage rarely, and not among what is there now, which stays: it took a tenth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    """Compile for half the lanes where a processor has wide registers: it takes half as long.

    All widths have the same bits, which the tests that name a width show, and so has all effort of
    LLVM, of which there is little here and the usual one in `tests/compile`. The processes that
    tests start use the width of the machine, and as little effort.
    """
    from skidpad.compile import native  # which loads what the settings above are for

    width = native.vector_bits()
    native.vector_bits = lambda: min(width, 256)
    if sys.platform == "linux":  # elsewhere the stacks of threads are too small for such code
        os.environ.setdefault("SKIDPAD_OPTIMISATION", "0")
    begin_elsewhere(config)


def begin_elsewhere(config: pytest.Config) -> None:
    """Let each worker import the tests from another folder on.

    On a new checkout most of the time goes into the files that Python and hypothesis keep: in the
    same order, all workers would write the same ones at the same time.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    here = Path(__file__).parent
    if not worker or [Path(some).resolve() for some in config.args] != [here]:
        return
    folders = sorted(str(path) for path in here.glob("[a-z]*") if path.is_dir())
    begin = len(folders) * int(worker[2:]) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    config.args = folders[begin:] + folders[:begin]


@contextmanager
def skipping_what_has_no_wheel() -> Generator[None]:
    """Skip a test that needs a package which its maker does not build for this Python or machine.

    Extras leave such packages out, and the error says so; a package that is only not installed is
    another error, and a failure.
    """
    from skidpad.errors import MissingExtra

    try:
        yield
    except BaseException as error:
        cause: BaseException | None = error
        while cause is not None:  # behind what pytest makes of a warning that did not come
            if isinstance(cause, MissingExtra) and "which has no wheel for" in str(cause):
                pytest.skip(str(cause))
            cause = cause.__context__
        raise


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """In tests."""
    with skipping_what_has_no_wheel():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    """In fixtures."""
    with skipping_what_has_no_wheel():
        return (yield)


UNKNOWN_CASES: dict[str, set[str]] = {}
"""For each test that was collected, the ids in its mark `slow_cases` that it does not have."""
LARGE = ("commonroad_mb", "commonroad_std", "formula_student", "full_car", "two_track")
"""Vehicles that take seconds to compile, whatever is done with them."""
LARGE_IN = ("recordings", "recorded", "tests/testing/")
"""Parts of the names of tests that look at their equations: there they are not slow."""


LONGEST = (
    *("study/identify/test_fit_cars.py", "control/estimators/test_vehicles.py"),
    *("study/manoeuvres/test_formula_events.py", "docs/test_docs.py", "view/live/test_server.py"),
    *("testing/test_registered_vehicles.py", "docs/test_figures.py", "control/test_nmpc.py"),
    *("vehicles/test_car_sets.py", "core/test_field_docs.py", "view/pages/test_replay_page.py"),
    *("view/live/test_browser.py", "world/test_edges.py"),
    *("study/manoeuvres/test_logs_of_drives.py", "run/fleet/test_interrupt.py"),
    *("study/test_campaign.py", "bench/test_bench.py", "demo/test_demos.py"),
    *("vehicles/test_two_track_powertrain.py", "view/pages/test_campaign_report.py"),
    *("view/pages/test_replay_sights.py", "compile/test_cuda_text.py", "integrate/test_large.py"),
    *(
        "view/pages/test_drive_page.py",
        "view/live/test_gate.py",
        "study/manoeuvres/test_hardest_stop.py",
    ),
    *("bench/test_export_group.py", "view/pages/test_drive_bits.py", "ros2/test_fast_dds.py"),
    *("control/estimators/test_logs.py", "study/logs/test_latency.py", "run/fleet/test_maps.py"),
    *("control/optimal/test_lap.py", "world/test_steep.py", "study/identify/test_axle_curves.py"),
)
"""Files that take longest, of 6 s and more: a worker gets a file at a time, and one that began
such a file last would keep the others waiting."""


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: a fifth of the time of a test goes into waiting for a browser, a
    server or a process. All cores are used, whatever else; each worker needs 1 GB."""
    known = hasattr(os, "sched_getaffinity")
    return 1 + (len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of what all vehicles share have the large ones among the slow: smaller ones show it.

    The longest files come first, the others by name, whichever were imported first.
    """
    here = Path(__file__).parent
    rank = {str(here / name): k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (rank.get(str(item.path), len(rank)), str(item.path)))
    collected: dict[str, set[str]] = {}
    marked: dict[str, set[str]] = {}
    for item in items:
        call = getattr(item, "callspec", None)
        large = call is not None and any(
            isinstance(value, str) and value.endswith(LARGE) for value in call.params.values()
        )
        if (cases := item.get_closest_marker("slow_cases")) and call:
            function = item.nodeid.partition("[")[0]
            collected.setdefault(function, set()).add(call.id)
            marked.setdefault(function, set()).update(cases.args)
            if call.id in cases.args:
                item.add_marker(pytest.mark.slow)
        if large and not any(part in item.path.as_posix() for part in LARGE_IN):
            item.add_marker(pytest.mark.slow)
    for function, ids in marked.items():
        if gone := ids - collected[function]:
            UNKNOWN_CASES[function] = gone
