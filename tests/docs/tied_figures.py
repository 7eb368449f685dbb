"""Sentences of the pages whose figures are tied to a computation."""

from __future__ import annotations

from math import atan, cos, degrees, sin, tan, tau

import numpy as np

import skidpad as sp
from docs.figure_values import (
    BICYCLE,
    CAMPAIGNS,
    COMMONROAD,
    CURVES,
    DELAYED,
    ERRATA,
    EVENTS,
    FOUR,
    FOUR_STATES,
    LEARNING,
    MOTORS,
    PARK,
    PROVING_GROUND,
    SKIDPAD,
    TRUCK,
    VEHICLES,
    Sentence,
    acceleration_time,
    beyond_steady,
    commonroad,
    creep_of_brakes,
    creep_of_steady_slip,
    default,
    drift_radii,
    fast_deviations,
    fastest,
    first_whole,
    flying_start,
    front_angles,
    holds_of_clover,
    in_browser,
    kept,
    last_row,
    longest,
    mode_at,
    moved,
    policy_gradient,
    private,
    race_example,
    ranges_beyond_steady,
    recorded_by_page,
    rounded,
    runs_a_second,
    runs_for_quantile,
    stable_baselines,
    takes,
    takes_at,
    waiting_loop,
    wheel_hop,
)
from printed import rounds_to
from skidpad.compat.autoware import motion as autoware
from skidpad.compat.truck.model_file import truck_model
from skidpad.compile import host
from skidpad.control import keyboard, stanley
from skidpad.control.optimal import vehicle as optimal_vehicle
from skidpad.core import progress
from skidpad.demo import drift, following
from skidpad.geometry.maps import cones, occupancy
from skidpad.learn import Task, tasks
from skidpad.learn.tasks.race import SIGHT
from skidpad.road import road as iso8608
from skidpad.ros2.nodes import world as world_node
from skidpad.ros2.nodes import world_topics
from skidpad.run import stability
from skidpad.study import campaign, manoeuvres
from skidpad.study.identify import comparison, fitting, problem, replay
from skidpad.study.manoeuvres import (
    StepSteer,
    Subject,
    cone_courses,
    events,
    linear_handling,
    logs,
    transient_response,
)
from skidpad.study.manoeuvres.cone_courses import Autocross, LongSlalom
from skidpad.study.manoeuvres.linear_handling import Transition, Weave
from skidpad.study.manoeuvres.roads import Bump, HillHold, HillStart, RoughRoad
from skidpad.study.manoeuvres.steady_state import ConstantRadius
from skidpad.study.manoeuvres.transient_response import SineWithDwell, SingleSine
from skidpad.testing import body as testing_body
from skidpad.tyres.fitting import least_squares, measurements, stages
from skidpad.vehicles.parts import FirstOrderSlip
from skidpad.vehicles.parts.load_transfer import UPRIGHT
from skidpad.vehicles.registry import COMMAND_DRIVEN
from skidpad.vehicles.twin_track.sets import SETS
from skidpad.vehicles.twin_track.trailers import CARAVAN
from skidpad.view import film
from skidpad.view.live import app as live_app
from skidpad.view.live import messages as live_messages
from skidpad.view.live import server as live_gate
from skidpad.view.pages import page
from skidpad.view.recording import mcap, recorder, topics
from skidpad.world import motion, vehicle
from skidpad.world.contact import solver
from skidpad.world.scene import Scene
from skidpad.world.xml import markup
from vehicles import car_figures

SENTENCES = [
    Sentence(
        PROVING_GROUND,
        "`slow_ramp` finds {} to {} % more than turns of one radius or speed, and {} to {} % more "
        "than turns of one angle",
        holds=lambda *shown: np.abs(np.subtract(shown, ranges_beyond_steady())).max() < 0.6,
    ),
    Sentence(
        PROVING_GROUND, "near its top speed there, and the ramp finds {} % more",
        lambda: [beyond_steady(sp.vehicles.formula_student())[0]],
    ),
    Sentence(
        PROVING_GROUND, "has more downforce there, and the ramp finds {} % less",
        lambda: [-beyond_steady(sp.vehicles.two_track("race"))[0]],
    ),
    Sentence(VEHICLES, "on a slope of 20 % it creeps by {} mm/s", lambda: [creep_of_brakes()]),
    Sentence(
        VEHICLES, "what the forces move: {} % for the default car",
        lambda: [car_figures.wheel_moments(sp.vehicles.two_track())],
    ),
    Sentence(
        VEHICLES, "under the default car at {} rad is {} % of the moment",
        lambda: [0.05, car_figures.overturning()],
    ),
    Sentence(
        VEHICLES, "| m, I_z | {} kg, {} kg·m² | t_tau, t_steer | {} ms, {} ms |",
        lambda: [FOUR.m, FOUR.I_z, 1e3 * FOUR.t_tau, 1e3 * FOUR.t_steer],
    ),
    Sentence(
        VEHICLES, "| l_f, l_r, track, z_cg | {}, {}, {}, {} m | tau_max | {} N·m |",
        lambda: [FOUR.l_f, FOUR.l_r, FOUR.track, FOUR.z_cg, FOUR.tau_max],
    ),
    Sentence(
        VEHICLES, "| C_m0 | 1 / {} m | steer_max, steer_rate_max | {} rad, {} rad/s |",
        lambda: [1.0 / FOUR.C_m0, FOUR.steer_max, FOUR.steer_rate_max],
    ),
    Sentence(
        VEHICLES, "| C_r0, C_r1, C_r2 | {} N, {} N·s/m, {} N·s²/m² | v_0 | {} m/s |",
        lambda: [FOUR.C_r0, FOUR.C_r1, FOUR.C_r2, FOUR.v_0],
    ),
    Sentence(
        VEHICLES, "| C_down | {} N·s²/m² | tyre B, C, D, E | {}, {}, {}, {} |",
        lambda: [FOUR.C_down, *FOUR.tyre[:4]],
    ),
    Sentence(
        VEHICLES, "is proportional to 1/v ({} 1/s at 1 m/s, {} at 0.1 m/s)",
        lambda: [mode_at(sp.vehicles.four_wheel(), v) for v in (1.0, 0.1)],
    ),
    Sentence(
        VEHICLES, "draw {} kW at most (`powertrain.P_max`, rule EV 2.2), with an efficiency of {}",
        lambda: [1e-3 * MOTORS.powertrain.P_max, MOTORS.powertrain.efficiency],
    ),
    Sentence(
        VEHICLES, "drives its wheel up to {} rad/s (`powertrain.speed`), {} km/h",
        lambda: [
            MOTORS.powertrain.speed.spin_max,
            3.6 * MOTORS.powertrain.speed.spin_max
            * sp.vehicles.formula_student().geometry.wheels[0].radius,
        ],
    ),
    Sentence(
        VEHICLES, "RK4 takes steps of up to {} ms", holds=takes(sp.vehicles.formula_student())
    ),
    Sentence(
        VEHICLES, "stiff dampers ({} 1/s)", lambda: [fastest(sp.vehicles.two_track())]
    ),
    Sentence(VEHICLES, "3/8 `v_low`, {} mm/s on 20 %", lambda: [creep_of_steady_slip()]),
    Sentence(
        VEHICLES, "nothing is faster than {} 1/s, so RK4 takes {} ms",
        holds=lambda mode, step: (
            fastest(sp.vehicles.two_track(slip=FirstOrderSlip())) <= mode * (1.0 + 1e-9)
            and takes(sp.vehicles.two_track(slip=FirstOrderSlip()))(step)
        ),
    ),
    Sentence(
        VEHICLES, "RK4 takes {} ms, cars of the sets {} ms as they stop",
        holds=lambda own, sets: (
            takes(sp.vehicles.full_car())(own)
            and takes(*(sp.vehicles.full_car(name) for name in SETS))(sets)
        ),
    ),
    Sentence(
        VEHICLES, "mode of the default car is {} 1/s at rest: RK4 takes {} ms",
        holds=lambda mode, step: (
            rounds_to(str(fastest(sp.vehicles.single_track())), f"{mode:g}")
            and step <= longest(sp.vehicles.single_track())
        ),
    ),
    Sentence(
        VEHICLES, "a motor at each wheel, {} kW, brakes", lambda: [1e-3 * MOTORS.powertrain.P_max]
    ),
    Sentence(
        VEHICLES, "since brains2's {} N + {} N·s/m v do not represent air resistance",
        lambda: [FOUR.C_r0, FOUR.C_r1],
    ),
    Sentence(VEHICLES, "3/8 of `rate_max` ({} 1/s)", lambda: [MOTORS.slip.low.rate_max]),
    Sentence(VEHICLES, "Below `v_low` ({} m/s)", lambda: [MOTORS.slip.low.v_low]),
    Sentence(
        VEHICLES, "the tyres' slip ({} 1/s), then wheel hop (about {} 1/s)",
        lambda: [
            sp.vehicles.full_car().params.slip.low.rate_max, wheel_hop(sp.vehicles.full_car()),
        ],
    ),
    Sentence(VEHICLES, "end at a roll or pitch of {} rad", lambda: [UPRIGHT]),
    Sentence(
        "docs/getting_started.md", "the motors of this car have time constants of {} ms",
        lambda: [1e3 * FOUR.t_tau],
    ),
    Sentence(
        "docs/getting_started.md", "with actuators of {} ms", lambda: [1e3 * FOUR.t_tau]
    ),
    Sentence(
        "docs/trailers.md", "of {} ms behind the default car and of {} ms with the sets below",
        holds=lambda own, sets: (
            takes(sp.vehicles.two_track(slip=FirstOrderSlip(), trailers=CARAVAN))(own)
            and takes(sp.vehicles.two_track("suv", slip=FirstOrderSlip(), trailers=CARAVAN))(sets)
        ),
    ),
    Sentence(
        EVENTS, "circles of {} m and {} m, centres {} m apart",
        lambda: [SKIDPAD.inner, SKIDPAD.outer, 2.0 * SKIDPAD.middle],
    ),
    Sentence(
        EVENTS, "stays `margin` ({} m) away", lambda: [SKIDPAD.margin],
    ),
    Sentence(
        EVENTS, "the centre of mass is on R = {} m, where the middle of the lane is {} m",
        lambda: [
            SKIDPAD.line_radius(Subject(sp.vehicles.formula_student())), SKIDPAD.middle,
        ],
    ),
    Sentence(
        EVENTS, "is driven at {} % of this speed", lambda: [1e2 * events.SHOWN],
    ),
    Sentence(
        EVENTS, "for `formula_student` it is {} s at a slip", lambda: [acceleration_time()],
    ),
    Sentence(
        EVENTS, "{} m from rest, the clock starts after {} m",
        lambda: [manoeuvres.FormulaAcceleration().way, manoeuvres.FormulaAcceleration().before],
    ),
    Sentence(
        EVENTS, "flying lap of {} m on a track of skidpad's own, {} m wide",
        lambda: [cone_courses.middle().length, Autocross().width],
    ),
    Sentence(
        EVENTS, "to a resolution ({} km/h, {} % in a slalom, {} % of the speeds in the autocross",
        lambda: [
            3.6 * cone_courses.RESOLUTION, 1e2 * cone_courses.SLALOM_RESOLUTION,
            1e2 * cone_courses.LAP_RESOLUTION,
        ],
    ),
    Sentence(
        EVENTS, "six cones {} m or {} m apart",
        lambda: [manoeuvres.Slalom().spacing, LongSlalom().spacing],
    ),
    Sentence(
        EVENTS, "parked with the handbrake on {} %",
        lambda: [100.0 * HillHold().gradient],
    ),
    Sentence(EVENTS, "from rest up {} %", lambda: [100.0 * HillStart().gradient]),
    Sentence(EVENTS, "class C, at {} km/h", lambda: [3.6 * RoughRoad().speed]),
    Sentence(
        EVENTS, "half sine of {} mm and {} m at {} km/h",
        lambda: [
            1e3 * Bump().height, Bump().length,
            3.6 * Bump().speed,
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "ISO 7401, {} km/h, one period of {} Hz, {} m/s²",
        lambda: [
            3.6 * SingleSine().speed, SingleSine().frequency,
            SingleSine().a_y,
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "interpolated over at most {} s",
        lambda: [logs.LONGEST_GAP],
    ),
    Sentence(
        "docs/proving_ground.md", "stays within {} % of its median",
        lambda: [100.0 * linear_handling.STEADY_SPEED],
    ),
    Sentence(
        "docs/proving_ground.md", "a speed within {} % of the median",
        lambda: [100.0 * linear_handling.STEADY_SPEED],
    ),
    Sentence(
        "docs/proving_ground.md", "circle of {} m, the standard radius of ISO 4138",
        lambda: [ConstantRadius().radius],
    ),
    Sentence(
        "docs/proving_ground.md", "ISO 13674-1, {} Hz at {} km/h, up to {} m/s²",
        lambda: [
            Weave().frequency, 3.6 * Weave().speed, Weave().a_y,
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "slightly above {} m/s²",
        lambda: [Transition().a_y],
    ),
    Sentence(
        "docs/proving_ground.md", "({} to {} m/s²) and where it turns ({} to {} m/s²)",
        lambda: [
            share * Transition().a_y
            for share in (*linear_handling.CENTRE, *linear_handling.TURNING)
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "between {} and {} g of slow ramps to both sides at {} km/h",
        lambda: [
            *(a_y / transient_response.G for a_y in transient_response.REGRESSION),
            3.6 * SineWithDwell().speed,
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "the larger of {} A and {}° of the steering wheel, at most {}°",
        lambda: [
            SineWithDwell().factors[-1],
            *(degrees(angle) for angle in transient_response.LAST_ANGLES),
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "how fast lateral acceleration grows to {} m/s²",
        lambda: [Transition().a_y],
    ),
    Sentence(
        "docs/proving_ground.md", "{} s of its sine",
        lambda: [(linear_handling.FIRST + Weave().periods) / Weave().frequency],
    ),
    Sentence(
        "docs/learn.md", "near the wall, within {} m and {}°",
        lambda: [PARK.near, degrees(PARK.aligned)],
    ),
    Sentence(
        "docs/learn.md", "a hitch beyond {} rad has jack-knifed", lambda: [PARK.folded]
    ),
    Sentence(
        "docs/learn.md", "with the nose {} rad inside",
        lambda: [default(tasks.drift, "sideslip")],
    ),
    Sentence(
        "docs/learn.md", "`speeds` ({} m/s to {} m/s)",
        lambda: default(tasks.lane_change, "speeds"),
    ),
    Sentence(
        "docs/learn.md", "`ice` ({} to {} of the friction of the road",
        lambda: default(tasks.lane_change, "ice"),
    ),
    Sentence("docs/learn.md", "and {} m for each radian", lambda: [PARK.arm]),
    Sentence(
        "docs/tutorials/formula_student.md", "a motor at each wheel, {} kW in all",
        lambda: [1e-3 * MOTORS.powertrain.P_max],
    ),
    Sentence(
        "docs/tutorials/formula_student.md", "{} m from rest, with the clock started after {} m",
        lambda: [manoeuvres.FormulaAcceleration().way, manoeuvres.FormulaAcceleration().before],
    ),
    Sentence("docs/learn.md", "such a car within {} m", lambda: [SIGHT]),
    Sentence(
        COMMONROAD,
        "(`l_f` {} m, `l_r` {} m, `m` {} kg, `I_z` {} kg·m², `C_f` = `C_r` = {} per rad and load, "
        "`z_cg` {} m)",
        lambda: [getattr(BICYCLE, name) for name in ("l_f", "l_r", "m", "I_z", "C_f", "z_cg")],
    ),
    Sentence(COMMONROAD, "rolling speed below `v_blend` ({} m/s)", lambda: [BICYCLE.v_blend]),
    Sentence(
        COMMONROAD,
        "below `v_kin` ({} m/s) and their tyres above `v_dyn` (ST {} m/s, STD and MB {} m/s)",
        lambda: [
            commonroad("st").params.v_kin, commonroad("st").params.v_dyn,
            commonroad("std").params.v_dyn,
        ],
    ),
    Sentence(
        COMMONROAD,
        "with {} ms (bicycles, KS, KST, ST; the dynamic bicycle needs {} ms to start or stop at "
        "its limit), {} ms (STD) and {} ms (MB); above {} m/s with {} ms (STD) and {} ms (MB)",
        holds=lambda most, dynamic, std, mb, speed, std_fast, mb_fast: (
            all(most <= longest(commonroad(name)) for name in ("ks", "kst", "st"))
            and most <= longest(commonroad("kinematic_bicycle"))
            and takes(commonroad("dynamic_bicycle"))(dynamic)
            and takes(commonroad("std"))(std)
            and takes(commonroad("mb"))(mb)
            and takes_at(commonroad("std"), speed)(std_fast)
            and takes_at(commonroad("mb"), speed)(mb_fast)
        ),
    ),
    Sentence(
        "docs/interop.md", "stable only for steps below {} ms; `formula_student` takes {} ms",
        holds=lambda four, motors: (
            rounded(longest(sp.vehicles.four_wheel()), f"{four:g}")
            and takes(sp.vehicles.formula_student())(motors)
        ),
    ),
    Sentence(
        "docs/interop.md", "have a lag of {} ms, so that `rk4`", lambda: [1e3 * FOUR.t_tau]
    ),
    Sentence(
        "docs/architecture.md", "a time constant of {} ms make an explicit method take steps below "
        "{} ms",
        holds=lambda lag, step: rounded(1e3 * FOUR.t_tau, f"{lag:g}") and longest(
            sp.vehicles.four_wheel()
        ) <= step < 1.2 * longest(sp.vehicles.four_wheel()),
    ),
    Sentence(
        "docs/simulator.md", "`Model.slowest`; {} m/s for `four_wheel`",
        lambda: [sp.vehicles.four_wheel().model.slowest],
    ),
    Sentence(
        "docs/sensors.md",
        "At a steady {} m/s on a circle of {} m the yaw rate is v/R = {} rad/s and the centre of "
        "mass is accelerated by v²/R = {} m/s²",
        holds=lambda v, R, rate, a: (
            rounded(v / R, f"{rate:g}") and rounded(v**2 / R, f"{a:g}")
        ),
    ),
    Sentence(
        "docs/sensors.md", "nose up on a slope of {} % reads f_x = {} · sin(atan({})) = {} m/s²",
        holds=lambda slope, g, tangent, a: (
            0.01 * slope == tangent and rounded(g * sin(atan(tangent)), f"{a:g}")
        ),
    ),
    Sentence(
        "docs/world.md", "up a slope of {} % a robot at {} m/s advances at {} m/s on the map",
        holds=lambda slope, v, far: rounded(v * cos(atan(0.01 * slope)), f"{far:g}"),
    ),
    Sentence(
        "docs/live.md", "reads nothing for {} s is dropped", lambda: [live_app.STUCK]
    ),
    Sentence(
        "docs/live.md", "complete request within {} s is ended", lambda: [live_gate.ASKING]
    ),
    Sentence(
        "docs/live.md", "a `type`, at most {} bytes", lambda: [live_messages.MOST_BYTES]
    ),
    Sentence(
        "docs/errors.md", "recordings that claim more than {} MiB",
        lambda: [mcap.LARGEST_CHUNK / 2**20],
    ),
    Sentence(
        "docs/maps.md", "Formula Student's ({} mm, the orange ones {} mm)",
        lambda: [2e3 * cones.CONE_RADII[colour] for colour in ("blue", "orange")],
    ),
    Sentence(
        "docs/identify.md", "The last {} % of each log is not fitted",
        lambda: [100.0 * fitting.HOLD_OUT],
    ),
    Sentence(
        "docs/identify.md", "but between {} and {} s, or `window`",
        lambda: [problem.SHORTEST_WINDOW, fitting.LONGEST_WINDOW],
    ),
    Sentence(
        "docs/identify.md", "the longest of {}, {}, {} and {} s that the logs contain eight times",
        lambda: list(comparison.WINDOWS),
    ),
    Sentence(
        "docs/identify.md", "windows of {} s, a new one every second",
        lambda: [max(replay.HORIZONS)],
    ),
    Sentence(
        "docs/identify.md", "each delay up to {} s (`longest`)", lambda: [fitting.LONGEST]
    ),
    Sentence(
        "docs/proving_ground.md", "changed by the step ({} %), by half of it",
        lambda: [100.0 * default(manoeuvres.sensitivity, "step")],
    ),
    Sentence(
        "docs/proving_ground.md", "counts as reached within {} % (`tolerance`)",
        lambda: [100.0 * default(manoeuvres.tune, "tolerance")],
    ),
    Sentence(
        "docs/controllers.md", "with the defaults, k = {} and k_yaw = {} s, none",
        lambda: [stanley.Gains().k, stanley.Gains().k_yaw],
    ),
    Sentence("README.md", "its thirteen models", holds=lambda: len(COMMAND_DRIVEN) == 13),
    Sentence(
        "docs/coming_from/autoware.md", "thirteen models", holds=lambda: len(COMMAND_DRIVEN) == 13
    ),
    Sentence(
        "docs/planning_simulator.md", "has thirteen vehicle models",
        holds=lambda: len(COMMAND_DRIVEN) == 13,
    ),
    Sentence(
        "docs/engine.md", "the base point lies {} m ahead",
        lambda: [truck_model().params.base_to_rear],
    ),
    Sentence(
        "docs/engine.md", "a circle of {}° has {} rays",
        lambda: [
            degrees(truck_model().lidar.angle_increment),
            tau / truck_model().lidar.angle_increment,
        ],
    ),
    Sentence(
        "docs/coming_from/mvsim.md", "RK4, in parts of {} ms at most",
        lambda: [1e3 * motion.LONGEST_SUBSTEP],
    ),
    Sentence(
        "docs/coming_from/autoware.md", "the floor of {} s under time constants",
        lambda: [DELAYED.least_time_constant],
    ),
    Sentence(
        "docs/coming_from/autoware.md", "split into updates of at most {} s",
        lambda: [autoware.LONGEST_UPDATE],
    ),
    Sentence(
        "docs/planning_simulator.md", "takes longer than {} s is made of several updates",
        lambda: [autoware.LONGEST_UPDATE],
    ),
    Sentence(
        "docs/coming_from/f1tenth_gym.md", "blends from {} to {} m/s",
        lambda: [commonroad("st").params.v_kin, commonroad("st").params.v_dyn],
    ),
    Sentence(
        "docs/errors.md", "images of more than {} million pixels",
        lambda: [1e-6 * occupancy.MOST_CELLS],
    ),
    Sentence(
        "docs/ros2_nav2.md", "set to zero when older than {} s", lambda: [world_node.OLDEST]
    ),
    Sentence(
        "docs/ros2_nav2.md", "It is dated {} ms ahead", lambda: [1e3 * world_topics.AHEAD]
    ),
    Sentence(
        "docs/ros2.md",
        "odometry and tf at {} Hz and scans of {} rays at {} Hz take {} % of a core; it takes {} "
        "ms from a command to the odometry that reflects it (in 99 % of the cases less than {} "
        "ms); encoding a prepared odometry message takes {} µs, {} times less than with `rosbags` "
        "and {} times less",
        lambda: [
            kept("ros2.robots20")["details"]["messages_per_second_and_robot"]["odom"],
            kept("ros2.robots20")["details"]["rays"],
            kept("ros2.robots20")["details"]["messages_per_second_and_robot"]["scan"],
            100.0 * kept("ros2.robots20")["value"],
            1e3 * kept("ros2.round_trip")["value"],
            1e3 * kept("ros2.round_trip")["details"]["percentile_99"],
            1e6 * kept("ros2.codec")["value"],
            kept("ros2.codec")["ratios"]["rosbags"],
            kept("ros2.codec")["ratios"]["cyclonedds"],
        ],
    ),
    Sentence(
        "docs/gradients.md",
        "{} million steps/s in float64 on one thread of an AMD EPYC, {} of the forward rate and "
        "{} times JAX; a day later {} billion steps/s in float32 on an H200, {} times JAX",
        lambda: [
            1e-6 * kept("gradient.four_wheel.float64.threads1")["value"],
            kept("gradient.four_wheel.float64.threads1")["details"]["of_forward"],
            kept("gradient.four_wheel.float64.threads1")["ratios"]["jax_columns"],
            1e-9 * kept("gradient.four_wheel.float32.cuda", "h200")["value"],
            kept("gradient.four_wheel.float32.cuda", "h200")["ratios"]["jax_columns"],
        ],
    ),
    Sentence(
        "docs/fleet.md",
        "it reaches {} billion steps/s, over one array per field of the whole batch "
        "(`jax_columns`) {}",
        lambda: [
            1e-9 * kept("gradient.four_wheel.float32.cuda", "h200")["value"]
            / kept("gradient.four_wheel.float32.cuda", "h200")["ratios"][peer]
            for peer in ("jax", "jax_columns")
        ],
    ),
    Sentence(
        "docs/fleet.md",
        "at most {}e-6 of a field's scale after 2 000 steps (2 s of driving): `y` {}e-6, `yaw` "
        "{}e-6, `v_y` {}e-6, `omega` {}e-6, `x` {}e-6",
        lambda: [
            1e6 * max(fast_deviations().values()),
            *(1e6 * fast_deviations()[name] for name in ("y", "yaw", "v_y", "omega", "x")),
        ],
    ),
    Sentence(
        "docs/fleet.md", "a million vehicles at {} numbers are {} MB each in float32",
        lambda: [len(FOUR_STATES), 4.0 * len(FOUR_STATES)],
    ),
    Sentence(
        "docs/export.md",
        "| `four_wheel`, RK4 | {} µs | {} µs | {} µs | {} kB |", lambda: in_browser("four_wheel")
    ),
    Sentence(
        "docs/export.md",
        "| `two_track`, Radau | {} µs | {} µs | {} µs | {} kB |", lambda: in_browser("two_track")
    ),
    Sentence(
        "docs/demo.md",
        "all cars hold {} m/s and {}° of slip angle; the radius of the circle depends on the grip, "
        "from {} to {} m",
        lambda: [drift.SPEED, degrees(-drift.SLIP), *drift_radii()],
    ),
    Sentence(
        "docs/demo.md", "with steering commands {}, {} and {} s late",
        lambda: following.DELAYS,
    ),
    Sentence(
        "docs/simulator.md", "a bar after {} s in a terminal",
        lambda: [private(progress, "_PATIENCE")],
    ),
    Sentence(
        "docs/simulator.md", "at speeds from rest to {} m/s", lambda: [max(stability.SPEEDS)]
    ),
    Sentence(
        "docs/simulator.md", "at every speed from {} m/s on is refused",
        lambda: [stability.DRIVING],
    ),
    Sentence(
        "docs/identify.md",
        "in steps of {} ms the time constant of the steering, which is integrated by Euler's "
        "method, is {} ms off",
        holds=lambda step, off: abs(0.5 * step - off) <= 0.5,
    ),
    Sentence(
        "docs/identify.md", "also replayed in steps of {} ms", lambda: [1e3 * fitting.CONTINUOUS]
    ),
    Sentence(
        "docs/identify.md", "below {} s count as {} s in these models",
        lambda: 2 * [DELAYED.least_time_constant],
    ),
    Sentence(
        LEARNING, "the agent acts every {} ms", lambda: [1e3 * Task.dt]
    ),
    Sentence(
        LEARNING,
        "at {} m/s the tightest bend, {} 1/m, takes a friction of {}, which {} % of the roads",
        holds=holds_of_clover,
    ),
    Sentence(
        LEARNING,
        "on {} tracks of `sp.geometry.maps.random_track`, {} m long and {} m wide, with bends of "
        "{} m and more",
        lambda: [
            len(race_example()["TRAINING"]), default(sp.geometry.maps.random_track, "length"),
            race_example()["NARROW"], default(sp.geometry.maps.random_track, "radius"),
        ],
    ),
    Sentence(
        LEARNING, "| period | {} s, in {} steps of the integrator |",
        lambda: [race_example()["PERIOD"], race_example()["SUBSTEPS"]],
    ),
    Sentence(
        LEARNING, "curvature every {} m up to {} m ahead",
        lambda: [race_example()["AHEAD"][0], race_example()["AHEAD"][-1]],
    ),
    Sentence(
        LEARNING, "{} are lost by touching a wall", lambda: [race_example()["CRASH"]]
    ),
    Sentence(
        LEARNING, "It is judged on {} other tracks, {} m wide: {} drives from",
        lambda: [len(race_example()["UNSEEN"]), race_example()["WIDE"], race_example()["LAPS"]],
    ),
    Sentence(
        LEARNING, "A network that trains on tracks of {} m", lambda: [race_example()["NARROW"]]
    ),
    Sentence(
        LEARNING, "so that example trains at {} m", lambda: [race_example()["WIDE"]]
    ),
    Sentence(
        LEARNING, "| steps | {} million | {} million |",
        lambda: [1e-6 * last_row(curve)[1] for curve in CURVES],
    ),
    Sentence(
        LEARNING, "| time, including evaluation | {} s | {} s |",
        lambda: [last_row(curve)[0] for curve in CURVES],
    ),
    Sentence(
        LEARNING, "| laps on unseen tracks | {} % of 64, {} s on average |",
        lambda: [100.0 * last_row(CURVES[0])[3], last_row(CURVES[0])[4]],
    ),
    Sentence(
        LEARNING,
        "this took {} s, including evaluation, for {} million steps: {} % of 64 laps on unseen "
        "tracks, in {} s on average. The simulation alone made {} million steps/s, learning alone "
        "{} million",
        lambda: [
            scale * last_row("race_ppo_gpu.csv")[at]
            for at, scale in ((0, 1.0), (1, 1e-6), (3, 100.0), (4, 1.0), (6, 1e-6), (7, 1e-6))
        ],
    ),
    Sentence("docs/learn.md", "At the task's usual {} s a decision", lambda: [Task.dt]),
    Sentence(
        "docs/live.md", "A recording takes at most {} MB", lambda: [1e-6 * recorded_by_page()]
    ),
    Sentence(
        "docs/live.md", "in a world its step, in sub-steps of {} ms",
        lambda: [1e3 * motion.LONGEST_SUBSTEP],
    ),
    Sentence("docs/maps.md", "`half_width` is {} m unless given", lambda: [cones.HALF_WIDTH]),
    Sentence(
        "docs/world_files.md", "bodies at least {} mm large", lambda: [1e3 * markup.SMALLEST]
    ),
    Sentence(
        "docs/world_files.md", "`simul_timestep` 0 ({} ms", lambda: [1e3 * Scene().timestep]
    ),
    Sentence(
        "docs/policy.md", "with 64 drives each took {} to {} s",
        lambda: [most(run["seconds"] for run in policy_gradient()["runs"]) for most in (min, max)],
    ),
    Sentence(
        "docs/world.md", "a progress bar appears after {} s in",
        lambda: [private(progress, "_PATIENCE")],
    ),
    Sentence(
        "docs/world.md", "by RK4 in equal parts of {} ms at the longest",
        lambda: [1e3 * motion.LONGEST_SUBSTEP],
    ),
    Sentence(
        "docs/world.md", "in parts of {} mm where it is about to touch",
        lambda: [1e3 * solver.NEARLY],
    ),
    Sentence(
        "docs/world.md", "at the start by more than {} mm", lambda: [1e3 * vehicle.DEEP]
    ),
    Sentence(
        "docs/world.md", "both torques by {} N·m | left torque down, right up by {} N·m",
        lambda: 2 * [keyboard.steps_of("differential", "raw").torque],
    ),
    Sentence(
        "docs/world.md", "| `twist_pid`, `twist_ideal` | `v` by {} m/s | `omega` by {}°/s",
        lambda: moved(keyboard.steps_of("differential", "twist_pid")),
    ),
    Sentence(
        "docs/world.md", "| `twist_front_steer_pid` | `v` by {} m/s | `omega` by {}°/s",
        lambda: moved(keyboard.steps_of("ackermann", "twist_front_steer_pid")),
    ),
    Sentence(
        "docs/world.md", "| `front_steer_pid` | `v` by {} m/s | `steer` by {}°",
        lambda: [keyboard.Steps().v, degrees(keyboard.Steps().steer)],
    ),
    Sentence(
        "docs/world.md", "torques by {} N·m | `steer` by {}° | torques 0",
        lambda: [
            keyboard.steps_of("ackermann", "raw").torque, degrees(keyboard.Steps().steer),
        ],
    ),
    Sentence(
        "docs/world.md",
        "with `velocity` | by {} m/s | `steer` by {}° or `curvature` by {} 1/m",
        lambda: [keyboard.OWN.v, degrees(keyboard.OWN.steer), keyboard.OWN.curvature],
    ),
    Sentence(
        "docs/world.md", "with `acceleration` | by {} m/s² | `steer` by {}°",
        lambda: [keyboard.OWN.acceleration, degrees(keyboard.OWN.steer)],
    ),
    Sentence(
        "docs/world.md", "with torques `tau_...` | all by {} N·m | `steer` by {}°",
        lambda: [keyboard.OWN.torque, degrees(keyboard.OWN.steer)],
    ),
    Sentence(
        "docs/roads.md", "the wavelengths of the norm ({} m to {} m)",
        lambda: iso8608.WAVELENGTHS,
    ),
    Sentence(
        "docs/roads.md", "(RK4 in parts of {} ms at the longest",
        lambda: [1e3 * motion.LONGEST_SUBSTEP],
    ),
    Sentence(
        "docs/uncertainty.md",
        "an upper end of the {} % quantile with a confidence of {} % needs {} runs",
        holds=lambda share, confidence, runs: (
            runs == runs_for_quantile(0.01 * share, 0.01 * confidence)
        ),
    ),
    Sentence(
        "docs/lap.md", "are rounded within {} % of the typical size",
        lambda: [100.0 * optimal_vehicle.ROUNDING],
    ),
    Sentence("docs/tyres.md", "`v_x` ({} m/s)", lambda: [default(sp.tyres.Tyre.forces, "v_x")]),
    Sentence(
        "docs/tyres.md", "with damping below {} m/s that depends",
        lambda: [sp.vehicles.two_track(slip=FirstOrderSlip()).params.slip.low.v_low],
    ),
    Sentence(
        "docs/tyres.md", "rubber wheel of {} cm under",
        lambda: [200.0 * sp.tyres.get("robot").record.dimension.UNLOADED_RADIUS],
    ),
    Sentence(
        "docs/tyres.md", "(rows within {} N, {}° and {} kPa of a step",
        lambda: [
            measurements.BINS["F_z"], degrees(measurements.BINS["gamma"]),
            1e-3 * measurements.BINS["p"],
        ],
    ),
    Sentence(
        "docs/tyres.md", "| pure F_x | slip angle below {}°",
        lambda: [degrees(stages.PURE_ALPHA)],
    ),
    Sentence(
        "docs/tyres.md", "| combined F_x | slip angle from {}° on",
        lambda: [degrees(stages.PURE_ALPHA)],
    ),
    Sentence(
        "docs/tyres.md", "Rows below {} % of the largest load",
        lambda: [100.0 * private(least_squares, "_LEAST_LOAD")],
    ),
    Sentence(
        "docs/bodies.md", "Below {} m/s, a velocity set by `placed` need not be preserved",
        lambda: [testing_body.SPEED],
    ),
    Sentence(
        "docs/bodies.md", "is checked by its change over {} ms", lambda: [1e3 * testing_body.DT]
    ),
    Sentence(
        "docs/recording.md", "| `/tf` | `foxglove.FrameTransforms` | up to {} Hz",
        lambda: [recorder.SHOWN_RATE],
    ),
    Sentence(
        "docs/recording.md", "`foxglove.PoseInFrame` | up to {} Hz | vehicles; of more than {} all",
        lambda: [recorder.SHOWN_RATE, topics.CROWD],
    ),
    Sentence(
        "docs/recording.md", "| `/NAME/imu` | `skidpad.Imu` | up to {} Hz",
        lambda: [recorder.SHOWN_RATE],
    ),
    Sentence(
        "docs/recording.md", "every sample, up to {} Hz",
        lambda: [recorder.ODOMETRY_RATE],
    ),
    Sentence(
        "docs/recording.md", "of the span of their channel ({} mm in {} km)",
        holds=lambda step, span: rounded(1e6 * span * 2.0**-film.POSE_BITS, f"{step:g}"),
    ),
    Sentence(
        "docs/architecture.md", "call that may take more than {} ms runs in the pool",
        lambda: [1e3 * private(host, "_LONG")],
    ),
    Sentence(
        CAMPAIGNS, "chunks of `T` seconds ({} s)", lambda: [campaign.CHUNK_SECONDS]
    ),
    Sentence(
        CAMPAIGNS, "cluster up and kernels cached | {} of the bare fleet; starting took {} s",
        lambda: [
            kept("campaign.ray")["ratios"]["the bare fleet"],
            kept("campaign.ray")["details"]["start_s"],
        ],
    ),
    Sentence(
        CAMPAIGNS, "| {} MB at the peak of a million short runs | {} times that",
        lambda: [
            kept("campaign.memory")["details"]["peaks_MB"][-1], kept("campaign.memory")["value"],
        ],
    ),
    Sentence(
        CAMPAIGNS, "A run took {} bytes there",
        lambda: [
            kept("campaign.ray")["details"]["bytes"] / kept("campaign.ray")["details"]["runs"]
        ],
    ),
    Sentence(
        CAMPAIGNS, "a million runs of {} s in {} s, too few to justify a cluster",
        holds=lambda each, all_of_them: (
            rounded(1e6 / runs_a_second(), f"{all_of_them:g}")
            and each == 1e-3 * kept("campaign.local")["details"]["steps"]
        ),
    ),
    Sentence(
        CAMPAIGNS, "at {} MB a second to one place", lambda: [38e-6 * runs_a_second()]
    ),
    Sentence(
        CAMPAIGNS, "{} processors with chunks of {} s need {}.",
        holds=lambda processors, chunk, asked: asked == processors / chunk,
    ),
    Sentence(
        "docs/tutorials/validation.md", "the step steer goes to {} m/s²", lambda: [StepSteer().a_y]
    ),
    Sentence("docs/ros2.md", "If time stands still for {} s", lambda: [waiting_loop().patience]),
    Sentence(
        "docs/simulator.md", "too long for an explicit method: 10 ms with actuators of {} ms",
        lambda: [1e3 * FOUR.t_tau],
    ),
    Sentence(
        "docs/learn.md", "Success is an episode of {} s without a crash",
        lambda: stable_baselines()[:1],
    ),
    Sentence(
        "docs/learn.md", "a period is {} s, an episode at most {} of them",
        lambda: [stable_baselines()[1], stable_baselines()[0] / stable_baselines()[1]],
    ),
    Sentence(
        "docs/sensors.md", "a winding corridor, mean range {} m",
        lambda: [kept("lidar.grid1600")["details"]["mean_range"]],
    ),
    Sentence(
        "docs/sensors.md", "units could do {} billion rays/s: the kernel reaches {} of that",
        holds=lambda most, share: rounded(
            1e-9 * kept("lidar.cuda.segments1000", "h200")["value"] / most, f"{share:g}"
        ),
    ),
    Sentence(
        "docs/tyres.md", "compiled code returns the result in about {} µs",
        lambda: [1e6 * kept("tyre.call")["value"]],
    ),
    Sentence(
        "docs/tyres.md", "Steps of RK4 up to {} ms follow it to the limit",
        holds=takes(sp.vehicles.two_track(slip=FirstOrderSlip())),
    ),
    Sentence(
        "docs/recording.md", "| 100 robots at {} Hz of their time",
        lambda: [recorder.RATE],
    ),
    Sentence(
        "docs/recording.md", "and states at {} Hz: first", lambda: [recorder.RATE]
    ),
    Sentence("docs/recording.md", "A car with 45 channels at {} Hz", lambda: [page.FPS]),
    Sentence(
        "docs/architecture.md", "Copied it is {} % faster in lanes",
        holds=lambda faster: rounded(100.0 * (298.0 / 284.0 - 1.0), f"{faster:g}"),
    ),
    Sentence(
        LEARNING, "at a crawl, was there after {} s", lambda: [first_whole("race_ppo_gpu.csv")]
    ),
    Sentence(
        LEARNING, "or by standing for {} s", lambda: [flying_start().params.patience]
    ),
    Sentence(
        LEARNING, "anywhere on any of the tracks, at {} to {} m/s",
        lambda: [flying_start().draws["v"].low, flying_start().draws["v"].high],
    ),
    Sentence(
        ERRATA, "centre of mass {} mm further back (l_r = {} m, l_f = {} m)",
        holds=lambda back, l_r, l_f: (
            abs(l_f + l_r - FOUR.l_f - FOUR.l_r) < 1e-9
            and rounded(1e3 * (l_f - FOUR.l_f), f"{back:g}")
        ),
    ),
    Sentence(
        ERRATA, "the step: {} mrad per {} ms, {} rad/s where",
        holds=lambda each, period, rate: rounded(each / period, f"{rate:g}"),
    ),
    Sentence(
        ERRATA, "split into updates of at most {} s, the least",
        lambda: [autoware.LONGEST_UPDATE],
    ),
    Sentence(
        ERRATA, "time constants below {} s count as {} s",
        lambda: 2 * [DELAYED.least_time_constant],
    ),
    Sentence(
        ERRATA, "steering limits are reported as atan2(κ, L) = {} rad | atan(κ L) = {} rad",
        lambda: [
            atan(tan(sp.Engine().middle_steering_limit) / TRUCK.wheel_base**2),
            sp.Engine().middle_steering_limit,
        ],
    ),
    Sentence(
        ERRATA,
        "commanded to stop from {} m/s on ice (friction {}) has not stopped after 8 m | the "
        "torque is that of the spin at the end of the step: the robot stops in the {} m given by "
        "friction",
        holds=lambda v, mu, far: rounded(v**2 / (2.0 * mu * 9.81), f"{far:g}"),
    ),
    Sentence(
        ERRATA, "w = {} m, l = {} m, α = {} rad: outer {} and inner −{} rad in place of {} and {} "
        "rad",
        holds=lambda w, base, alpha, *shown: all(
            rounded(angle, f"{number:.3f}")
            for angle, number in zip(front_angles(w, base, alpha), shown, strict=True)
        ),
    ),
    Sentence(
        ERRATA, "w = {} m, l = {} m, R = {} m: {} in place of {} rad, a circle of {} m",
        holds=lambda w, base, R, wrong, right, circle: (
            rounded(atan(w / R), f"{wrong:g}")
            and rounded(atan(base / R), f"{right:g}")
            and rounded(base * R / w, f"{circle:g}")
        ),
    ),
    Sentence(
        ERRATA, "floor on the rolling speed below {} m/s", lambda: [BICYCLE.v_blend]
    ),
    Sentence(
        ERRATA, "beyond lift-off ({} m/s² for the BMW)",
        lambda: [BICYCLE.g * BICYCLE.l_r / BICYCLE.z_cg],
    ),
    Sentence(
        ERRATA, "a blend from {} to {} m/s (STD, MB: {} m/s)",
        lambda: [
            commonroad("st").params.v_kin, commonroad("st").params.v_dyn,
            commonroad("mb").params.v_dyn,
        ],
    ),
    Sentence(
        ERRATA, "ST and STD is that of the sprung mass ({} m)",
        lambda: [commonroad("st").params.h_s],
    ),
]  # fmt: skip
