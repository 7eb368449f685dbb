"""Campaigns in YAML: what a file says is what runs; what it cannot mean is told with its place."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import ImplausibleParameter, InvalidValue, MissingFile
from skidpad.random import Gaussian, by_name
from skidpad.random.factors import Steps
from skidpad.study import Campaign, Drive, Keep, LatinHypercube, Range, Sobol, Study
from skidpad.study.experiment import Resources, Rows
from skidpad.study.metrics import at, highest, last
from skidpad.study.plan_file import campaign_of

PLAN = """
name: rolling
drive:
  vehicle: double_integrator
  dt: 0.1
  duration: 2
  x0: {v_s: 3}
  controls: {a_s: 0.5}
  metrics:
    fastest: {highest: v_s}
    way: {last: s}
    half_way: {at: {of: s, time: 1.0}}
  events: {far: "s > 9"}
factors:
  x0.v_s: {range: [1, 5]}
  input.a_s: {steps: [0, 1, 3]}
design: {latin_hypercube: {runs: 8}}
seed: 3
keep: {highest: {way: 2}, random: 1}
"""
MODULE = """
from typing import NamedTuple
import skidpad as sp
from skidpad.units import m_s2


class Gain(NamedTuple):
    k: float = 1.0


class Wanted(NamedTuple):
    a: m_s2 = 0.0


Input = sp.vehicles.double_integrator().model.Input


def act(x, r, p):
    return Input(a_s=p.k * r.a)


policy = sp.Policy(act, Reference=Wanted, Params=Gain)
car = sp.vehicles.double_integrator
NUMBER = 3


def made():
    return policy


def needs(what):
    return what


def stopping(v, mu=0.8):
    return {"distance": v**2 / (2.0 * 9.81 * mu), "long": v > 30.0}
"""


@pytest.fixture(autouse=True)
def path_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Folders of plans are looked into for modules, which stay loaded."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("own_"):
            del sys.modules[name]


def written(folder: Path, text: str = PLAN, name: str = "plan.yaml") -> Path:
    file = folder / name
    file.write_text(textwrap.dedent(text))
    return file


def changed(folder: Path, old: str, new: str) -> Path:
    assert old in PLAN
    return written(folder, PLAN.replace(old, new))


def evaluated(campaign: Campaign, **factors: float) -> dict[str, Any]:
    rows = Rows(np.arange(1), {name: np.array([v]) for name, v in factors.items()}, campaign.seed)
    return {name: v[0] for name, v in campaign.experiment.evaluate(rows, Resources()).items()}


def test_a_file_says_what_python_says(tmp_path: Path) -> None:
    drive = Drive(
        sp.vehicles.double_integrator(),
        dt=0.1,
        duration=2.0,
        x0={"v_s": 3.0},
        controls={"a_s": 0.5},
        metrics={"fastest": highest("v_s"), "way": last("s"), "half_way": at("s", 1.0)},
        events={"far": "s > 9"},
    )
    own = Campaign(
        experiment=drive,
        factors={"x0.v_s": Range(1.0, 5.0), "input.a_s": Steps(0.0, 1.0, 3)},
        design=LatinHypercube(8),
        seed=3,
        keep=Keep(highest={"way": 2}, random=1),
        name="rolling",
    )
    assert campaign_of(written(tmp_path)).plan() == own.plan()


def test_it_runs_and_its_folder_is_enough(tmp_path: Path) -> None:
    """Closed forms; then the folder alone, elsewhere, with the file gone."""
    file = written(tmp_path)
    study = campaign_of(file).run(tmp_path / "runs", progress=False)
    v, a = study["x0.v_s"], study["input.a_s"]
    np.testing.assert_allclose(study["way"], 2.0 * v + 2.0 * a, rtol=1e-12)
    np.testing.assert_allclose(study["half_way"], v + 0.5 * a, rtol=1e-12)
    np.testing.assert_array_equal(study["far"], study["way"] > 9.0)
    way, digest = study["way"], study.digest()
    file.unlink()
    shutil.move(tmp_path / "runs", tmp_path / "elsewhere")
    moved = Study.open(tmp_path / "elsewhere")
    assert moved.replay(3)["s"][-1] == way[3]
    assert isinstance(moved.campaign, Campaign)
    again = moved.campaign.run(tmp_path / "elsewhere", progress=False)
    assert again.digest() == digest


def test_a_folder_of_a_python_campaign_says_that_it_has_no_file(tmp_path: Path) -> None:
    plan = campaign_of(written(tmp_path))
    own = Campaign(experiment=plan.experiment, factors=plan.factors, design=plan.design)
    own.run(tmp_path / "runs", progress=False)
    with pytest.raises(InvalidValue, match=r"runs has no plan file.* Study\.open\(folder, c"):
        Study.open(tmp_path / "runs").replay(0)


def test_a_file_with_more_runs_goes_on_and_is_the_one_that_is_kept(tmp_path: Path) -> None:
    first = written(tmp_path, PLAN.replace("latin_hypercube: {runs: 8}", "sobol: 8"))
    before = campaign_of(first).run(tmp_path / "runs", progress=False)
    before_way = before["way"]
    more = written(tmp_path, PLAN.replace("latin_hypercube: {runs: 8}", "sobol: 16"))
    after = campaign_of(more).run(tmp_path / "runs", progress=False)
    assert after.runs == 16
    np.testing.assert_array_equal(after["way"][:8], before_way)
    campaign: Any = Study.open(tmp_path / "runs").campaign
    assert campaign.design == Sobol(16)


def test_policies_vehicles_and_references(tmp_path: Path) -> None:
    (tmp_path / "own_drivers.py").write_text(MODULE)
    for policy in ("own_drivers:policy", "own_drivers:made"):
        plan = campaign_of(
            written(
                tmp_path,
                f"""
                drive:
                  vehicle: own_drivers:car
                  dt: 0.1
                  steps: 10
                  policy: {policy}
                  references: {{a: 2}}
                  policy_params: {{k: 3}}
                  metrics: {{end: {{last: v_s}}, told: {{highest: r.a}}}}
                factors: {{policy.k: {{range: [1, 4]}}}}
                design: {{random: 2}}
                """,
            )
        )
        assert evaluated(plan)["end"] == pytest.approx(6.0)
        assert evaluated(plan, **{"policy.k": 4.0}) == {
            "end": pytest.approx(8.0), "told": 2.0, "failed": False,
        }  # fmt: skip


@pytest.mark.slow
def test_functions_from_beside_the_file(tmp_path: Path) -> None:
    """With columns as a list or with what they are."""
    (tmp_path / "own_stops.py").write_text(MODULE)
    text = """
        function:
          call: own_stops:stopping
          gives: {distance: {unit: m, meaning: until it stands}, long: {kind: truth}}
        factors: {v: [10, 20, 40]}
        design: grid
        """
    study = campaign_of(written(tmp_path, text)).run(tmp_path / "runs", workers=1, progress=False)
    np.testing.assert_allclose(study["distance"], np.array([10, 20, 40]) ** 2 / 15.696)
    assert study["long"].tolist() == [False, False, True]
    assert study.columns[1][:3] == ("distance", "m", "until it stands")
    listed = text.replace(
        "{distance: {unit: m, meaning: until it stands}, long: {kind: truth}}", "[d]"
    )
    assert campaign_of(written(tmp_path, listed)).columns()[1].name == "d"


def test_a_module_of_another_folder_is_no_substitute(tmp_path: Path) -> None:
    """Python keeps the first module of a name: to take it for the second would run other code."""
    text = "function: {call: 'own_same:f', gives: [y]}\nfactors: {x: [1, 2]}\ndesign: grid\n"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own_same.py").write_text("def f(x):\n    return x\n")
    assert campaign_of(written(tmp_path / "one", text)).runs == 2
    with pytest.raises(InvalidValue, match=r"plan.yaml: function.call = 'own_same:f' means .*two"):
        campaign_of(written(tmp_path / "two", text))


def test_a_file_beside_the_plan_hides_nothing_that_is_installed(tmp_path: Path) -> None:
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('taken for the one of Python')")
    (tmp_path / "own_quiet.py").write_text("import colorsys\n\ndef f(x):\n    return x\n")
    text = "function: {call: 'own_quiet:f', gives: [y]}\nfactors: {x: [1]}\ndesign: grid\n"
    assert campaign_of(written(tmp_path, text)).runs == 1


def test_starts_disturbances_and_noise_are_drawn(tmp_path: Path) -> None:
    """The same models as in Python; noise is on what is named alone."""
    (tmp_path / "own_noisy.py").write_text(MODULE)
    plan = campaign_of(
        written(
            tmp_path,
            """
            drive:
              vehicle: double_integrator
              dt: 0.1
              steps: 5
              x0: {v_s: {gaussian: {mean: 3, std: 0.5}}, s: 2}
              policy: own_noisy:policy
              disturbance: {v_s: {uniform: {lower: -1, upper: 1}}, d: 0.5}
              noise: {v_s: {gaussian: {mean: 0, std: 0.1}}}
              metrics: {end: {last: v_s}, side: {last: d}}
            design: {random: 50}
            """,
        )
    )
    drive: Any = plan.experiment
    state = drive.vehicle.model.State
    drawn = drive.x0.nominal_value
    np.testing.assert_array_equal(drawn, [2.0, 0.0, 3.0, 0.0])
    assert drive.noise.nominal_value.tolist() == [0.0] * 4
    assert drive.disturbance.nominal_value.tolist() == [0.0, 0.5, 0.0, 0.0]
    start = Drive(drive.vehicle, dt=0.1, steps=5, x0=by_name(state, v_s=Gaussian(3.0, 0.5, dim=1)),
                  metrics={"v": at("v_s", 0.0)})  # fmt: skip
    rows = Rows(np.arange(50), {}, 0)
    assert start.evaluate(rows, Resources())["v"].std() == pytest.approx(0.5, rel=0.3)
    out = plan.experiment.evaluate(rows, Resources())
    assert len(set(out["end"])) == 50
    assert len(set(out["side"])) == 1


def test_logs_are_looked_for_beside_the_file(tmp_path: Path) -> None:
    sim = sp.Simulator(sp.vehicles.kinematic_bicycle(), dt=0.01)
    sim.reset(v_x=10.0)
    sim.run({"steer": 0.1}, steps=50).to_csv(tmp_path / "run.csv")
    text = """
        log:
          vehicle: kinematic_bicycle
          file: run.csv
          metrics: {off: {highest: "abs(x - log.x)"}}
        factors: {x0.x: [0, 1]}
        design: grid
        """
    study = campaign_of(written(tmp_path, text)).run(tmp_path / "runs", progress=False)
    assert study["off"] == pytest.approx([0.0, 1.0], abs=1e-9)
    with pytest.raises(InvalidValue, match=r"plan\.yaml: log: .*nothing\.csv"):
        campaign_of(written(tmp_path, text.replace("run.csv", "nothing.csv")))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("design:", "desgin:", "the file has no key 'desgin'; did you mean 'design'?"),
        ("seed: 3", "seed: 1.5", "seed = 1.5 must be a whole number"),
        ("seed: 3", "seed: -1", "seed = -1 must be"),
        ("seed: 3", "seed: true", "seed = True must be a whole number"),
        ("name: rolling", "name: [1]", r"name = \[1\] must be a text"),
        ("drive:", "drives:", "no key 'drives'; did you mean 'drive'?"),
        ("drive:", "log: {}\ndrive:", "it must have one of .*; it has drive and log"),
        ("double_integrator", "double_integrater", "drive.vehicle: .*did you mean 'double_integ"),
        ("double_integrator", "two_track:spots", "drive.vehicle: .*did you mean 'sports'"),
        ("double_integrator", "own_none:car", "drive.vehicle = 'own_none:car' cannot be imported"),
        ("double_integrator", "own_mod:NUMBER", "drive.vehicle = .* must be a vehicle, got int"),
        ("double_integrator", "own_mod:kar", "drive.vehicle = .* has no name 'kar'; did you"),
        ("double_integrator", "own_mod:needs", "drive.vehicle = .* raised TypeError"),
        ("double_integrator", "own_bad:car", "drive.vehicle = .* cannot be imported: ZeroDiv"),
        ("double_integrator", "a b:car", "drive.vehicle = 'a b:car' must be module:name"),
        ("dt: 0.1", "dt: fast", "drive.dt = 'fast' must be a number"),
        ("dt: 0.1", "dt: 0", "drive: dt = 0.0 s must be"),
        ("dt: 0.1", "dt: 0.1\n  dtt: 1", "drive has no key 'dtt'; did you mean 'dt'"),
        ("dt: 0.1", "dt: 0.1\n  1: 1", "has the key 1; keys must be texts"),
        ("dt: 0.1", "dt: 0.1\n  policy: own_mod:needs", "drive.policy = 'own_mod:needs' was"),
        ("dt: 0.1", "dt: 0.1\n  policy: own_mod:NUMBER", "drive.policy = .* must be a skidpad.Pol"),
        ("dt: 0.1", "dt: 0.1\n  references: {v: 1}", "drive: references are for a policy"),
        ("dt: 0.1", "dt: 0.1\n  until: s > q", "drive.until: .*no name 'q'"),
        ("dt: 0.1", "dt: 0.1\n  params: {m: 1}", "drive.params has no field 'm'"),
        ("dt: 0.1", "dt: 0.1\n  disturbance: {x: 1}", "drive.disturbance has no field 'x'"),
        ("duration: 2", "duration: 2.05", "drive: duration = 2.05 s is not a whole number"),
        ("duration: 2\n", "\n", "drive: number of steps: none given"),
        ("{v_s: 3}", "{v_q: 3}", "drive.x0 has no field 'v_q'"),
        ("{v_s: 3}", "3", "drive.x0 = 3 must be a mapping"),
        ("{v_s: 3}", "{v_s: {gausian: {mean: 0, std: 1}}}", "x0.v_s has no distribution 'gausian'"),
        ("{v_s: 3}", "{v_s: {gaussian: {mean: 0}}}", "drive.x0.v_s.gaussian has no std"),
        ("{v_s: 3}", "{v_s: {gaussian: {mean: 0, std: -1}}}", "v_s.gaussian: std = -1 must be"),
        ("{a_s: 0.5}", "{as: 0.5}", "drive.controls has no field 'as'; did you mean 'a_s'"),
        ("{a_s: 0.5}", "{a_s: {uniform: {lower: 0, upper: 1}}}", "controls.a_s must be a number"),
        ("{highest: v_s}", "{highst: v_s}", "metrics.fastest has no key 'highst'; did you mean"),
        ("{highest: v_s}", "{highest: v_q}", "drive.metrics.fastest: .*no name 'v_q'"),
        ("{highest: v_s}", "{highest: v_s > 1}", "drive.metrics.fastest: .*must give a number"),
        ("{highest: v_s}", "{highest: 3}", "drive.metrics.fastest.highest = 3 must be a text"),
        ("{highest: v_s}", "{at: s}", "drive.metrics.fastest: .*needs its time"),
        ("{highest: v_s}", "v_s", "drive.metrics.fastest = 'v_s' must be a mapping"),
        ("{highest: v_s}", "{unit: m}", "drive.metrics.fastest = .* must be one of highest"),
        ("time: 1.0", "time: 7.0", "drive: metric 'half_way' needs t = 7 s; a run ends at 2 s"),
        ('"s > 9"', '"s + 9"', "drive.events.far: .*must say whether something happens"),
        ("range: [1, 5]", "range: [5, 1]", r"factors\['x0.v_s'\] = .*low = 5 must be below"),
        ("range: [1, 5]", "rage: [1, 5]", r"factors\['x0.v_s'\] = .*'rage' is unknown"),
        ("x0.v_s: {", "x0.v: {", "factors has no factor 'x0.v'; did you mean 'x0.v_s'"),
        ("latin_hypercube: {runs: 8}", "latin: 8", "design has no kind 'latin'"),
        ("{runs: 8}", "{runs: none}", "design.latin_hypercube: runs"),
        ("{runs: 8}", "{rns: 8}", "design.latin_hypercube has no setting 'rns'; did you mean"),
        ("{way: 2}", "{wy: 2}", "keep has no column 'wy'; did you mean 'way'"),
        ("{way: 2}", "2", "keep.highest = 2 must be a mapping"),
        ("random: 1}", "randm: 1}", "keep has no key 'randm'; did you mean 'random'"),
        ("random: 1}", "random: -1}", "keep.random = -1 must be"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, told: str) -> None:
    (tmp_path / "own_mod.py").write_text(MODULE)
    (tmp_path / "own_bad.py").write_text("1 / 0\n")
    with pytest.raises(InvalidValue, match=f"^plan.yaml: .*{told.removeprefix('^')}"):
        campaign_of(changed(tmp_path, old, new))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            PLAN.replace("dt: 0.1", "dt: 0.1\n  dt: 0.2"),
            "plan.yaml, line 6: the key 'dt' appears twice",
        ),
        (PLAN + "seed: 4\n", "line 20: the key 'seed' appears twice"),
        (PLAN.replace("dt: 0.1", "dt: [0.1"), "plan.yaml, line "),
        ("- 1\n", "must be a mapping"),
        ("", "must be a mapping"),
        ("design: grid\n", "must have one of drive, .*it has none"),
    ],
)
def test_files_that_are_no_plans(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        campaign_of(written(tmp_path, text))
    with pytest.raises(MissingFile, match=r"nothing\.yaml"):
        campaign_of(tmp_path / "nothing.yaml")


@pytest.mark.parametrize(
    ("entry", "instead", "place"),
    [
        ("duration: 2", "duration: {huge}", "drive.duration"),
        ("dt: 0.1", "dt: {huge}", "drive.dt"),
        ("x0: {v_s: 3}", "x0: {{v_s: {huge}}}", "drive.x0.v_s"),
        ("time: 1.0", "time: {huge}", "drive.metrics.half_way"),
        ("[1, 5]", "[1, {huge}]", r"factors\['x0.v_s'\]"),
        ("[0, 1, 3]", "[0, 1, {huge}]", r"factors\['input.a_s'\]"),
        ("runs: 8", "runs: {huge}", "design"),
        ("seed: 3", "seed: {huge}", "seed"),
        ("random: 1", "random: {huge}", "keep"),
        ("way: 2", "way: {huge}", "keep"),
    ],
)
def test_numbers_beyond_a_float_are_refused_at_their_place(
    tmp_path: Path, entry: str, instead: str, place: str
) -> None:
    assert PLAN.count(entry) == 1
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN.replace(entry, instead.format(huge=10**400)), encoding="utf-8")
    with pytest.raises(InvalidValue, match=rf"plan\.yaml: {place}.* 10\^400") as caught:
        campaign_of(file)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("params", "factor"),
    [("z_cg: 280", "I_z: {range: [1200, 1400]}"), ("m: 1226", "z_cg: {range: [280, 300]}")],
)
def test_parameters_in_another_unit_are_warned_of(tmp_path: Path, params: str, factor: str) -> None:
    plan = f"""
drive:
  vehicle: two_track
  params: {{{params}}}
  dt: 0.001
  duration: 1
  x0: {{v_x: 20}}
  controls: {{steer: 0.03}}
  metrics: {{ay: {{highest: "abs(a_y)"}}}}
factors: {{{factor}}}
design: {{sobol: 4}}
"""
    with pytest.warns(ImplausibleParameter, match=r"^two_track: z_cg = 280 m is implausible"):
        campaign_of(written(tmp_path, plan))
