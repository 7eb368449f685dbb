"""Metrics and events of outputs of the model, against the outputs of the same run simulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study import Campaign, Drive, Range, Sobol
from skidpad.study.metrics import highest, last, lowest
from skidpad.study.plan_file import campaign_of

CAR = sp.vehicles.two_track()
X0, U, DT, DURATION = {"v_x": 15.0}, {"steer": 0.05}, 0.001, 0.3
PLAN = """
drive:
  vehicle: two_track
  dt: 0.001
  duration: 0.3
  x0: {v_x: 15}
  controls: {steer: 0.05}
  metrics:
    peak: {highest: "abs(a_y)"}
    lightest: {lowest: "minimum(F_z[0], F_z_rl)"}
    front: {last: "y.F_z_fl + F_z[1]"}
  events: {pulled: "a_y > 2"}
factors: {m: {range: [1200, 1500]}}
design: {sobol: 2}
"""


def simulated(m: float) -> sp.Trajectory:
    sim = sp.Simulator(CAR.with_params(m=m), dt=DT)
    sim.reset(**X0)
    return sim.run(U, duration=DURATION)


def test_a_plan_sees_outputs(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN, encoding="utf-8")
    study = campaign_of(file).run(tmp_path / "runs")
    table = study
    for k, m in enumerate(np.asarray(table["m"])):
        run = simulated(float(m))
        row = {name: float(np.asarray(table[name])[k]) for name in ("peak", "lightest", "front")}
        # The simulator's own outputs, sample by sample.
        assert row["peak"] == pytest.approx(np.abs(run["a_y"]).max(), rel=1e-12)
        least = np.minimum(run["F_z_fl"], run["F_z_rl"]).min()
        assert row["lightest"] == pytest.approx(least, rel=1e-12)
        assert row["front"] == pytest.approx(run["F_z_fl"][-1] + run["F_z_fr"][-1], rel=1e-12)
        assert bool(np.asarray(table["pulled"])[k]) == bool((run["a_y"] > 2.0).any())


def test_a_wheel_that_lifts_is_an_event(tmp_path: Path) -> None:
    high = CAR.with_params(z_cg=1.1)
    drive = Drive(
        high,
        x0={"v_x": 20.0},
        controls={"steer": 0.2},
        dt=DT,
        duration=1.0,
        metrics={"most": highest("wheel_lift")},
        events={"lifted": "wheel_lift > 0"},
    )
    campaign = Campaign(experiment=drive, factors={"z_cg": Range(0.3, 1.1)}, design=Sobol(8))
    study = campaign.run(tmp_path / "runs", progress=False)
    lifted = np.asarray(study["lifted"]).astype(bool)
    assert 0 < lifted.sum() < len(lifted)
    for z_cg, most, happened in zip(study["z_cg"], study["most"], lifted, strict=True):
        sim = sp.Simulator(high.with_params(z_cg=float(z_cg)), dt=DT)
        sim.reset(v_x=20.0)
        run = sim.run({"steer": 0.2}, duration=1.0)
        assert most == run["wheel_lift"].max()
        assert happened == bool(run["wheel_lift"].any())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a_yy", "no name 'a_yy'; did you mean 'a_y'\\? There are .*; the closest are a_y, v_y, "),
        ("F_z[4]", "the index of a wheel is one of 0 .fl., 1 .fr., 2 .rl., 3 .rr."),
        ("F_z[steer]", "the index of a wheel"),
        ("v_x[0]", "no name 'v_x_fl'"),
        ("y.nothing_like_it", "no name 'y.nothing_like_it'"),
    ],
)
def test_a_wrong_name_is_told_with_the_nearest(text: str, words: str) -> None:
    drive = {"x0": X0, "controls": U, "dt": DT, "duration": DURATION}
    with pytest.raises(InvalidValue, match=words) as caught:
        Drive(CAR, metrics={"one": highest(text)}, **drive)
    assert len(str(caught.value)) < 1200


def test_a_function_may_ask_for_outputs_and_a_model_without_any_says_so(tmp_path: Path) -> None:
    drive = {"x0": X0, "controls": U, "dt": DT, "duration": DURATION}
    own = Drive(CAR, metrics={"load": last(lambda y: y.F_z_fl), "least": lowest("a_y")}, **drive)
    table = Campaign(experiment=own, factors={"m": Range(1200.0, 1500.0)}, design=Sobol(2)).run(
        tmp_path / "runs"
    )
    for m, load in zip(np.asarray(table["m"]), np.asarray(table["load"]), strict=True):
        assert load == pytest.approx(simulated(float(m))["F_z_fl"][-1], rel=1e-12)
    bare = sp.vehicles.double_integrator()
    if not sp.core.record.size(bare.Outputs):
        with pytest.raises(InvalidValue, match="no output of the model"):
            Drive(bare, dt=0.1, duration=1.0, metrics={"one": last(lambda y: y.a_y)})
