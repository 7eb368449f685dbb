"""Ctrl-C: the call ends soon with KeyboardInterrupt, nothing runs on, and all is as before."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from run.fleet.scripts import FLEET, PATIENCE, SCENE, environment, program, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are a POSIX matter")

BOUND = 2.0
"""Most time of the processors in s from Ctrl-C to the exception, where some 20 ms are usual. Not of
the clock on the wall: on a busy machine that goes on while nothing is done here."""

INTERRUPT = f"""
    import os, signal, threading, time
    # A process in the background may have been told to ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Nothing public says what the threads do.
    from skidpad.core import threads as workers

    def interrupted(work, delay=0.0):
        '''Seconds of work from Ctrl-C, sent while threads are at work, to the exception.'''
        sent = []

        def send():
            while not workers._pool.at_work:
                time.sleep(0.001)
            time.sleep(delay)
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=send)
        try:
            sender.start()
            while True:
                work()
        except KeyboardInterrupt:
            took = time.process_time() - sent[0]
        sender.join()
        assert took < {BOUND}, took
        return took

    def quiet():
        '''Whether no thread is at work; one that came late may take a moment to see that.'''
        end = time.monotonic() + {PATIENCE / 2}
        while workers._pool.at_work and time.monotonic() < end:
            time.sleep(0.001)
        return not workers._pool.at_work
"""

AGAIN = """
    before, times = check(), []
    for k in range(REPEATS):
        times.append(interrupted(work, 0.08 * k / REPEATS))
        assert quiet(), "a thread goes on"
        assert check() == before
    print(f"fine: {1e3 * sum(times) / REPEATS:.1f} ms, at most {1e3 * max(times):.1f} ms")
"""

WORK = {
    "rollout": "work = lambda: fleet.rollout(x0, u, steps=4_000_000, every=2_000_000)",
    "one vehicle, one thread": """
        fleet = sp.Fleet(sp.vehicles.four_wheel(), dt=0.001, threads=1)
        work = lambda: fleet.rollout(x0[0], u[0], steps=8_000_000, every=8_000_000)
    """,
    "samples of every step": "work = lambda: fleet.rollout(x0, u, steps=20_000)",
    "gradient": """
        cost = sp.Cost(stage=lambda x, u: x.v_y * x.v_y)
        fleet.gradient(x0, u, cost, steps=2)
        work = lambda: fleet.gradient(x0, u, cost, steps=10_000)
    """,
    "monte carlo": """
        Gaussian = sp.random.Gaussian
        gusts = Gaussian(mean=[0.0, 0.0, 0.0, 1.0], std=[50.0, 50.0, 20.0, 0.0])
        study = lambda steps: fleet.monte_carlo(
            x0[0], u[0], runs=2000, steps=steps, disturbance=gusts
        )
        study(2)
        work = lambda: study(10**6)
    """,
}


@pytest.mark.slow_cases("gradient", "rollout", "samples of every step")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n == "monte carlo" else []) for n in WORK],
)
def test_a_fleet_is_as_before_after_interrupts(name: str) -> None:
    repeats = f"REPEATS = {10 if name in ('rollout', 'gradient') else 4}"
    assert run(repeats, INTERRUPT, FLEET, WORK[name], AGAIN).startswith("fine")


REPEATS = pytest.mark.parametrize("repeats", [3, pytest.param(10, marks=pytest.mark.slow)])
"""How often, each time at another moment."""


@REPEATS
def test_an_impatient_user_does_no_harm(repeats: int) -> None:
    """Ctrl-C again and again, also while threads are waited for and errors are raised."""
    storm = """
        def send():
            while not workers._pool.at_work:
                time.sleep(0.001)
            for _ in range(40):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.001)

        def impatient():
            fleet.rollout(x0, u, steps=4_000_000, every=2_000_000)

        def answer(_, frame):
            # Only inside of the rollout: this program itself could not stand it anywhere.
            while frame is not None:
                if frame.f_code is impatient.__code__:
                    raise KeyboardInterrupt
                frame = frame.f_back

        before = check()
        signal.signal(signal.SIGINT, answer)
        for k in range(REPEATS):
            sender = threading.Thread(target=send)
            sender.start()
            try:
                impatient()
            except KeyboardInterrupt:
                pass
            sender.join()
            assert quiet(), "a thread goes on"
            assert check() == before
        print("fine")
    """
    assert run(f"REPEATS = {repeats}", INTERRUPT, FLEET, storm) == "fine"


@REPEATS
def test_scans_can_be_interrupted(repeats: int) -> None:
    work = "check, work = scan, lambda: scene.scan(poses, angles, threads=2)"
    assert run(f"REPEATS = {repeats}", INTERRUPT, SCENE, work, AGAIN).startswith("fine")


@REPEATS
def test_another_thread_goes_on_with_its_own_work(repeats: int) -> None:
    """Ctrl-C is for the main thread; a rollout of another thread has the right bits."""
    beside = """
        before, wrong, ending = check(), [], threading.Event()
        def beside():
            while not ending.is_set():
                if check() != before:
                    wrong.append(1)
        other = threading.Thread(target=beside)
        other.start()
        for k in range(REPEATS):
            delay = 0.08 * k / REPEATS
            interrupted(lambda: fleet.rollout(x0, u, steps=4_000_000, every=2_000_000), delay)
            assert check() == before
        ending.set()
        other.join()
        assert quiet()
        assert not wrong
        print("fine")
    """
    assert run(f"REPEATS = {repeats}", INTERRUPT, FLEET, beside) == "fine"


COMPILE = {
    "LLVM": """
        import numpy as np, skidpad as sp
        def work():
            fleet = sp.Fleet(sp.vehicles.get("commonroad_st")(), dt=0.01)
            return fleet.rollout(np.full((4, 7), 0.1), np.zeros((4, 2)), steps=3).tobytes()
    """,
    "numba": """
        import numpy as np
        from skidpad.geometry.raycast.scene import Scene
        scene = Scene([[1.0, -9.0, 1.0, 9.0]])
        work = lambda: scene.scan([[0.0, 0.0, 0.0]], np.linspace(-1.0, 1.0, 32)).tobytes()
    """,
}


@pytest.mark.slow_cases("numba")
@pytest.mark.parametrize("name", COMPILE)
def test_a_compiler_goes_on_while_the_interrupt_is_answered(name: str, tmp_path: Path) -> None:
    """With an empty cache, so that the first thread at work is the compiler's."""
    once = """
        def first_time():
            work()
            raise SystemExit("compiled before it was interrupted")
        took = interrupted(first_time)
        # The interrupted compiler and this call may both leave an entry, of the same content.
        assert work() == work()
        print(f"fine: {1e3 * took:.1f} ms")
    """
    cache = str(tmp_path / "cache")
    assert run(INTERRUPT, COMPILE[name], once, SKIDPAD_CACHE=cache).startswith("fine")
    assert list((tmp_path / "cache").iterdir())


def test_an_interrupt_within_an_import_does_no_harm() -> None:
    """The first study brings numba along, which takes a second and could be left half imported."""
    first = """
        import sys
        Gaussian = sp.random.Gaussian
        gusts = Gaussian(mean=[0.0, 0.0, 0.0, 1.0], std=[50.0, 50.0, 20.0, 0.0])
        study = lambda: fleet.monte_carlo(x0[0], u[0], runs=3, steps=2, disturbance=gusts)

        def send():
            while "numba" not in sys.modules:
                time.sleep(0.0005)
            os.kill(os.getpid(), signal.SIGINT)

        assert "numba" not in sys.modules
        sender = threading.Thread(target=send)
        sender.start()
        try:
            study()
            raise SystemExit("it was not interrupted")
        except KeyboardInterrupt:
            pass
        sender.join()
        assert np.isfinite(study().mean("v_x")).all()
        print("fine")
    """
    assert run(INTERRUPT, FLEET, first) == "fine"


def test_a_program_that_does_not_care_ends_as_usual() -> None:
    """By the signal, as Python programs do, and with the usual last line."""
    code = """
        import sys
        check()
        print("ready", flush=True)
        fleet.rollout(x0, u, steps=40_000_000, every=20_000_000)
    """
    background = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    started = subprocess.Popen(
        [sys.executable, "-c", program(background, FLEET, code)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with started as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_a_program_ends_although_a_daemon_is_at_work() -> None:
    code = """
        import threading, time
        from skidpad.core import threads as workers
        check()
        work = lambda: fleet.rollout(x0, u, steps=400_000_000, every=200_000_000)
        threading.Thread(target=work, daemon=True).start()
        while not workers._pool.at_work:
            time.sleep(0.001)
        print("fine")
    """
    assert run(FLEET, code) == "fine"
