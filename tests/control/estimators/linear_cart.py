"""A linear vehicle with one unknown parameter, and the textbook estimators of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import skidpad as sp
from skidpad import units as si

DT = 0.1
T = 60


class State(NamedTuple):
    """Of a cart on a spring, with a slow third state."""

    s: si.m = 0.0
    v: si.m_s = 0.0
    b: si.one = 0.0


class Input(NamedTuple):
    """What pulls it."""

    a: si.m_s2 = 0.0


class Params(NamedTuple):
    """Coupling and a constant push."""

    g: si.one = 0.3
    c: si.one = 0.0


class Outputs(NamedTuple):
    """What is measured besides the position."""

    mix: si.one


def update(x: State, u: Input, w: Any, p: Params, dt: Any) -> State:
    return State(
        x.s + dt * x.v + 0.5 * dt * dt * u.a,
        0.98 * x.v + dt * u.a - 0.1 * x.s + p.c,
        0.9 * x.b + p.g * x.v,
    )


def outputs(x: State, u: Input, w: Any, p: Params) -> Outputs:
    return Outputs(x.s - 2.0 * x.b + 0.1 * u.a)


MODEL = sp.Model(
    name="cart",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=Outputs,
    update=update,
    outputs=outputs,
)
CART = sp.Vehicle(MODEL, Params())

A = np.array([[1.0, DT, 0, 0], [-0.1, 0.98, 0, 1], [0, 0.3, 0.9, 0], [0, 0, 0, 1]])
B = np.array([0.5 * DT * DT, DT, 0, 0])
C = np.array([[1.0, 0, 0, 0], [1, 0, -2, 0]])
FEED = np.array([0.0, 0.1])
Q = np.diag(np.array([0.1, 0.2, 0.3, 0.05]) ** 2 * DT)
R = np.array([0.5, 0.4])
START = np.array([1.0, 2.0, 0.0, 0.0])
SPREAD = np.array([1.0, 2.0, 0.5, 0.3])
OPTIONS: dict[str, Any] = {
    "parameters": {"c": 0.05},
    "process": {"s": 0.1, "v": 0.2, "b": 0.3},
    "deviations": {"s": 1.0, "v": 2.0, "b": 0.5, "c": 0.3},
}
MEASURED = {"s": 0.5, "mix": 0.4}


def log() -> tuple[np.ndarray, np.ndarray]:
    """Inputs (T, 1) and measurements (T, 2), some of them missing."""
    rng = np.random.default_rng(0)
    u, y = rng.normal(size=(T, 1)), rng.normal(size=(T, 2))
    y[5, 0] = y[9, 1] = np.nan
    y[7] = np.nan
    return u, y


def filtered() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, covariances and normalised innovations squared of the Kalman filter."""
    u, y = log()
    x, P = START, np.diag(SPREAD**2)
    means, covariances, nis = [x], [P], [0.0]
    for k in range(T):
        x, P = A @ x + B * u[k, 0], A @ P @ A.T + Q
        there = np.isfinite(y[k])
        H = C[there]
        e = y[k, there] - H @ x - FEED[there] * u[k, 0]
        S = H @ P @ H.T + np.diag(R[there] ** 2)
        K = P @ H.T @ np.linalg.inv(S)
        x, P = x + K @ e, P - K @ S @ K.T
        means.append(x)
        covariances.append(P)
        nis.append(e @ np.linalg.solve(S, e))
    return np.array(means), np.array(covariances), np.array(nis)


def smoothed() -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances given all measurements, by least squares over the whole log.

    Every state at every time is an unknown of one dense system of equations.
    """
    u, y = log()
    n = 4
    rows, right = [np.eye(n, n * (T + 1)) / SPREAD[:, None]], [START / SPREAD]
    noise = np.sqrt(np.diag(Q))
    for k in range(T):
        step = np.zeros((n, n * (T + 1)))
        step[:, n * k : n * k + n] = -A
        step[:, n * k + n : n * k + 2 * n] = np.eye(n)
        rows.append(step / noise[:, None])
        right.append(B * u[k, 0] / noise)
        look = np.zeros((2, n * (T + 1)))
        look[:, n * k + n : n * k + 2 * n] = C
        there = np.isfinite(y[k])
        rows.append(look[there] / R[there, None])
        right.append((y[k] - FEED * u[k, 0])[there] / R[there])
    matrix, values = np.vstack(rows), np.concatenate(right)
    covariance = np.linalg.inv(matrix.T @ matrix)
    means = (covariance @ (matrix.T @ values)).reshape(T + 1, n)
    blocks = [covariance[n * k : n * k + n, n * k : n * k + n] for k in range(T + 1)]
    return means, np.array(blocks)
