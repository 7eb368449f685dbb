"""Models that cannot be: the error names the argument, the value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.random import (
    Gaussian,
    Joined,
    NoUncertainty,
    OrnsteinUhlenbeck,
    Recorded,
    Truncated,
    Uniform,
    by_name,
)
from skidpad.random.distributions import GaussianDistribution, UniformDistribution
from skidpad.vehicles.formula import External, State

NAN, INF = math.nan, math.inf
CASES: list[tuple[Callable[[], Any], str]] = [
    # lengths
    (lambda: NoUncertainty(3, [1.0, 2.0]), r"nominal_value has shape \(2,\); allowed are 3"),
    (lambda: Gaussian([0.0, 1.0], [1.0, 1.0, 1.0]), r"std has shape \(3,\); allowed are 2 numbers"),
    (lambda: Gaussian([0.0, 1.0], 1.0, dim=3), r"mean has shape \(2,\); allowed are 3 numbers"),
    (
        lambda: GaussianDistribution(2, [0.0] * 3, [1.0] * 3),
        r"mean has shape \(3,\); allowed are 2",
    ),
    (
        lambda: GaussianDistribution(3, [0.0] * 2, [1.0] * 3),
        r"mean has shape \(2,\); allowed are 3",
    ),
    (lambda: GaussianDistribution(3, [0.0] * 3, [1.0]), r"std has shape \(1,\); allowed are 3"),
    (lambda: Gaussian([0.0, 1.0], 1.0, nominal_value=[0.0]), r"nominal_value has shape \(1,\)"),
    (lambda: Gaussian([[0.0, 1.0]], 1.0), r"mean has shape \(1, 2\); allowed are 1 numbers"),
    (
        lambda: Gaussian([0.0, 1.0], covariance=np.eye(3)),
        r"covariance has shape \(3, 3\); it must be",
    ),
    (
        lambda: Gaussian([0.0, 1.0], covariance=[1.0, 1.0]),
        r"covariance has shape \(2,\); it must be",
    ),
    (lambda: Uniform([0.0, 1.0], [1.0, 2.0, 3.0]), r"upper has shape \(3,\); allowed are 2"),
    (lambda: UniformDistribution(3, [0.0] * 2, [1.0] * 3), r"lower has shape \(2,\); allowed"),
    (lambda: Truncated(0.0, 1.0, [0.0, 1.0], [1.0]), r"upper has shape \(1,\); allowed are 2"),
    (lambda: OrnsteinUhlenbeck([0.0, 0.0], 1.0, [1.0]), r"time_constant has shape \(1,\); allowed"),
    (
        lambda: Gaussian([0.0] * 3, 1.0, fields=External),
        r"mean has shape \(3,\); allowed are 4 numbers: F_x, F_y, M_z, mu_scale",
    ),
    (lambda: NoUncertainty(3, fields=External), "dim = 3 but there are 4 fields: F_x"),
    # dim
    (lambda: NoUncertainty(-1), "dim = -1 must be at least 0"),
    (lambda: NoUncertainty(2.5), "dim = 2.5 must be a whole number, at least 0"),  # type: ignore[arg-type]
    # numbers
    (lambda: Gaussian([0.0, NAN], 1.0), r"mean\[1\] = nan must be a number, not NaN"),
    (lambda: Gaussian([0.0, INF], 1.0), r"mean\[1\] = inf must be finite"),
    (lambda: Gaussian(0.0, [1.0, NAN]), r"std\[1\] = nan must be a number, not NaN"),
    (lambda: Gaussian("0.0", 1.0), "mean = '0.0' must be numbers"),
    (lambda: Gaussian([0.0, None], 1.0), r"mean = \[0.0, None\] must be numbers"),
    (lambda: Gaussian([1.0, 2j], 1.0), "mean = .* must be numbers"),
    (lambda: Gaussian([True, False], 1.0), "mean = .* must be numbers"),
    (lambda: Gaussian([[0.0], [0.0, 1.0]], 1.0), "mean = .* must be numbers"),
    (lambda: NoUncertainty(1, NAN), "nominal_value = nan must be a number, not NaN"),
    (lambda: Uniform(0.0, INF), "upper = inf must be finite"),
    # standard deviations
    (lambda: Gaussian([0.0, 0.0], [1.0, -0.5]), r"std\[1\] = -0.5 must be at least 0"),
    (
        lambda: Gaussian(std={"F_y": -0.5}, fields=External),
        r"std\[1\] \(F_y\) = -0.5 must be at least 0",
    ),
    (lambda: Truncated(0.0, -1.0, 0.0, 1.0), "std = -1 must be at least 0"),
    (lambda: OrnsteinUhlenbeck(0.0, -1.0, 1.0), "std = -1 must be at least 0"),
    (lambda: OrnsteinUhlenbeck(0.0, 1.0, 0.0), "time_constant = 0 must be greater than 0 s"),
    (lambda: Gaussian(0.0), "takes one of std .* and covariance, got none of them"),
    (lambda: Gaussian(0.0, 1.0, [[1.0]]), "takes one of std .*, got std and covariance"),
    (lambda: Gaussian(0.0, 1.0, std_deviation=1.0), "got std and std_deviation"),
    # covariances
    (
        lambda: Gaussian([0.0, 0.0], covariance=[[1.0, 0.5], [0.4, 1.0]]),
        r"covariance\[0, 1\] = 0.5 and covariance\[1, 0\] = 0.4 must be equal",
    ),
    (
        lambda: Gaussian([0.0, 0.0], covariance=[[1.0, 2.0], [2.0, 1.0]]),
        "covariance is not positive semi-definite: .* eigenvalue -1; all must be at least 0",
    ),
    (
        lambda: Gaussian([0.0, 0.0], covariance=[[1e-8, 2e-8], [2e-8, 1e-8]]),
        "covariance is not positive semi-definite",
    ),
    (
        lambda: Gaussian([0.0, 0.0], covariance=[[0.0, 1.0], [1.0, 1.0]]),
        "covariance is not positive semi-definite",
    ),
    (
        lambda: Gaussian([0.0, 0.0], covariance=[[1.0, 0.0], [0.0, -1.0]]),
        r"the diagonal of covariance\[1\] = -1 must be at least 0",
    ),
    (
        lambda: Gaussian([0.0, 0.0], covariance=[[1.0, NAN], [NAN, 1.0]]),
        r"covariance\[0, 1\] = nan must be finite",
    ),
    (lambda: Gaussian([0.0], covariance="x"), "covariance = 'x' must be numbers in an array"),
    # bounds
    (lambda: Uniform([0.0, 2.0], [1.0, 1.0]), r"lower\[1\] = 2 must be at most upper\[1\] = 1"),
    (lambda: Truncated(0.0, 1.0, 2.0, 1.0), "lower = 2 must be at most upper = 1"),
    (lambda: Uniform(0.0, 1.0, 1.5), "nominal_value = 1.5 must be from 0 to 1, the bounds"),
    (lambda: Truncated(0.0, 1.0, 0.0, 1.0, -0.5), "nominal_value = -0.5 must be from 0 to 1"),
    (lambda: Truncated(0.0, 0.0, 1.0, 2.0), "with std = 0, mean = 0 must be from 1 to 2"),
    (lambda: Truncated(0.0, 1.0, INF, INF), "lower = inf must be below infinity"),
    (lambda: Truncated(0.0, 1.0, -INF, -INF), "upper = -inf must be above minus infinity"),
    (lambda: Truncated(0.0, 1.0, NAN, 1.0), "lower = nan must be a number, not NaN"),
    (lambda: Uniform(0.0), r"upper \(also called upper_bound\) must be given once, got neither"),
    (lambda: Uniform(0.0, 1.0, lower_bound=0.0), "lower .* must be given once, got both"),
    # names
    (
        lambda: Gaussian({"v_x": 1.0}, 1.0),
        "mean = .* uses names, but no fields are known: give fie",
    ),
    (
        lambda: Gaussian({"F_z": 1.0}, 1.0, fields=External),
        "mean has no field 'F_z'; .* Allowed are F_x, F_y, M_z, mu_scale",
    ),
    (lambda: Gaussian({"F_x": [1.0]}, 1.0, fields=External), r"mean\['F_x'\] = \[1.0\] must be"),
    (lambda: Gaussian(External(), State(), fields=External), "fields differ: F_x.* and x, y"),
    (lambda: Gaussian(0.0, 1.0, fields="ab"), "fields = 'ab' must be a record class or a list"),
    (lambda: Gaussian(0.0, 1.0, fields=["a", "a"]), "fields = .* a list of different names"),
    # recordings
    (lambda: Recorded([]), r"values has shape \(0,\); allowed are \(steps, dim\)"),
    (lambda: Recorded([1.0, 2.0]), r"values has shape \(2,\); allowed are \(steps, dim\)"),
    (lambda: Recorded([[1.0], [2.0, 3.0]]), "values = .* must be rows of numbers"),
    (lambda: Recorded([[1.0], [NAN]]), r"values\[1, 0\] = nan must be finite"),
    (lambda: Recorded([[1.0]], dim=2), r"values has shape \(1, 1\); allowed are 2 numbers"),
    (lambda: Recorded([[1.0]], at_end="stop"), "at_end = 'stop' is unknown; allowed are raise"),
    # parts
    (lambda: Joined([Gaussian(0.0, 1.0), 3]), r"models\[1\] = 3 must be an UncertaintyModel"),  # type: ignore[list-item]
    (lambda: by_name(State, vx=Gaussian(0.0, 1.0)), "State has no field 'vx'; did you mean 'v_x'"),
    (lambda: by_name(State, v_x=1.0), "v_x = 1.0 must be an UncertaintyModel"),  # type: ignore[arg-type]
    (
        lambda: by_name(State, v_x=Gaussian([0.0, 0.0], 1.0)),
        "the model of v_x has 2 numbers, but this part of State has 1: v_x",
    ),
    (
        lambda: by_name(State, {("v_x", "v_y"): Gaussian([0.0, 0.0], 1.0)}, v_x=Gaussian(0.0, 1.0)),
        "v_x has two models; allowed is one",
    ),
]


@pytest.mark.parametrize(("make", "message"), CASES, ids=[message for _, message in CASES])
def test_it_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()
