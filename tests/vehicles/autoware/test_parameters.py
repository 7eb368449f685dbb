"""Parameters from YAML files, mappings and maps; what is wrong with them is said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.ros2.dds import Identity
from skidpad.ros2.node import parse_arguments
from skidpad.vehicles.command_driven import parameters, records
from skidpad.vehicles.command_driven.parameters import (
    AssumedParameter,
    Table,
    UnknownParameter,
    gather,
    write,
)
from skidpad.vehicles.registry import COMMAND_DRIVEN

GEARED = "DELAY_STEER_ACC_GEARED"
MAPPED = "DELAY_STEER_MAP_ACC_GEARED"
BASE = {"wheel_base": 2.7}
MAP = "label, 0.0, 5.0\n-1.0, -2.0, -1.5\n1.0, 0.8, 0.6\n"
TABLE = Table((-1.0, 1.0), (0.0, 5.0), ((-2.0, -1.5), (0.8, 0.6)))

MODEL_FILE = """\
/**:
  ros__parameters:
    simulated_frame_id: "base_link"
    origin_frame_id: "map"
    vehicle_model_type: "DELAY_STEER_ACC_GEARED" # one of many
    initialize_source: "ORIGIN"
    timer_sampling_time_ms: 20
    add_measurement_noise: False
    vel_lim: 25
    steer_lim: 0.55
    steer_bias: 2e-3
    acc_time_delay: .15
    x_stddev: 0.0001
    enable_road_slope_simulation: true
"""
INFO_FILE = """\
/**:
  ros__parameters:
    wheel_radius: 0.35
    wheel_width: 0.2
    wheel_base: 3.1
    wheel_tread: 1.6
    front_overhang: 0.9
    rear_overhang: 1.0
    left_overhang: 0.1
    right_overhang: 0.1
    vehicle_height: 2.1
    max_steer_angle: 0.65
"""
ACTUATION: dict[str, Any] = {
    "wheel_base": 2.7,
    "accel_time_delay": 0.1,
    "accel_time_constant": 0.1,
    "brake_time_delay": 0.1,
    "brake_time_constant": 0.1,
    "convert_accel_cmd": True,
    "convert_brake_cmd": True,
    "accel_map": TABLE,
    "brake_map": TABLE,
}


def saved(folder: Path, text: str, name: str = "own.param.yaml") -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def test_autoware_s_two_files_together(tmp_path: Path) -> None:
    model = saved(tmp_path, MODEL_FILE, "simulator_model.param.yaml")
    info = saved(tmp_path, INFO_FILE, "vehicle_info.param.yaml")
    values = gather([model, str(info)], GEARED)
    expected = {
        "wheel_base": 3.1,
        "vel_lim": 25.0,
        "steer_lim": 0.55,
        "steer_bias": 0.002,
        "acc_time_delay": 0.15,
        "timer_sampling_time_ms": 20,
        "origin_frame_id": "map",
        "initialize_source": "ORIGIN",
        "enable_road_slope_simulation": True,
        "vehicle_model_type": GEARED,
    }
    assert {key: values[key] for key in expected} == expected
    assert isinstance(values["vel_lim"], float)
    assert "wheel_radius" not in values


def test_what_is_not_given_has_upstream_s_default() -> None:
    values = gather(BASE, GEARED)
    expected: dict[str, Any] = {
        **{"simulated_frame_id": "base_link", "origin_frame_id": "odom"},
        **{"initialize_source": "INITIAL_POSE_TOPIC", "timer_sampling_time_ms": 25},
        **{"initial_engage_state": True, "add_measurement_noise": False},
        **{"pos_noise_stddev": 0.01, "vel_noise_stddev": 0.01, "rpy_noise_stddev": 1e-4},
        **{"steer_noise_stddev": 1e-4, "x_stddev": 1e-4, "y_stddev": 1e-4},
        **{"enable_road_slope_simulation": False, "enable_pub_steer": True},
        **{"vel_lim": 50.0, "vel_rate_lim": 7.0, "steer_lim": 1.0, "steer_rate_lim": 5.0},
        **{"acc_time_delay": 0.1, "acc_time_constant": 0.1},
        **{"vel_time_delay": 0.25, "vel_time_constant": 0.5},
        **{"steer_time_delay": 0.24, "steer_time_constant": 0.27},
        **{"steer_dead_band": 0.0, "steer_bias": 0.0},
        **{"debug_acc_scaling_factor": 1.0, "debug_steer_scaling_factor": 1.0},
        **{"model_module_paths": ("",), "vgr_coef_a": None, "acceleration_map": None},
    }
    assert {key: values[key] for key in expected} == expected
    assert set(values) == {*records.PARAMETERS, *records.MAPS.values()}
    assert parameters.period(values) == 0.025


@pytest.mark.parametrize(
    "text",
    [
        "vel_lim: 9.0\nwheel_base: 2.7\n",
        "ros__parameters:\n  vel_lim: 9.0\n  wheel_base: 2.7\n",
        "/sim/simulator:\n  ros__parameters: {vel_lim: 9, wheel_base: 2.7}\n",
        "sim:\n  node:\n    ros__parameters:\n      vel_lim: 9.0\n      wheel_base: 2.7\n",
        "/**:\n  ros__parameters:\n    vel_lim: 1.0\nsim:\n  ros__parameters:\n    vel_lim: 9.0\n"
        "    wheel_base: 2.7\n",
        "\ufeffvel_lim: 9.0\nwheelbase: 2.7\n",
    ],
)
def test_any_nesting_is_read(tmp_path: Path, text: str) -> None:
    values = gather(saved(tmp_path, text), GEARED)
    assert (values["vel_lim"], values["wheel_base"]) == (9.0, 2.7)


def test_later_sources_win(tmp_path: Path) -> None:
    file = saved(tmp_path, MODEL_FILE)
    assert gather([file, {"vel_lim": 8}, BASE], GEARED)["vel_lim"] == 8.0
    assert gather([{"vel_lim": 8}, BASE, None, file], GEARED)["vel_lim"] == 25.0
    assert gather([BASE, [{"wheelbase": 4}]], GEARED)["wheel_base"] == 4.0


def test_a_loaded_file_is_a_mapping_too() -> None:
    nested = {"/**": {"ros__parameters": {"wheel_base": 2.0, "mechanical_params": {"kp": 3}}}}
    values = gather(nested, GEARED)
    assert (values["wheel_base"], values["mechanical_params.kp"]) == (2.0, 3.0)


def test_the_model_of_the_file_is_taken_if_none_is_named(tmp_path: Path) -> None:
    file = saved(tmp_path, MODEL_FILE)
    assert gather([file, BASE])["vehicle_model_type"] == GEARED
    assert gather([file, BASE], "IDEAL_STEER_ACC")["vehicle_model_type"] == "IDEAL_STEER_ACC"
    assert gather(BASE)["vehicle_model_type"] == "IDEAL_STEER_VEL"
    bad = saved(tmp_path, "wheel_base: 1.0\nvehicle_model_type: IDEAL_STEER\n")
    with pytest.raises(InvalidValue, match=r"line 2: vehicle_model_type = 'IDEAL_STEER' is unk"):
        gather(bad)


def test_an_unknown_model_lists_the_names() -> None:
    with pytest.raises(InvalidValue, match="DELAY_STEER_VEL") as failure:
        gather(BASE, "DELAY_STEER_VELO")
    assert all(name in str(failure.value) for name in COMMAND_DRIVEN)
    assert "did you mean DELAY_STEER_VEL?" in str(failure.value)


def test_an_unknown_parameter_is_named_in_a_warning(tmp_path: Path) -> None:
    file = saved(tmp_path, MODEL_FILE + "    steer_tim_delay: 0.3\n")
    said = r"own\.param\.yaml, line 15: steer_tim_delay .* did you mean steer_time_delay\?"
    with pytest.warns(UnknownParameter, match=said) as caught:
        values = gather([file, BASE], GEARED)
    assert values["steer_time_delay"] == 0.24
    assert caught[0].filename == __file__
    with pytest.warns(UnknownParameter, match="parameters: mechanical_params.kq"):
        gather({**BASE, "mechanical_params": {"kq": 1.0}}, GEARED)


def test_a_parameter_beside_the_nodes_is_named_in_a_warning(tmp_path: Path) -> None:
    file = saved(tmp_path, "vel_lim: 3.0\n" + INFO_FILE)
    with pytest.warns(UnknownParameter, match="line 1: vel_lim is outside of ros__parameters"):
        assert gather(file, GEARED)["vel_lim"] == 50.0


def test_a_documented_switch_without_effect_is_named() -> None:
    given = {**ACTUATION, "convert_steer_cmd_method": "vgr"}
    with pytest.warns(UnknownParameter, match="ACTUATION_CMD_VGR"):
        gather(given, "ACTUATION_CMD")
    gather({**given, "vgr_coef_a": 15, "vgr_coef_b": 0.05, "vgr_coef_c": 0.04}, "ACTUATION_CMD_VGR")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("vel_lim: fast", "vel_lim must be a number, got 'fast'"),
        ("vel_lim: '30.0'", "vel_lim must be a number, got '30.0'"),
        ("vel_lim: true", "vel_lim must be a number, got True"),
        ("vel_lim: [1.0]", r"vel_lim must be a number, got \[1.0\]"),
        ("vel_lim:", "vel_lim must be a number, got None"),
        ("vel_lim: .inf", "vel_lim = inf must be finite"),
        ("vel_lim: -1.0", "vel_lim = -1.0 must be at least 0"),
        ("wheel_base: 0.0", "wheel_base = 0.0 must be greater than 0"),
        ("timer_sampling_time_ms: 12.5", "must be a whole number, got 12.5"),
        ("timer_sampling_time_ms: 0", "must be greater than 0"),
        ("add_measurement_noise: 1", "add_measurement_noise must be true or false, got 1"),
        ("enable_pub_steer: 'yes'", "must be true or false, got 'yes'"),
        ("origin_frame_id: 3", "origin_frame_id must be text, got 3"),
        ("model_class_names: One", "must be a list of texts, got 'One'"),
        ("model_class_names: [One, 2]", "must be a list of texts"),
        ("acceleration_map_path: 3", "must be the path of a CSV file, got 3"),
        ("acceleration_map: [[1, 2], [3, 4]]", "must be the path of a CSV file"),
        ("acceleration_map_path: ''", "must be the path of a CSV file"),
    ],
)
def test_a_wrong_type_is_named_with_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    file = saved(tmp_path, f"/**:\n  ros__parameters:\n    steer_lim: 1.0\n    {line}\n")
    with pytest.raises(InvalidValue, match=rf"own\.param\.yaml, line 4: .*{said}"):
        gather(file, GEARED)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"vel_lim": "30"}, "parameters: vel_lim must be a number"),
        ({"vel_lim": True}, "vel_lim must be a number, got True"),
        ({"add_measurement_noise": 2}, "must be true or false, got 2"),
        ({"wheel_base": 2.0, "wheelbase": 2.0}, "wheelbase is the same parameter as wheel_base"),
        ({"queue_dt": 0.0}, "queue_dt = 0 must be greater than 0"),
        ({"acceleration_map": [[1, 2], [3]]}, "parameters: acceleration_map: table"),
        (3.0, "cannot be read from 3.0"),
        (b"file.yaml", "cannot be read from b'file.yaml'"),
    ],
)
def test_a_wrong_type_in_a_mapping_is_named(given: Any, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        gather([BASE, given], GEARED)


@pytest.mark.slow_cases("text7-nested too deeply")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vel_lim: 1\n  steer_lim: 2\n", "line 2: mapping values are not allowed here"),
        ("vel_lim: [1\n", r"line \d"),
        ("vel_lim: &v 1.0\nsteer_lim: *v\n", "line 2: aliases are not allowed"),
        ("vel_lim: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
        ("- 1\n- 2\n", "holds no parameters"),
        ("", "holds no parameters"),
        ("\0", "is not YAML"),
        ("[" * 5000, "nested too deeply"),
        ("a: 1\n---\nb: 2\n", "line 2"),
    ],
)
def test_files_that_are_not_yaml_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said) as failure:
        gather(saved(tmp_path, text), GEARED)
    assert "own.param.yaml" in str(failure.value)


@pytest.mark.parametrize(
    "text",
    [
        "vel_lim: 1.0\nsteer_lim: 0.5\nvel_lim: 2.0\n",
        "/**:\n  ros__parameters:\n    vel_lim: 1.0\n    vel_lim: 2.0\n",
        "/**:\n  ros__parameters: {vel_lim: 1.0}\n/**:\n  ros__parameters: {vel_lim: 2.0}\n",
    ],
)
def test_of_a_key_that_stands_twice_the_last_counts_as_in_the_node(
    tmp_path: Path, text: str
) -> None:
    file = saved(tmp_path, text)
    with pytest.warns(parameters.RepeatedParameter, match=r"line \d: .* in line \d before"):
        values = gather([BASE, file], GEARED)
    assert values["vel_lim"] == 2.0
    if "ros__parameters" in text:
        arguments = parse_arguments(["--ros-args", "--params-file", str(file)])
        assert arguments.parameters_of(Identity("node"))["vel_lim"] == values["vel_lim"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"none\.yaml cannot be read: No such file"):
        gather(tmp_path / "none.yaml", GEARED)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(InvalidValue, match="UTF-8"):
        gather(tmp_path / "latin.yaml", GEARED)


@pytest.mark.parametrize("name", ["IDEAL_STEER_VEL", "DELAY_STEER_ACC", GEARED])
def test_a_forgotten_wheel_base_is_that_of_the_sample_vehicle(tmp_path: Path, name: str) -> None:
    given = saved(tmp_path, "steer_bias: 0.1\n")
    with pytest.warns(AssumedParameter, match=r"wheel_base is not given; 2\.79 m") as caught:
        assert gather(given, name)["wheel_base"] == 2.79
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("ACTUATION_CMD", "accel_time_delay"),
        ("ACTUATION_CMD", "brake_time_constant"),
        ("ACTUATION_CMD", "convert_accel_cmd"),
        ("ACTUATION_CMD", "accel_map"),
        ("ACTUATION_CMD_STEER_MAP", "steer_map"),
        ("ACTUATION_CMD_VGR", "vgr_coef_b"),
        ("ACTUATION_CMD_MECHANICAL", "mechanical_params.inertia"),
        (MAPPED, "acceleration_map"),
    ],
)
def test_a_model_s_own_required_parameters_are_named(name: str, needed: str) -> None:
    samples = {p.name: p.example for p in records.PARAMETERS.values() if p.example is not None}
    given = {**ACTUATION, **samples, "vgr_coef_a": 15.7, "vgr_coef_b": 0.05, "vgr_coef_c": 0.04}
    given |= {"steer_map": TABLE, "acceleration_map": TABLE}
    values = gather(given, name)
    assert values[needed] is not None
    del given[needed]
    with pytest.raises(InvalidValue, match=f"{name} needs a value that was not given: {needed}"):
        gather(given, name)


def test_numbers_of_other_libraries_are_numbers() -> None:
    given = {"wheel_base": np.float32(2.5), "vel_lim": np.int64(9), "enable_pub_steer": np.False_}
    values = gather(given, GEARED)
    assert (values["wheel_base"], values["vel_lim"], values["enable_pub_steer"]) == (2.5, 9, False)
    assert type(values["wheel_base"]) is float


def test_numbers_stand_for_switches_in_mappings_only() -> None:
    assert gather({**BASE, "add_measurement_noise": 1}, GEARED)["add_measurement_noise"] is True


@pytest.mark.parametrize(("dt", "ms"), [(0.01, 10), (0.025, 25), (0.035, 35), (0.0125, 12.5)])
def test_the_period_may_be_given_in_seconds(dt: float, ms: float) -> None:
    values = gather({**BASE, "queue_dt": dt}, GEARED)
    assert values["timer_sampling_time_ms"] == ms
    assert parameters.period(values) == dt


def test_a_map_lies_beside_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "maps").mkdir()
    saved(tmp_path / "maps", MAP, "a.csv")
    file = saved(tmp_path, "wheel_base: 2.0\nacceleration_map_path: maps/a.csv\n")
    values = gather(file, MAPPED)
    assert values["acceleration_map"] == TABLE
    assert Path(values["acceleration_map_path"]) == tmp_path / "maps" / "a.csv"
    monkeypatch.chdir(tmp_path / "maps")
    assert gather(Path("..") / file.name, MAPPED)["acceleration_map"] == TABLE
    given = {**BASE, "acceleration_map_path": "a.csv"}
    assert gather(given, MAPPED)["acceleration_map"] == TABLE


def test_a_map_may_be_a_table() -> None:
    lines = {"rows": [-1, 1], "columns": [0, 5], "values": [[-2, -1.5], [0.8, 0.6]]}
    values = gather({**BASE, "acceleration_map": lines}, MAPPED)
    assert values["acceleration_map"] == TABLE
    assert values["acceleration_map_path"] is None


@pytest.mark.parametrize(
    "path", ["$(find-pkg-share my_vehicle)/config/a.csv", "$(var config_dir)/a.csv"]
)
@pytest.mark.parametrize("compat", [None, "upstream"])
def test_substitutions_of_launch_files_are_named(
    tmp_path: Path, path: str, compat: str | None
) -> None:
    file = saved(tmp_path, f"wheel_base: 2.0\nacceleration_map_path: {path}\n")
    said = r"line 2: acceleration_map_path = .*must be replaced by a real path"
    with pytest.raises(InvalidValue, match=said):
        gather(file, MAPPED, compat)
    # A model without the map does not mind.
    assert gather(file, GEARED, compat)["acceleration_map_path"] == path


def test_a_missing_map_is_an_error_with_file_and_key(tmp_path: Path) -> None:
    file = saved(tmp_path, "wheel_base: 2.0\nacceleration_map_path: none.csv\n")
    said = r"own\.param\.yaml, line 2: acceleration_map_path: .*none\.csv cannot be read"
    with pytest.raises(InvalidValue, match=said):
        gather(file, MAPPED)
    assert gather(file, MAPPED, "upstream")["acceleration_map"] is None
    assert gather(file, GEARED)["acceleration_map"] is None
    saved(tmp_path, "label, 0.0\n1,2\n2,3\n", "none.csv")
    with pytest.raises(InvalidValue, match=r"acceleration_map_path: .*none\.csv, line 1"):
        gather(file, MAPPED)


def test_without_a_pedal_map_upstream_turns_the_conversion_off(tmp_path: Path) -> None:
    given = {k: v for k, v in ACTUATION.items() if k != "brake_map"}
    given["brake_map_path"] = str(tmp_path / "none.csv")
    with pytest.raises(InvalidValue, match=r"parameters: brake_map_path: .*none\.csv"):
        gather(given, "ACTUATION_CMD")
    values = gather(given, "ACTUATION_CMD", "upstream")
    assert values["brake_map"] is None
    assert values["convert_brake_cmd"] is False
    assert values["accel_map"] == TABLE
    assert values["convert_accel_cmd"] is True


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("", False),
        ("label\n1\n", False),
        ("label,0,5\n-1,-2\n1,1,1\n", False),
        ("label,0,5\n-1,x\n1,1,1\n", False),  # upstream counts cells before it reads numbers
        ("label,0,5\n-1,x,2\n1,1,1\n", None),
        ("label,0\n-1,-2\n1,1\n", None),
        ("label,0,5\n-1,-2,-1\n", None),
        ("label,5,0\n-1,-2,-1\n1,1,1\n", None),
        ("label,0,5\n1,-2,-1\n-1,1,1\n", None),
    ],
)
@pytest.mark.parametrize("key", ["accel_map_path", "brake_map_path"])
def test_upstream_goes_on_only_without_a_map_that_is_no_table(
    tmp_path: Path, text: str, used: bool | None, key: str
) -> None:
    """Anything else that is wrong with a map ends the upstream program."""
    file = saved(tmp_path, text, "bad.csv")
    given = {k: v for k, v in ACTUATION.items() if k != key.removesuffix("_path")}
    given[key] = str(file)
    with pytest.raises(InvalidValue, match=rf"{key}: .*bad\.csv"):
        gather(given, "ACTUATION_CMD")
    if used is None:
        with pytest.raises(InvalidValue, match=rf"{key}: .*bad\.csv"):
            gather(given, "ACTUATION_CMD", "upstream")
    else:
        values = gather(given, "ACTUATION_CMD", "upstream")
        assert values[key.removesuffix("_path")] is None


def test_without_a_steering_map_upstream_stops_too(tmp_path: Path) -> None:
    given = {**ACTUATION, "steer_map_path": str(tmp_path / "none.csv")}
    with pytest.raises(InvalidValue, match="steer_map_path"):
        gather(given, "ACTUATION_CMD_STEER_MAP", "upstream")


def test_a_map_whose_conversion_is_off_is_not_needed() -> None:
    given = {k: v for k, v in ACTUATION.items() if k != "accel_map"}
    values = gather({**given, "convert_accel_cmd": False}, "ACTUATION_CMD")
    assert values["accel_map"] is None
    assert values["brake_map"] == TABLE


def test_an_unknown_compat_names_both() -> None:
    with pytest.raises(InvalidValue, match="compat = 'yes' is unknown; allowed are None and 'up"):
        gather(BASE, GEARED, "yes")


def test_the_lists_of_sub_models_are_equally_long() -> None:
    lists = {"model_module_paths": ["a", "b"], "model_class_names": ("A", "B")}
    with pytest.raises(InvalidValue, match=r"model_param_paths has 1.* must be equally long"):
        gather(lists, "LEARNED_STEER_VEL")
    values = gather({**lists, "model_param_paths": ["", ""]}, "LEARNED_STEER_VEL")
    assert values["model_module_paths"] == ("a", "b")


@pytest.mark.parametrize("dotted", [False, True])
def test_mechanical_parameters_are_nested_or_dotted(tmp_path: Path, dotted: bool) -> None:
    samples = {p.name: p.example for p in records.PARAMETERS.values() if p.example is not None}
    lines = [f"  {key}: {value}" for key, value in samples.items()]
    if not dotted:
        lines = ["  mechanical_params:"]
        lines += [f"    {k.removeprefix('mechanical_params.')}: {v}" for k, v in samples.items()]
        lines.append("    vgr_coef_a: 2.4")
    file = saved(tmp_path, "\n".join(["ros__parameters:", *lines]) + "\n")
    ratio = {"vgr_coef_a": 15.7, "vgr_coef_b": 0.05, "vgr_coef_c": 0.04}
    values = gather([file, ACTUATION, ratio], "ACTUATION_CMD_MECHANICAL")
    assert {key: values[key] for key in samples} == samples
    assert len(samples) == 21
    assert values["vgr_coef_a"] == 15.7


def complete(folder: Path) -> Mapping[str, Any]:
    for name in ("a", "b", "c", "d"):
        saved(folder, MAP, f"{name}.csv")
    samples = {p.name: p.example for p in records.PARAMETERS.values() if p.example is not None}
    files = zip(records.MAPS, ("a", "b", "c", "d"), strict=True)
    return {
        **samples,
        **{k: v for k, v in ACTUATION.items() if not k.endswith("_map")},
        **{path: str(folder / f"{name}.csv") for path, name in files},
        **{"vgr_coef_a": 15.7, "vgr_coef_b": 0.05, "vgr_coef_c": 0.04},
        **{"steer_bias": 1e-5, "vel_lim": 31, "origin_frame_id": "map", "queue_dt": 0.02},
    }


@pytest.mark.parametrize("name", COMMAND_DRIVEN)
def test_written_files_are_read_back(tmp_path: Path, name: str) -> None:
    values = gather(complete(tmp_path), name)
    file = tmp_path / "fit.param.yaml"
    write(file, values, name)
    again = gather(file)
    used = [k for k, p in records.PARAMETERS.items() if not p.models or name in p.models]
    maps = list(records.MAPS.values())
    assert {k: again[k] for k in used + maps} == {k: values[k] for k in used + maps}


def test_written_files_have_autoware_s_shape(tmp_path: Path) -> None:
    file = tmp_path / "fit.param.yaml"
    values = {"wheelbase": 3, "steer_bias": 1e-5, "convert_accel_cmd": True, "queue_dt": 0.02}
    values |= {"accel_map_path": tmp_path / "maps" / "a.csv", "mechanical_params.kp": 4}
    values |= {"vel_time_delay": 0.3, "brake_map_path": None}
    write(file, values, "ACTUATION_CMD_MECHANICAL")
    assert file.read_text("utf-8") == (
        "/**:\n"
        "  ros__parameters:\n"
        "    vehicle_model_type: ACTUATION_CMD_MECHANICAL\n"
        "    timer_sampling_time_ms: 20\n"
        "    wheel_base: 3.0\n"
        "    convert_accel_cmd: true\n"
        "    accel_map_path: maps/a.csv\n"
        "    mechanical_params:\n"
        "      kp: 4.0\n"
    ).replace("    convert", "    steer_bias: 1.0e-05\n    convert")


def test_a_refused_file_is_not_written(tmp_path: Path) -> None:
    file = saved(tmp_path, "old")
    for values, name, said in [
        ({"vel_limit": 3.0}, GEARED, "did you mean 'vel_lim'"),
        ({"vel_lim": "3"}, GEARED, "must be a number"),
        ({"vel_lim": 3.0}, "CAR", "'CAR' is unknown"),
        ({"acceleration_map": TABLE}, MAPPED, "was not read from a file"),
        ({"acceleration_map_path": TABLE}, MAPPED, "got a table"),
    ]:
        with pytest.raises(InvalidValue, match=said):
            write(file, values, name)
    assert file.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_the_table_for_pages_has_every_parameter() -> None:
    rows = {name: rest for name, *rest in records.table()}
    assert list(rows) == list(records.PARAMETERS)
    assert rows["steer_time_delay"][:3] == ["double", "0.24", "s"]
    assert rows["add_measurement_noise"][:2] == ["bool", "false"]
    assert rows["accel_time_delay"][1].startswith("required")
    assert rows["mechanical_params.angle_limit"][1] == "required (sample: 10.0)"
    assert rows["model_class_names"][1] == "['']"
    assert rows["x_stddev"][3] == "all"
    assert rows["vel_time_delay"][3] == "DELAY_STEER_VEL"


USERS = {
    "acc_time_delay": "D_ST_A D_ST_A_G D_ST_A_G_WO_FG D_ST_M_ACC_G",
    "steer_time_delay": "D_ST_V D_ST_A D_ST_A_G D_ST_A_G_WO_FG D_ST_M_ACC_G",
    "vel_time_delay": "D_ST_V",
    "steer_dead_band": "D_ST_V D_ST_A D_ST_A_G D_ST_A_G_WO_FG",
    "vel_lim": "D_ST_V D_ST_A D_ST_A_G D_ST_A_G_WO_FG D_ST_M_ACC_G",
    "steer_bias": "D_ST_V D_ST_A D_ST_A_G D_ST_A_G_WO_FG D_ST_M_ACC_G",
    "debug_acc_scaling_factor": "D_ST_A D_ST_A_G D_ST_A_G_WO_FG",
    "debug_steer_scaling_factor": "D_ST_A D_ST_A_G D_ST_A_G_WO_FG",
    "acceleration_map_path": "D_ST_M_ACC_G",
    "model_class_names": "L_S_V",
}
"""From the table of upstream's documentation, in its abbreviations."""
SHORT = {
    "DELAY_STEER_VEL": "D_ST_V",
    "DELAY_STEER_ACC": "D_ST_A",
    "DELAY_STEER_ACC_GEARED": "D_ST_A_G",
    "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD": "D_ST_A_G_WO_FG",
    "DELAY_STEER_MAP_ACC_GEARED": "D_ST_M_ACC_G",
    "LEARNED_STEER_VEL": "L_S_V",
}


@pytest.mark.parametrize("name", USERS)
def test_the_models_of_a_parameter_are_those_documented(name: str) -> None:
    models = [model for model in records.PARAMETERS[name].models if "ACTUATION" not in model]
    assert " ".join(SHORT[model] for model in models) == USERS[name]
