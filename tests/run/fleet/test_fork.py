"""A child process works, whatever its parent's threads were doing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from run.fleet.scripts import FLEET, PATIENCE, SCENE, run

forks = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

CHILD = f"""
    import os, signal, threading, time, traceback, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
    from skidpad.core import threads as workers
    from skidpad.compile import loops
    rolled, scanned = check(), scan()
    simulator = sp.Simulator(sp.vehicles.four_wheel(), dt=0.001)
    simulator.reset(tuple(x0[0]))
    twin = sp.Simulator(sp.vehicles.four_wheel(), dt=0.001)
    twin.reset(tuple(x0[0]))
    stepped = twin.step(tuple(u[0]))

    def child():
        assert simulator.step(tuple(u[0])) == stepped
        assert check() == rolled
        assert scan() == scanned
        # Compiled for the first time, by LLVM and by numba.
        other = sp.Fleet(sp.vehicles.kinematic_bicycle(), dt=0.01, threads=2)
        assert np.isfinite(other.rollout(np.zeros((40, 11)), np.zeros((40, 5)), steps=20)).all()
        assert loops.loop(lambda x: 2.0 * x)(3.0) == 6.0

    def fork():
        '''The exit status of a child that does all this; it is killed if it hangs.'''
        pid = os.fork()
        if pid == 0:
            try:
                child()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        end = time.monotonic() + {PATIENCE / 2}
        while time.monotonic() < end:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return "hangs"
"""


@forks
def test_a_child_of_an_idle_parent_works(tmp_path: Path) -> None:
    """The parent has threads, which the child has not."""
    ending = f"""
        os.environ["SKIDPAD_CACHE"] = {str(tmp_path)!r}  # empty: the child has to compile
        assert fork() == 0
        assert check() == rolled
        print("fine")
    """
    assert run(FLEET, SCENE, CHILD, ending) == "fine"
    assert list(tmp_path.iterdir())


@pytest.mark.slow
@forks
def test_children_of_a_busy_parent_work() -> None:
    busy = """
        ending, wrong = threading.Event(), []
        def beside(work, result):
            while not ending.is_set():
                if work() != result:
                    wrong.append(1)
        others = [
            threading.Thread(target=beside, args=arguments, daemon=True)
            for arguments in ((check, rolled), (scan, scanned))
        ]
        for other in others:
            other.start()
        for _ in range(3):
            while not workers._pool.at_work:
                time.sleep(0.001)
            assert fork() == 0
        ending.set()
        for other in others:
            other.join()
        assert not wrong
        print("fine")
    """
    assert run(FLEET, SCENE, CHILD, busy) == "fine"


@forks
@pytest.mark.slow
@pytest.mark.parametrize(
    "compiles",
    [
        "sp.Fleet(sp.vehicles.get('commonroad_st')(), dt=0.01).rollout("
        "np.full((4, 7), 0.1), np.zeros((4, 2)), steps=3)",
        "scene.cast(0.0, 0.0, angles)",
    ],
    ids=["LLVM", "numba"],
)
def test_a_child_of_a_compiling_parent_works(compiles: str, tmp_path: Path) -> None:
    beside = f"""
        other = threading.Thread(target=lambda: {compiles})
        other.start()
        while not workers._pool.at_work:
            time.sleep(0.001)
        assert fork() == 0
        other.join()
        print("fine")
    """
    assert run(FLEET, SCENE, CHILD, beside, SKIDPAD_CACHE=str(tmp_path)) == "fine"


@pytest.mark.slow
@forks
def test_a_fork_beside_a_thread_that_traces_and_frees_machine_code_ends() -> None:
    """Garbage is collected wherever Python likes, and LLVM's takes a lock to be freed."""
    beside = """
        import casadi
        from skidpad.compile import native
        from skidpad.integrate.base import as_written
        inside = threading.Event()

        def trace():
            with as_written(casadi.SX.sym("x")):
                inside.set()
                time.sleep(0.2)  # by then the other thread waits at its fork
                with native.MEMORY_LOCK:
                    pass

        check()
        other = threading.Thread(target=trace)
        other.start()
        inside.wait()
        assert fork() == 0
        other.join()
        print("fine")
    """
    assert run(FLEET, SCENE, CHILD, beside) == "fine"


@pytest.mark.slow_cases("spawn")
@pytest.mark.parametrize("method", [pytest.param("fork", marks=forks), "spawn"])
def test_a_pool_of_processes_works(method: str, tmp_path: Path) -> None:
    """With the parent's threads there already, and its fleet where it is inherited."""
    work = """
        import multiprocessing, warnings
        warnings.simplefilter("ignore", DeprecationWarning)

        def rolled(k):
            return check()

        if __name__ == "__main__":
            here = check()
            with multiprocessing.get_context(METHOD).Pool(2) as pool:
                there = pool.map_async(rolled, range(4)).get(PATIENCE / 2)
            assert there == 4 * [here]
            print("fine")
    """
    parts = (f"METHOD, PATIENCE = {method!r}, {PATIENCE}", FLEET, work)
    assert run(*parts, file=tmp_path / "work.py") == "fine"
