"""`skidpad test`: its tables, its files, its exit status, and that it ends as asked."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import skidpad as sp
from skidpad.cli import main
from skidpad.cli.options import vehicle_of

STEP = ("single_track", "--manoeuvre", "step_steer")
KEPT = "all:\n  step_steer:\n    yaw_rate_overshoot: {min: 0, max: 1}\n"
BROKEN = "single_track:\n  step_steer:\n    yaw_rate_rise_time: {max: 0.001}\n"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["test", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def metrics(document: dict, result: int = 0) -> dict[str, dict]:
    return {entry["name"]: entry for entry in document["results"][result]["metrics"]}


def test_a_list_says_who_can_do_what(capsys) -> None:
    code, out, _ = said(capsys, "--list", "single_track", "kinematic_bicycle")
    assert code == 0
    rows = " ".join(out.split())
    assert all(name in rows for name in sp.study.manoeuvres.names())
    assert "ISO 7401" in rows
    assert "no tyres" in rows


def test_limits_decide_the_exit_status_and_fill_the_files(capsys) -> None:
    for name, text in (("kept.yaml", KEPT), ("broken.yaml", BROKEN)):
        Path(name).write_text(text)
    code, out, err = said(capsys, *STEP, "--limits", "kept.yaml")
    assert (code, err) == (0, "")
    assert "1 limit kept" in out
    files = ("--json", "a.json", "--junit", "a.xml", "--html", "a.html")
    code, out, _ = said(capsys, *STEP, "--limits", "broken.yaml", *files)
    assert code == 1
    assert "FAIL single_track, step_steer, yaw_rate_rise_time" in out
    assert all(name in out for name in ("a.json", "a.xml", "a.html"))
    assert json.loads(Path("a.json").read_text())["passed"] is False
    assert ElementTree.parse("a.xml").getroot().get("failures") == "1"
    assert "1 of 1 limits broken" in Path("a.html").read_text()


@pytest.mark.parametrize(
    "text",
    [
        BROKEN.replace("single_track", "two_track"),  # another vehicle
        "all:\n  bump:\n    peak_acceleration: {max: 1}\n",  # another manoeuvre
        "single_track: {}\n",
        "{}\n",
    ],
)
def test_limits_of_which_none_applies_are_an_error(capsys, text: str) -> None:
    Path("limits.yaml").write_text(text)
    code, out, err = said(capsys, *STEP, "--limits", "limits.yaml")
    assert code == 2
    assert "0 limits checked" in out
    assert "0 limits were checked" in err


def test_limits_that_are_skipped_are_not_kept(capsys) -> None:
    Path("limits.yaml").write_text(KEPT)
    code, out, _ = said(capsys, *STEP, "kinematic_bicycle", "--limits", "limits.yaml")
    assert code == 0
    assert "1 limit kept, 1 skipped" in out


def test_names_of_metrics_are_checked_once_they_are_known(capsys) -> None:
    Path("limits.yaml").write_text(KEPT.replace("overshoot", "overshot"))
    code, out, err = said(capsys, *STEP, "--limits", "limits.yaml", "--json", "a.json")
    assert (code, out) == (2, "")
    assert "no metric 'yaw_rate_overshot'; did you mean 'yaw_rate_overshoot'?" in err
    assert not Path("a.json").exists()


def test_json_alone_is_printed(capsys) -> None:
    code, out, err = said(capsys, *STEP, "--json", "-")
    assert (code, err) == (0, "")
    assert metrics(json.loads(out))["yaw_rate_rise_time"]["unit"] == "s"


def test_parameters_come_from_files_and_options(capsys) -> None:
    Path("a.yaml").write_text("m: 1500\ntyres:\n  tyre:\n    lateral: {mu: 0.9}\n")
    Path("b.json").write_text('{"I_z": 2000.0, "m": 1400}')
    _, out, _ = said(
        capsys,
        *STEP,
        "--params",
        "a.yaml",
        "--params",
        "b.json",
        "--set",
        "I_z=2500",
        "--json",
        "-",
    )
    (vehicle,) = json.loads(out)["vehicles"]
    parameters = vehicle["parameters"]
    assert [parameters[n] for n in ("m", "I_z", "tyres.tyre.lateral.mu")] == [1400, 2500, 0.9]
    _, out, _ = said(capsys, "single_track:suv", *STEP[1:], "--set", "m=1800", "--json", "-")
    (vehicle,) = json.loads(out)["vehicles"]
    assert (vehicle["name"], vehicle["parameters"]["m"]) == ("single_track:suv", 1800)
    assert vehicle["parameters"]["l_f"] == sp.vehicles.single_track("suv").params.l_f


def test_command_driven_models_take_files_of_autoware() -> None:
    Path("car.param.yaml").write_text(
        "/**:\n  ros__parameters:\n    wheel_base: 2.79\n    steer_time_constant: 0.31\n"
    )
    car = vehicle_of("DELAY_STEER_ACC_GEARED", [Path("car.param.yaml")], ["steer_bias=0.01"])
    p = car.params
    assert (p.wheel_base, p.steer_time_constant, p.steer_bias) == (2.79, 0.31, 0.01)


def test_two_vehicles_an_earlier_file_and_a_log_are_beside_it(capsys) -> None:
    arguments = ("single_track:compact", *STEP[1:], "--json")
    _, out, _ = said(capsys, *arguments, "before.json", "--against", "single_track")
    assert "against: single_track" in out
    before = metrics(json.loads(Path("before.json").read_text()))
    assert before["yaw_rate_rise_time"]["reference"] > before["yaw_rate_rise_time"]["value"]
    _, out, _ = said(capsys, *arguments, "-", "--against", "before.json")
    for entry in metrics(json.loads(out)).values():
        assert entry["reference"] == entry["value"]
    t = np.arange(0.0, 10.0, 0.01)
    yaw_rate = 0.2 * -np.expm1(-np.clip(t - 3.0, 0.0, None) / 0.1)
    columns = {"t": t, "speed": 0.0 * t + 22.2, "r": yaw_rate, "delta": 0.05 * (t > 3.0)}
    table = np.column_stack(list(columns.values()))
    np.savetxt("log.csv", table, delimiter=",", header=",".join(columns), comments="")
    names = ("--map", "speed=v_x", "--map", "r=omega", "--map", "delta=steer")
    code, out, _ = said(capsys, *arguments, "-", "--against", "log.csv", *names)
    assert code == 0
    found = metrics(json.loads(out))
    # A lag of 0.1 s is at 90 % after 0.1 ln 10, from half of the angle on.
    rise, own = found["yaw_rate_rise_time"], found["yaw_rate_overshoot"]
    simulated = sp.vehicles.single_track("compact").params.t_steer
    assert rise["reference"] == pytest.approx(0.1 * np.log(10.0), abs=0.03 + simulated)
    assert own["reference"] == pytest.approx(0.0, abs=1e-9)
    assert found["tb_factor"]["reference"] is None


def test_variants_give_intervals(capsys) -> None:
    _, out, _ = said(capsys, *STEP, "--variants", "12", "--spread", "m=5%,I_z=10%", "--json", "-")
    document = json.loads(out)
    for entry in metrics(document).values():
        assert entry["low"] <= entry["value"] <= entry["high"] or entry["low"] == entry["high"]
    assert document["vehicles"][0]["variants"] == 13
    assert (
        metrics(document)["yaw_rate_rise_time"]["low"]
        < metrics(document)["yaw_rate_rise_time"]["high"]
    )


def test_ctrl_c_ends_it_without_a_traceback_and_leaves_no_file(capsys, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("skidpad.study.manoeuvres.kernels.Kernels.drive", interrupted)
    code, out, err = said(capsys, *STEP, "--html", "a.html", "--json", "a.json")
    assert (code, out) == (130, "")
    assert err in ("", "error: ended by Ctrl-C\n")  # as the version of Typer has it
    assert not list(Path().iterdir())


@pytest.mark.parametrize("width", ["44", "80"])
def test_a_narrow_terminal_loses_nothing(capsys, monkeypatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    Path("limits.yaml").write_text(KEPT)
    _, out, _ = said(capsys, *STEP, "kinematic_bicycle", "--limits", "limits.yaml")
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= int(width)
    assert "yaw_rate_overshoot" in out
    assert "not driven" in out


def test_a_terminal_of_80_characters_has_tables(capsys, monkeypatch) -> None:
    """Two lines for each metric at most, and columns of numbers below one heading."""
    Path("limits.yaml").write_text(KEPT)
    count = len(metrics(json.loads(said(capsys, *STEP, "--json", "-")[1])))
    beside = ("--set", "m=1500", "--against", "single_track", "--limits", "limits.yaml")
    many = ("--variants", "8", "--spread", "m=5%", "--limits", "limits.yaml")
    monkeypatch.setenv("COLUMNS", "80")
    for options in (beside, many):
        _, out, _ = said(capsys, *STEP, *options)
        lines = out.splitlines()
        assert max(map(len, lines)) <= 80
        (head,) = [k for k, line in enumerate(lines) if line.split()[:1] == ["value"]]
        assert "limit" in lines[head]
        assert sum(bool(line.split()) for line in lines) <= 2 * count + 8
        assert "yaw_rate_overshoot  pass" in out
    _, out, _ = said(capsys, "--list", "single_track")
    rows = [line for line in out.splitlines() if line.strip()]
    assert max(map(len, rows)) <= 80
    assert len(rows) <= 3.5 * len(sp.study.manoeuvres.names())


def test_several_vehicles_say_how_they_are_compared(capsys) -> None:
    _, out, _ = said(capsys, *STEP, "two_track")
    assert "skidpad test two_track --against single_track" in out


def test_nothing_driven_and_nothing_compared_are_errors(capsys) -> None:
    status, out, errors = said(capsys, "kinematic_bicycle", "--manoeuvre", "step_steer")
    assert status == 2
    assert "not driven: step_steer: kinematic_bicycle has no tyres" in " ".join(out.split())
    assert "no manoeuvre was driven: kinematic_bicycle can do none of those requested" in errors
    t = np.arange(0.0, 10.0, 0.05)
    table = np.column_stack([t, 20.0 + 0.0 * t, 0.0 * t])
    np.savetxt("straight.csv", table, delimiter=",", header="t,v_x,steer", comments="")
    log = ("--against", "straight.csv")
    status, out, errors = said(capsys, "single_track", "--manoeuvre", "step_steer", *log)
    assert status == 2
    assert "note: step_steer: straight.csv goes straight on" in " ".join(out.split())
    assert "none of the manoeuvres could be compared" in errors


def test_a_log_with_holes_and_a_reversed_channel(capsys) -> None:
    """By hand: a step of the wheels that the yaw rate follows; its sign can be turned round."""
    t = np.arange(0.0, 10.0, 0.01)
    rate = 0.2 * -np.expm1(-np.clip(t - 3.0, 0.0, None) / 0.1)
    rows = [
        f"{s:.2f},22.2,{'' if k == 500 else repr(-r)},{0.05 * (s > 3.0)}"
        for k, (s, r) in enumerate(zip(t.tolist(), rate.tolist(), strict=True))
    ]
    Path("log.csv").write_text("\n".join(["t,v_x,omega,steer", *rows]) + "\n")
    against = (*STEP, "--against", "log.csv")
    status, _, errors = said(capsys, *against)
    assert status == 2
    assert "steer has the sign opposite to omega (correlation -1.00)" in errors
    assert "--map COLUMN=-omega" in errors
    status, out, _ = said(capsys, *against, "--map", "omega=-omega", "--wheelbase", "2.6")
    out = " ".join(out.split())
    assert status == 0
    assert "omega has no value in 1 of 1000 samples, the first at t = 5 s: interpolated" in out
    assert "without v_y or sideslip in the log: no lateral_acceleration_overshoot" in out
    status, _, errors = said(capsys, *STEP, "--wheelbase", "2.6")
    assert status == 2
    assert "--wheelbase needs --against LOG" in errors


def test_results_of_other_manoeuvres_are_no_comparison(capsys) -> None:
    said(capsys, *STEP, "--json", "step.json")
    slow = ("single_track", "--manoeuvre", "coast_down", "--against", "step.json")
    status, _, errors = said(capsys, *slow)
    assert status == 2
    assert "none of the manoeuvres could be compared with it" in errors


def test_a_test_is_driven_as_its_log_was(capsys) -> None:
    """A stop by hand, from 20 m/s with 4 m/s²."""
    t = np.arange(0.0, 12.0, 0.02)
    v = np.clip(20.0 - 4.0 * np.clip(t - 4.0, 0.0, None), 0.0, None)
    np.savetxt("stop.csv", np.column_stack([t, v]), delimiter=",", header="t,v_x", comments="")
    asked = ("single_track", "--manoeuvre", "straight_braking", "--against", "stop.csv")
    status, out, _ = said(capsys, *asked, "--json", "stop.json")
    assert status == 0
    assert "straight_braking is driven as the log was: speed 20, deceleration" in out
    found = metrics(json.loads(Path("stop.json").read_text()))
    assert found["mean_deceleration"]["reference"] == pytest.approx(4.0, rel=2e-3)
    assert found["mean_deceleration"]["value"] == pytest.approx(4.0, rel=0.02)
    assert "locked_stopping_distance" not in found


def test_a_test_begins_with_the_speed_where_it_is_said_to(capsys) -> None:
    """A car that rolls out from 25 m/s with 1 m/s² and brakes from 5 s on, at 20 m/s."""
    t = np.arange(0.0, 14.0, 0.02)
    v = 25.0 - t - 3.0 * np.clip(t - 5.0, 0.0, None)
    table = np.column_stack([t, np.clip(v, 0.0, None)])
    np.savetxt("stop.csv", table, delimiter=",", header="t,v_x", comments="")
    asked = ("single_track", "--manoeuvre", "straight_braking", "--against", "stop.csv")
    status, out, _ = said(capsys, *asked, "--at", "5", "--json", "stop.json")
    assert status == 0
    assert "driven as the log was: speed 20, deceleration 4" in out
    found = metrics(json.loads(Path("stop.json").read_text()))["stopping_distance"]
    assert found["reference"] == pytest.approx(20.0**2 / (2.0 * 4.0), rel=0.01)
    assert found["value"] == pytest.approx(found["reference"], rel=0.05)
    status, _, err = said(capsys, *asked, "--at", "50")
    assert status == 2
    assert "cannot begin at 50 s" in err


def test_a_changed_vehicle_is_beside_what_it_was(capsys) -> None:
    weight = sp.vehicles.single_track().params.m
    beside = (*STEP, "--against", "single_track")
    changed = ("--set", f"m={1.3 * weight}", "--json", "-")
    code, out, _ = said(capsys, *beside, *changed)
    assert code == 0
    own = {
        name: entry["value"]
        for name, entry in metrics(json.loads(said(capsys, *STEP, "--json", "-")[1])).items()
    }
    found = metrics(json.loads(out))
    assert {name: entry["reference"] for name, entry in found.items()} == own
    assert any(entry["value"] != entry["reference"] for entry in found.values())
    code, _, err = said(capsys, *beside)
    assert code == 2
    assert "change the vehicle under test" in err
