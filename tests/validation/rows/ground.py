"""Roads and suspensions beside ISO 8608, closed forms and transfer functions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import skidpad as sp
from skidpad.road import psd
from skidpad.road import road as iso8608
from validation.rows.row import Row, compared
from vehicles.parts.test_quarter_car import C, K, P, linear
from vehicles.test_full_car_road import driven, response, rolling
from vehicles.test_on_road import acceleration, ahead, with_gravity

G = 9.81
COUNT, STEP = 1 << 16, 0.05
ISO8608 = "ISO 8608:2016, G_d(n_0) of the class, n_0 = 0.1 1/m"
CLASSES = {"A": 16e-6, "B": 64e-6, "C": 256e-6, "D": 1024e-6}
"""Geometric means of displacement densities at 0.1 1/m in m³, from the table of the norm."""


def roughness() -> Iterator[Row]:
    """Density of a long road of each class, a mean over frequencies.

    A mean of N exponentially distributed densities is certain to 1 / sqrt(N); three times that is
    the tolerance.
    """
    n = np.fft.rfftfreq(COUNT, STEP)
    used = (n >= 0.011) & (n <= 2.83)
    sure = 3.0 / math.sqrt(np.count_nonzero(used))
    for letter, density in CLASSES.items():
        heights = iso8608.track_heights(letter, ord(letter), COUNT, STEP, np.array([0.0]))[:, 0]
        seen = np.abs(np.fft.rfft(heights)) ** 2 * (2.0 * STEP / COUNT)
        ours = float(np.mean(seen[used] * (n[used] / 0.1) ** 2))
        subject, quantity = f"road of class {letter}", "displacement density at 0.1 1/m (m³)"
        yield compared(subject, quantity, ISO8608, density, ours, round(sure, 3))
        source = "ISO 8608:2016: falls with n^-2"
        ratio = psd(1.0, letter) / psd(0.1, letter)
        quantity = "density at 1 1/m over that at 0.1 1/m (1)"
        yield compared(subject, quantity, source, 0.01, ratio, 1e-12)


def slopes_and_banks() -> Iterator[Row]:
    """Gravity on planes, of vehicles without a road of their own."""
    grade = math.atan(0.12)
    for name in ("four_wheel", "formula_student", "single_track", "commonroad_st"):
        level = sp.vehicles.get(name)()
        x = ahead(level, 12.0)
        on_grade = sp.vehicles.on_road(level, sp.Road.plane(slope=0.12))
        flat = with_gravity(level, G * math.cos(grade))
        pulled = acceleration(on_grade, x)[1] - acceleration(flat, x)[1]
        quantity = "acceleration by a grade of 12 % (m/s²)"
        source = "closed form: -g sin(grade)"
        yield compared(name, quantity, source, -G * math.sin(grade), pulled, 1e-9)
    v, radius = 20.0, 150.0
    bank = math.atan(v * v / (G * radius))
    for name in ("four_wheel", "formula_student", "single_track"):
        level = sp.vehicles.get(name)()
        x = ahead(level, v)
        banked = sp.vehicles.on_road(level, sp.Road.plane(bank=-math.tan(bank)))
        tyres = acceleration(with_gravity(level, G * math.cos(bank)), x)[0].v_y
        across = acceleration(banked, x)[0].v_y - tyres
        want, source = v * v / radius * math.cos(bank), "closed form: tan(bank) = v² / (g R)"
        quantity = "side acceleration without tyres, 20 m/s on R = 150 m (m/s²)"
        yield compared(name, quantity, source, want, across, 1e-9)


def quarter_car() -> Iterator[Row]:
    """Body and wheel over road, from the exact Jacobian beside the textbook."""
    A, b, b_rate = linear()
    for f in (1.2, 11.0):
        s = 2j * math.pi * f
        answer = np.linalg.solve(s * np.eye(4) - A, b + s * b_rate)
        between, tyre = C * s + K, P.c_t * s + P.k_t
        over = P.m_s * s**2 + between
        D = over * (P.m_u * s**2 + between + tyre) - between**2
        source = "two masses on springs and dampers, closed form"
        for name, place, want in (("body", 0, between * tyre / D), ("wheel", 1, over * tyre / D)):
            quantity = f"{name} over road at {f:g} Hz, modulus (1)"
            yield compared("quarter car", quantity, source, abs(want), abs(answer[place]), 1e-9)


def waves() -> Iterator[Row]:
    """A whole car driven over small waves: its body shakes as its linear suspension says."""
    v, amplitude = 12.0, 1e-3
    for wavelength in (2.0, 8.0):
        car = rolling(sp.Road.waves(amplitude, wavelength))
        f = v / wavelength
        tail = slice(-round(10.0 / f / 0.001), None)
        seen = 0.5 * np.ptp(driven(car, v, 16.0)["a_z"][tail])
        want = amplitude * abs(response(car.params, v, np.array([f]))[0])
        quantity = f"vertical acceleration over waves of 1 mm and {wavelength:g} m (m/s²)"
        source = "transfer function of seven linear degrees of freedom"
        yield compared("full_car", quantity, source, want, seen, 5e-3)


def standing() -> Iterator[Row]:
    """Held by its brakes on a slope: tyres give way like springs, and nothing creeps."""
    slope = 0.2
    angle = math.atan(slope)
    car = sp.vehicles.formula_student(road=sp.Road.plane(slope=slope))
    p = car.params
    brakes = {f"brake_{w}": 500.0 for w in ("fl", "fr", "rl", "rr")}
    sim = sp.Simulator(car, dt=0.001)
    sim.reset()
    sim.run(brakes, duration=3.0)
    out = car.outputs(sim.state, car.Input(**brakes))
    held = sum(getattr(out, f"F_x_{w}") for w in ("fl", "fr", "rl", "rr"))
    quantity, source = "force that holds it on a slope of 20 % (N)", "closed form: m g sin(slope)"
    yield compared(car.name, quantity, source, p.m * G * math.sin(angle), held, 1e-4)
    before = sim.state.x
    sim.run(brakes, duration=10.0)
    quantity = "creep in 10 s on a slope of 20 % (m)"
    source = "closed form: no creep"
    yield compared(car.name, quantity, source, 0.0, sim.state.x - before, 1e-6, scale=1.0)
