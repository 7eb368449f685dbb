"""A vehicle as JAX functions on flat arrays: differentiable, for `jit`, `vmap` and `scan`.

JAX decides the precision: float32 unless `jax.config.update("jax_enable_x64", True)` is called
first. The functions compute in the precision of their state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import integrate
from ...core import record
from ...core.model import Vehicle, port_kinds
from ...errors import InvalidValue, require
from ...integrate.base import Integrator, Update, flat_result
from .casadi import FlatModel, flat_fields


@dataclass(frozen=True, eq=False, repr=False)
class JaxModel(FlatModel):
    """One vehicle as pure functions of JAX arrays: state (nx,), input (nu,), parameters (np,).

    If `w` or `p` is None, the vehicle's own values are used. To differentiate with respect to
    parameters, pass `p`; see `parameters`.
    """

    vehicle: Vehicle
    integrator: Integrator
    update: Update
    """The step over records, from `integrate.discretise`."""
    numpy: Any
    fori_loop: Any

    def derivative(self, x: Any, u: Any, w: Any = None, p: Any = None) -> Any:
        """Time derivative x' of the state at a state and input, (nx,)."""
        records = self._records(x, u, w, p)
        rates = self.vehicle.derivative(*records)
        return self._flat(flat_result(self.vehicle.model, "derivative", rates))

    def step(self, x: Any, u: Any, dt: Any, w: Any = None, p: Any = None) -> Any:
        """The state after dt seconds with the input held, (nx,), in the model's sub-steps."""
        start, *rest = self._records(x, u, w, p)
        many = self.vehicle.model.substeps

        def once(_: Any, state: Any) -> Any:
            return self.update(state, *rest, dt / many, start)[0]

        # A loop keeps the compiled code as small as that of one sub-step.
        end = once(0, start) if many == 1 else self.fori_loop(0, many, once, start)
        return self._flat(record.flatten(end))

    def outputs(self, x: Any, u: Any, w: Any = None, p: Any = None) -> Any:
        """The outputs at a state and input, in the order of `y_names`."""
        records = self._records(x, u, w, p)
        y = self.vehicle.outputs(*records)
        return self._flat(flat_result(self.vehicle.model, "outputs", y))

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """The parameter vector with some values replaced, also by traced ones."""
        return self.numpy.stack([self.numpy.asarray(v) for v in self.replaced(values)])

    def _records(self, x: Any, u: Any, w: Any, p: Any) -> list[Any]:
        values = (x, u, self.w_values if w is None else w, self.p_values if p is None else p)
        kinds, precision = port_kinds(self.vehicle.model), self.numpy.result_type(x, float)
        pairs = zip(kinds.items(), values, strict=True)
        return [self._record(name, kind, flat, precision) for (name, kind), flat in pairs]

    def _record(self, name: str, kind: type, values: Any, precision: Any) -> Any:
        flat = self.numpy.asarray(values, dtype=precision)
        if flat.shape != (record.size(kind),):
            raise InvalidValue(
                f"{name} has shape {flat.shape}; expected ({record.size(kind)},) with fields "
                f"{', '.join(record.names(kind)) or 'none'}. For many vehicles use jax.vmap"
            )
        # One operation for all entries: indexing each made a gradient's compile time twice as long.
        return record.unflatten(kind, list(self.numpy.unstack(flat)))

    def _flat(self, leaves: Any) -> Any:
        return self.numpy.stack([self.numpy.asarray(leaf) for leaf in leaves])


def jax_model(vehicle: Vehicle, integrator: str | Integrator = "rk4") -> JaxModel:
    """Return the vehicle as JAX functions; its step uses an explicit integrator."""
    numpy = require("jax.numpy", purpose="Vehicle.jax")
    method = integrate.get(integrator)
    if method.implicit or method.adaptive:
        known = ((name, integrate.get(name)) for name in integrate.names())
        explicit = [name for name, one in known if not (one.implicit or one.adaptive)]
        raise InvalidValue(
            f"integrator = {method.name!r} does not run in JAX: implicit and adaptive methods work "
            "on traced or plain numbers only; allowed are " + ", ".join(explicit)
        )
    return JaxModel(
        **flat_fields(vehicle),
        vehicle=vehicle,
        integrator=method,
        update=integrate.discretise(vehicle.model, method),
        numpy=numpy,
        fori_loop=require("jax.lax", purpose="Vehicle.jax").fori_loop,
    )
