"""The models under the names and with the argument order of commonroad-control."""

from __future__ import annotations

from typing import Any

from .gaussian import Gaussian
from .uniform import Uniform


class GaussianDistribution(Gaussian):
    """`Gaussian` with the arguments in the order dim, mean, std_deviation."""

    def __init__(
        self, dim: int, mean: Any, std_deviation: Any, *, nominal_value: Any = None
    ) -> None:
        super().__init__(mean, std_deviation, nominal_value=nominal_value, dim=dim)


class UniformDistribution(Uniform):
    """`Uniform` with the arguments in the order dim, lower_bound, upper_bound."""

    def __init__(
        self, dim: int, lower_bound: Any, upper_bound: Any, *, nominal_value: Any = None
    ) -> None:
        super().__init__(lower_bound, upper_bound, nominal_value, dim=dim)
