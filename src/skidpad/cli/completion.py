"""Shell completion: names of vehicles, tyres, demos, manoeuvres and groups of figures.

A shell asks at every press of a key, so nothing here imports what is heavy. To load all vehicles or
manoeuvres takes a second; their names are written down, and a test holds them to the real ones.
"""

from __future__ import annotations

import os

import typer

VEHICLES = (
    "ackermann_truck",
    "brains2",
    "commonroad_dynamic_bicycle",
    "commonroad_kinematic_bicycle",
    "commonroad_ks",
    "commonroad_kst",
    "commonroad_mb",
    "commonroad_st",
    "commonroad_std",
    "double_integrator",
    "formula_student",
    "four_wheel",
    "full_car",
    "kinematic_bicycle",
    "single_track",
    "two_track",
)
"""As `skidpad.vehicles.names()` has them."""

COMMAND_DRIVEN = (
    "IDEAL_STEER_VEL",
    "IDEAL_STEER_ACC",
    "IDEAL_STEER_ACC_GEARED",
    "DELAY_STEER_VEL",
    "DELAY_STEER_ACC",
    "DELAY_STEER_ACC_GEARED",
    "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD",
    "DELAY_STEER_MAP_ACC_GEARED",
    "LEARNED_STEER_VEL",
    "ACTUATION_CMD",
    "ACTUATION_CMD_VGR",
    "ACTUATION_CMD_STEER_MAP",
    "ACTUATION_CMD_MECHANICAL",
)
"""Autoware's models, as `vehicle_model_type` names them."""

MANOEUVRES = (
    *("constant_radius", "constant_speed", "constant_steer", "slow_ramp", "step_steer"),
    *("single_sine", "sine_sweep", "random_steer", "weave", "transition", "sine_with_dwell"),
    *("double_lane_change", "obstacle_avoidance"),
    *("straight_braking", "braking_in_turn", "split_braking"),
    *("acceleration", "coast_down", "turning_circle", "slalom_18_m", "slalom_36_m"),
    *("formula_skidpad", "formula_acceleration", "autocross"),
    *("hill_hold", "hill_start", "rough_road", "bump"),
    *("command_steps", "stop_from_speed", "spin_in_place", "straight_and_arc", "square_path"),
)
"""As `skidpad.study.manoeuvres.names()` has them."""


SETS = ("compact", "sports", "suv", "race", "formula_student", "small_scale")
"""Parameter sets of the vehicles that have any."""
WITH_SETS = ("full_car", "single_track", "two_track")
"""These vehicles."""

TYRES = ("passenger_car", "race_slick", "robot")
"""As `skidpad.tyres.names()` has them."""


def vehicle_names(incomplete: str) -> list[str]:
    """Vehicles that begin like this, command-driven ones last."""
    return _beginning(incomplete, (*VEHICLES, *COMMAND_DRIVEN))


def vehicles_and_sets(incomplete: str) -> list[str]:
    """Vehicles that begin like this, and behind a colon the parameter sets of one."""
    vehicle, colon, beginning = incomplete.partition(":")
    if colon:
        return [f"{vehicle}:{name}" for name in _sets(vehicle, beginning)]
    words = os.environ.get("COMP_WORDS", "").split("\n")
    at = int(os.environ.get("COMP_CWORD", "0"))
    parted = words[at - 2] if at >= 2 and words[at - 1 : at] == [":"] else ""
    return _sets(parted, incomplete) if parted else vehicle_names(incomplete)


def drive_targets(context: typer.Context, incomplete: str) -> list[str]:
    """With `--drive`, vehicles and worlds that begin like this; the shell knows the files."""
    if not context.params.get("drive"):
        return []
    return [*vehicle_names(incomplete), *_beginning(incomplete, ("playground",))]


def tyre_names(incomplete: str) -> list[str]:
    """Tyres that begin like this."""
    return _beginning(incomplete, TYRES)


def command_driven_names(incomplete: str) -> list[str]:
    """Autoware's models that begin like this."""
    return _beginning(incomplete, COMMAND_DRIVEN)


def manoeuvre_names(incomplete: str) -> list[str]:
    """Manoeuvres that begin like this."""
    return _beginning(incomplete, MANOEUVRES)


def run_targets(incomplete: str) -> list[tuple[str, str]]:
    """Demos, with what one sees, and vehicles that begin like this; the shell adds files."""
    from ..demo import DEMOS

    demos = [(demo.name, demo.text) for demo in DEMOS.values() if demo.name.startswith(incomplete)]
    return [*demos, *((name, "a vehicle") for name in vehicle_names(incomplete))]


def bench_groups(incomplete: str) -> list[str]:
    """Groups of `skidpad bench` that begin like this."""
    from ..bench import GROUPS

    return _beginning(incomplete, tuple(GROUPS))


def _sets(vehicle: str, incomplete: str) -> list[str]:
    return _beginning(incomplete, SETS) if vehicle in WITH_SETS else []


def _beginning(incomplete: str, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
