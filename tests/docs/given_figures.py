"""Which pages are watched, and which of their figures nothing computes."""

from __future__ import annotations

from pages import PAGES, ROOT

ELSEWHERE = {
    "docs/api.md",
    "docs/performance.md",
    "docs/validation.md",
    "docs/validation_real.md",
}
"""Pages that are not watched, for which `test_figures.py` has the reasons."""
WATCHED = sorted({path.relative_to(ROOT).as_posix() for path in PAGES} - ELSEWHERE)
GIVEN = {
    "README.md": "95 %",
    "docs/architecture.md": "10 ms, 1 ms, 0.2 s, 29 s, 3.1 s, 2.6 s, 18 s, 0.1 s",
    "docs/campaigns.md": "1.4 billion, 1.4 billion, 2 ms, 10 ms",
    "docs/coming_from/acados_do_mpc.md": "20 m/s, 4 s, 0.02 mm",
    "docs/coming_from/autoware.md": "0 s, 0.4 s",
    "docs/coming_from/carmaker.md": "1 ms",
    "docs/coming_from/commonroad_control.md": "0.14 s, 0.02 s, 0.1 s",
    "docs/coming_from/f1tenth_gym.md": "1 m/s, 0.5 m/s, 0.18 °, 30 m, 0.01 s",
    "docs/coming_from/mvsim.md": "0.75 m/s, 1 rad/s, 0.09 s",
    "docs/commonroad_vehicles.md": (
        "2 s, 4 s, 1.6 million, 10 ms, 1 ms, 9 µs, 70 µs, 0.14 s, 0.14 s, 0.02 s, 0.02 s, 0.0025 s"
    ),
    "docs/controllers.md": (
        "20 m/s, 0.1 s, 0.1 m, 30 m/s, 90 %, 4 ms, 1.3 ms, 40 ms, 40 ms, 1.2 s, 44 ms, 2 ms, "
        "4 m, 22 m/s, 42 ms, 108 ms, 5 ms, 14 s, 1.42 m, 0.96 m"
    ),
    "docs/driver_aids.md": "25 m/s, 80 km/h, 35 %, 1.75 s, 20 %, 1.07 s, 1.83 m",
    "docs/errata.md": (
        "0.1 m/s, 0.1 m/s, 1 ms, 689 N·m, 15 m/s, 15 m/s, 15 m/s, 0.25 rad, 2.8 m/s, "
        "11.6 m/s, 0.3 rad, 0.3 rad, 5 m/s, 0.4 s, 0.041 rad, 0.039 rad, 1.43 m/s, 1.31 m/s, "
        "3 m/s, 317 N, 437 N, 10 m/s, 3.70 m/s², 100 N·m, 20 m/s, 20 m/s, 8.6 m/s², "
        "17.1 m/s², 1.0 m/s², 1 rad/s, 0.6291 m, 384 m/s², 9.6 m/s, 0 s, 0 s, 1 s, 0 m/s², "
        "0.5 m/s, 0.35 rad, 5 cm, 9.81 m/s², 30 %, 4.5 %, 2 m/s, 1 rad, 0.52 rad, 3.4 m/s, "
        "10 rad/s, 0.6 rad, 5 m, 0.3 m/s, 1.6 m/s², 90 °, 0.575 m, 2.5 m/s, 9300 m/s, 20 s, "
        "7.4 m/s, 2 %, 9 %, 0.03 rad, 0.03 rad, 5.7 %, 4 m/s, 0.3 %, 0.54 m/s², 7 %, "
        "27 rad/s, 1000 N, 0.001 N, 0.1 mm"
    ),
    "docs/estimators.md": (
        "6 s, 200 s, 95 %, 95 %, 97.5 %, 30 s, 20 m/s, 4.3 m/s², 4.3 m/s², 4.3 m/s², 32 %, 100 %, "
        "100 %, 100 %, 100 %, 6.4 m/s², 9.4 m/s², 96 %, 1.6 m/s², 86 %, 8 µs, 8 µs, 35 µs, 11 µs, "
        "13 µs, 40 µs, 15 µs, 5 µs, 31 µs, 23 µs"
    ),
    "docs/export.md": "3.7 MB, 1 GB, 42 kB, 944 bytes, 19 kB, 720 bytes, 250 kB",
    "docs/fleet.md": "0.3 s, 1 ms, 1 ms, 10 m/s",
    "docs/getting_started.md": "10 ms, 10 ms, 10 m/s",
    "docs/identify.md": (
        "95 %, 95 %, 0.1 %, 60 s, 0.2 s, 0.5 s, 95 %, 100 %, 0.005 rad/s, 30 m/s, 14 m/s, 14 m/s, "
        "14 m/s, 22 m/s, 84 %"
    ),
    "docs/installation.md": "740 MB",
    "docs/interop.md": (
        "6 s, 2 mm, 10 ms, 30 %, 25 %, 2.5 s, 0.3 %, 3 s, 0.3 GB, 15 s, 0.7 GB, 8 s, 0.4 GB, "
        "0.4 GB, 5 s, 23 s, 0.6 GB, 20 GB"
    ),
    "docs/lap.md": "77.791438 s, 78.106952 s, 50 km/h, 77.928940 s",
    "docs/learn.md": "45 s, 160 m, 0.05 s",
    "docs/live.md": "4 bytes, 0.01 s, 1.2 MB",
    "docs/logs.md": "5 %, 5 %, 15 %, 95 %, 95 %, 0.5 s, 2 Hz",
    "docs/maps.md": "12 mm, 96 mm, 0.9 m",
    "docs/planning_simulator.md": "0 s, 0.5 rad/s",
    "docs/plots.md": "2 ms",
    "docs/policy.md": (
        "100 Hz, 1 kHz, 15 m/s, 15 m/s, 4.2 million, 10 ms, 0.25 µs, 3 s, 3 s, 1.4 µs, 6 s, "
        "0.35 µs, 2 s, 3.6 µs, 29 s, 0.09 µs, 1 s, 1 s, 0.6 µs, 0.33 µs, 0.57 µs, 12 m/s, "
        "4 s, 4 s, 2 m"
    ),
    "docs/proving_ground.md": (
        "270 °, 4 m/s², 10 %, 10 %, 15 s, 15 s, 3 s, 5 %, 5 %, 95 %, 2 m, 0.01 %, 0.01 %, "
        "3 %, 3 %, 1 %, 1 %, 1 %, 0.2 %, 62 km/h, 72 km/h, 91 km/h, 124 km/h, 15 m, 30 m, "
        "1 m, 20 %, 0.05 %, 25 %, 10 m"
    ),
    "docs/recording.md": (
        "100 Hz, 100 Hz, 85 µs, 11 µs, 28 kB, 41 kB, 1.6 kB, 1 kHz, 1.2 µs, 260 bytes, "
        "2.9 µs, 0.5 s, 0.5 s, 10 ms, 10 Hz, 10 Hz, 103 kB, 189 kB, 95 µs, 584 kB, 1.34 MB, "
        "217 µs, 368 kB, 453 kB, 56 µs, 1.40 MB, 3.17 MB, 109 µs, 99 µs, 202 µs, 657 µs, "
        "1.5 µs, 2.5 µs, 8.7 µs, 4.4 ms, 12.7 ms, 2.2 s, 54 MB, 0.3 MB, 3 MB, 20 ms"
    ),
    "docs/roads.md": "0.1 m, 0.75 m",
    "docs/ros2_nav2.md": "100 Hz, 10 Hz",
    "docs/ros2_planning.md": "0 s, 0 s",
    "docs/ros2_vehicle.md": "0.3 rad, 270 °, 40 Hz",
    "docs/sensors.md": "1 s, 3 s, 50 m, 0.3 m, 0.18 °",
    "docs/simulator.md": "0.2 rad, 0.005 s, 0.3 s, 1 m",
    "docs/trailers.md": "70 kg, 0.6 m",
    "docs/tutorials/identification.md": "40 ms, 0.6 s, 21 %, 10 %",
    "docs/tutorials/control.md": "3.5 m, 2.5 s",
    "docs/tutorials/learning.md": (
        "84 %, 21.5 s, 89 %, 17.3 s, 20 s, 56 %, 95 %, 95 %, 6 m, 50 m, 86 %, 81 %, 84 s"
    ),
    "docs/tutorials/robotics.md": "0.1 m",
    "docs/tutorials/validation.md": "0.01 %, 5 %",
    "docs/tyres.md": "95 %, 90 °, 0.6 %, 0.7 %, 1.6 %, 0.4 %",
    "docs/uncertainty.md": "5 cm",
    "docs/vehicles.md": (
        "1 ms, 1 ms, 1 ms, 1 ms, 0.15 m/s, 1 cm/s, 95 %, 0.1 m/s, 20 %, 2 s, 8 s, 1 mm/s, 4 s"
    ),
    "docs/world.md": "5 ms, 5 ms, 1 m/s, 1 m/s, 5000 km, 3 m/s, 0.3 m, 45 °, 4 m, 10 Hz",
}
"""Figures of the watched pages that are set, quoted, measured on a machine or bounds of another
test, by page."""
