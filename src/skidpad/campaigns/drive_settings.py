"""What a drive is: a vehicle, how long it runs, what drives it and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from ..integrate.base import Integrator
from ..model import Vehicle
from ..policy import Policy
from ..random import UncertaintyModel
from .folds import Fold, Quantity


@dataclass(frozen=True, eq=False)
class DriveSettings:
    """The settings of a `Drive`, which checks them."""

    vehicle: Vehicle
    _: KW_ONLY
    duration: float | None = None
    """How long a run is, in s; or say `steps`, or give a table of inputs."""
    steps: int | None = None
    dt: float = 0.001
    """Step in s."""
    integrator: str | Integrator = "auto"
    substeps: int | None = None
    precision: str = "float64"
    x0: Any = None
    """Start: a record, a mapping of names, a whole state (nx,), or an `UncertaintyModel`. Dependent
    fields of a start by names fit the parameters of each run."""
    controls: Any = None
    """Held inputs, a record or a mapping; or a table (steps, nu)."""
    pending: Any = None
    """Commands before the first ones, oldest first, (rows, nu): of a model with dead time."""
    policy: Policy | None = None
    references: Any = None
    """What the policy is told: as `controls`."""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parameters of the vehicle that differ from its own: numbers, or models of one number that
    they are drawn from for each run."""
    policy_params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The same of the policy."""
    disturbance: UncertaintyModel | None = None
    """What the model's Disturbance record is drawn from at every step."""
    noise: UncertaintyModel | None = None
    """What is added to the state that the policy sees."""
    metrics: Mapping[str, Fold] = field(default_factory=dict[str, Fold])
    """Columns by name; see `folds`."""
    events: Mapping[str, Quantity] = field(default_factory=dict[str, Quantity])
    """What may happen, by name: a column each that tells whether it did."""
    until: Quantity | None = None
    """A run ends at the first sample at which this happens: that sample counts, and the vehicle
    stays there. The column `ended_at` has the time in s, NaN of a run that went on to the end."""
    log: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Series (steps + 1,) that metrics may compare with, as `log.y`."""
