"""Sub-models of LEARNED_STEER_VEL: those the recordings were made with, and faulty ones."""

from __future__ import annotations

import math
from typing import Any

CALLS: list[tuple[Any, ...]] = []
"""What was called on `Recorder`, in order."""


class SubModel:
    """The methods of the interface that most do nothing with."""

    states: tuple[str, ...] = ("STEER",)
    actions: tuple[str, ...] = ("STEER_DES",)

    def __init__(self) -> None:
        self.dt = 0.0

    def get_state_names(self) -> list[str]:
        return list(self.states)

    def get_action_names(self) -> list[str]:
        return list(self.actions)

    def reset(self) -> None:
        pass

    def load_params(self, path: str) -> None:
        pass

    def dtSet(self, dt: float) -> None:
        self.dt = dt

    def forward(self, action: list[float], state: list[float]) -> Any:
        return state


class Kinematic(SubModel):
    states = ("POS_X", "POS_Y", "YAW", "YAW_RATE")
    actions = ("VX", "STEER")

    def forward(self, action: list[float], state: list[float]) -> Any:
        v, steer = action
        x, y, yaw, _ = state
        rate = v * math.tan(steer) / 2.79
        return [
            x + self.dt * v * math.cos(yaw),
            y + self.dt * v * math.sin(yaw),
            yaw + self.dt * rate,
            rate,
        ]


class SteerLag(SubModel):
    def forward(self, action: list[float], state: list[float]) -> Any:
        return [state[0] + self.dt * (action[0] - state[0]) / 0.3]


class DriveLag(SubModel):
    states = ("VX",)
    actions = ("VX_DES",)

    def forward(self, action: list[float], state: list[float]) -> Any:
        return [state[0] + self.dt * (action[0] - state[0]) / 0.5]


class Recorder(SubModel):
    """Writes down which of its methods are called."""

    def reset(self) -> None:
        CALLS.append(("reset",))

    def load_params(self, path: str) -> None:
        CALLS.append(("load_params", path))

    def dtSet(self, dt: float) -> None:
        CALLS.append(("dtSet", dt))

    def forward(self, action: list[float], state: list[float]) -> Any:
        CALLS.append(("forward", action, state))
        return state


class First(SubModel):
    """Passes the commanded angle on under a name of its own."""

    states = ("BETWEEN",)

    def forward(self, action: list[float], state: list[float]) -> Any:
        return [action[0]]


class Second(SubModel):
    actions = ("BETWEEN",)

    def forward(self, action: list[float], state: list[float]) -> Any:
        return [action[0]]


class Counter(SubModel):
    """A signal of its own that grows by 1 in every step."""

    states = ("COUNT",)
    actions = ()

    def forward(self, action: list[float], state: list[float]) -> Any:
        return [state[0] + 1.0]


class Half(SubModel):
    def forward(self, action: list[float], state: list[float]) -> Any:
        return [0.5]


class Answers(SubModel):
    """Returns whatever `answer` is at the time."""

    states = ("STEER", "VX")
    answer: Any = (0.0, 0.0)

    def forward(self, action: list[float], state: list[float]) -> Any:
        return type(self).answer


class Raises(SubModel):
    def forward(self, action: list[float], state: list[float]) -> Any:
        raise ZeroDivisionError("on purpose")


class NoForward(SubModel):
    forward = None  # type: ignore[assignment]


class NeedsArguments(SubModel):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


class Typo(SubModel):
    actions = ("STEER_DSE",)


class OneName(SubModel):
    def get_state_names(self) -> Any:
        return "STEER"


class Twice(SubModel):
    states = ("STEER", "STEER")
