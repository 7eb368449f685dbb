"""A policy that sees the state with measurement noise on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ... import record
from ...policy import Policy

NOISE = "noise"
"""Field of the reference that holds the noise of a step, one number per state of the vehicle."""
TOLD = "told"
"""Field of the reference that holds what the policy itself is told."""


def noisy(policy: Policy, State: type) -> Policy:
    """The policy with `State` plus noise in place of the state; the noise comes by its reference.

    Its reference record has the policy's own (`told`), if it has any, and behind it the noise of
    the step in the units of the state (`noise`).
    """
    kinds = {TOLD: policy.Reference} if record.size(policy.Reference) else {}
    kinds[NOISE] = _noise_record(State)
    Reference = record.define("NoisyReference", kinds, doc="What a policy is told, and the noise.")
    return replace(policy, act=_seeing(policy, State), Reference=Reference)


def _seeing(policy: Policy, State: type) -> Callable[..., Any]:
    def act(**arguments: Any) -> Any:
        noise = record.flatten(getattr(arguments["r"], NOISE))
        pairs = zip(record.flatten(arguments["x"]), noise, strict=True)
        seen = record.unflatten(State, [value + error for value, error in pairs])
        arguments = {**arguments, "x": seen, "r": getattr(arguments["r"], TOLD, None)}
        return policy.act(**{name: arguments[name] for name in policy.arguments})

    # A policy is asked by the names of its arguments what it needs.
    names = dict.fromkeys(("x", "r", *policy.arguments))
    keyword = inspect.Parameter.KEYWORD_ONLY
    act.__signature__ = inspect.Signature([inspect.Parameter(n, keyword) for n in names])
    return act


def _noise_record(State: type) -> Any:
    """A record with the leaves of a state, all zero unless given."""
    names = [leaf.name.replace(".", "_") for leaf in record.fields(State)]
    return record.define("Noise", dict.fromkeys(names, float), dict.fromkeys(names, 0.0))
