"""Vehicles, simulators and fleets as arguments and results of worker processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from run.fleet.scripts import PATIENCE, run

METHODS = [
    pytest.param(
        "fork", marks=pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
    ),
    "spawn",
]

OBJECTS = """
    import multiprocessing, warnings
    from concurrent.futures import ProcessPoolExecutor
    from typing import NamedTuple
    import numpy as np, skidpad as sp
    from skidpad.core import record
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads

    class State(NamedTuple):
        x: sp.units.m = 0.0
        v: sp.units.m_s = 0.0

    class Input(NamedTuple):
        F: sp.units.N = 0.0

    class Params(NamedTuple):
        m: sp.units.kg = 2.0

    def derivative(x, u, w, p):
        return State(x.v, (u.F - sp.ops.tanh(x.v)) / p.m)

    def vehicle(**functions):
        model = sp.Model(name="cart", State=State, Input=Input, Params=Params, **functions)
        return sp.VehicleFactory(model)(m=3.0)

    def closure(gain):
        class Speed(NamedTuple):
            v: sp.units.m_s = 0.0
        def derivative(x, u, w, p):
            return Speed(gain * (u.F - x.v) / p.m)
        model = sp.Model(
            name="local", State=Speed, Input=Input, Params=Params, derivative=derivative
        )
        return sp.VehicleFactory(model)()

    def of_the_script():
        return vehicle(derivative=derivative)

    def listed():
        return sp.vehicles.commonroad_kst(compat="upstream", l_r=1.5)

    def simulator_of(some):
        simulator = sp.Simulator(some, 0.01)
        simulator.step(np.full(record.size(some.Input), 0.5))
        return simulator

    def drive(thing):
        '''What a vehicle, a simulator or a fleet does next, and the thing itself.'''
        if isinstance(thing, sp.Fleet):
            nx, nu = record.size(thing.plant.State), record.size(thing.plant.Input)
            x0, u = np.full((3, nx), 0.25), np.full((20, 3, nu), 0.125)
            return thing.rollout(x0, u).tobytes(), thing
        simulator = thing if isinstance(thing, sp.Simulator) else sp.Simulator(thing, 0.01)
        u = np.full(record.size(simulator.vehicle.Input), 0.125)
        states = [simulator.step(u) for _ in range(20)]
        if simulator.vehicle.Input is Input:
            states.append(simulator.step(Input(F=0.5)))  # the script's own record
        return states, thing

    def things():
        vehicles = [closure(2.0), of_the_script(), listed()]
        return [
            *vehicles,
            *(simulator_of(v) for v in vehicles),
            *(sp.Fleet(v, 0.01, threads=1) for v in vehicles),
        ]

    def check(results):
        '''Here and there the same, and what comes back goes on.'''
        for (there, thing), own in zip(results, things(), strict=True):
            here, own = drive(own)
            assert there == here, (there, here)
            assert not isinstance(thing, sp.Vehicle) or type(there[0]) is thing.State
            assert drive(thing)[0] == drive(own)[0]
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_pool_works_on_vehicles_simulators_and_fleets(method: str, tmp_path: Path) -> None:
    work = """
        if __name__ == "__main__":
            context = multiprocessing.get_context(METHOD)
            with context.Pool(2) as pool:
                check(pool.map_async(drive, things()).get(PATIENCE / 2))
            some = things()
            for _ in range(2):  # the second time, forked processes know them already
                with ProcessPoolExecutor(2, mp_context=context) as executor:
                    check(list(executor.map(drive, some, timeout=PATIENCE / 2)))
            print("fine")
    """
    parts = (f"METHOD, PATIENCE = {method!r}, {PATIENCE}", OBJECTS, work)
    assert run(*parts, file=tmp_path / "work.py") == "fine"


def test_a_process_that_knows_nothing_of_the_script_gets_what_it_needs(tmp_path: Path) -> None:
    """As the workers of a notebook: what it defines is nowhere to be imported from."""
    write = f"""
        import pickle
        from pathlib import Path
        some = of_the_script()
        sent = [some, simulator_of(some), closure(3.0)]
        text = pickle.dumps(sent)
        wanted = [[tuple(x) for x in drive(thing)[0][:20]] for thing in sent]
        Path({str(tmp_path / "sent")!r}).write_bytes(text)
        print(wanted)
    """
    wanted = run(OBJECTS, write)
    read = f"""
        import pickle
        from pathlib import Path
        import skidpad as sp
        things = pickle.loads(Path({str(tmp_path / "sent")!r}).read_bytes())
        assert things[0].model is things[1].vehicle.model
        simulators = [t if isinstance(t, sp.Simulator) else sp.Simulator(t, 0.01) for t in things]
        print([[tuple(s.step(F=0.125)) for _ in range(20)] for s in simulators])
    """
    assert run(read) == wanted


@pytest.mark.slow
def test_a_registered_vehicle_goes_to_a_process_that_has_not_registered_it(tmp_path: Path) -> None:
    file = str(tmp_path / "sent")
    write = f"""
        import pickle
        from pathlib import Path
        some = closure(2.0)
        sp.vehicles.register(sp.VehicleFactory(some.model))
        text = pickle.dumps(some)
        assert pickle.loads(text).model is sp.vehicles.get("local").model
        Path({file!r}).write_bytes(text)
        print(sp.Simulator(some, 0.01).step(F=1.0).v)
    """
    read = f"""
        import pickle
        from pathlib import Path
        import skidpad as sp
        print(sp.Simulator(pickle.loads(Path({file!r}).read_bytes()), 0.01).step(F=1.0).v)
    """
    assert run(OBJECTS, write) == run(read)
