"""One fold, or one event, as a function of a Program that takes only the numbers it needs.

A function rounds the same whoever calls it, so a metric has the same bits whatever other metrics
there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from .. import record
from ..calls import called
from ..compile.program import Port
from ..compile.trace import trace
from ..errors import InvalidValue
from ..integrate.as_written import as_written
from .expression_names import Records

SCALARS = ("t", "n", "dt")
"""What every sample has beside records: time, number, step."""

Sample = Mapping[str, Any]
"""Records by name, and the scalars."""


class SampleKernel:
    """A function of a sample and of some numbers, compiled as a function of its own.

    Args:
        name: for errors.
        function: of the sample and the numbers; returns a tuple of `results` numbers.
        records: classes of the records of a sample.
        numbers: how many there are.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Sample, tuple[Any, ...]], tuple[Any, ...]],
        records: Records,
        numbers: int,
        results: int,
    ) -> None:
        self.name, self._function, self._records = name, function, records
        self._numbers, self._results = numbers, results

    def call(self, sample: Sample, numbers: Sequence[Any]) -> tuple[Any, ...]:
        """What the function gives, by a call in what is traced."""
        flat = [record.flatten(sample[name]) for name in self._records]
        ports = [*flat, [sample[name] for name in SCALARS], numbers]
        return called(self._kernel, *(ports[port][field] for port, field in self._used))

    def reads(self, name: str) -> frozenset[str]:
        """Fields of one of the records that the function needs."""
        place = list(self._records).index(name)
        names = record.names(self._records[name])
        return frozenset(names[field] for port, field in self._used if port == place)

    @cached_property
    def _ports(self) -> tuple[Port, ...]:
        kinds = [Port(name, record.names(kind)) for name, kind in self._records.items()]
        numbers = tuple(f"a{k}" for k in range(self._numbers))
        return (*kinds, Port("sample", SCALARS), Port("a", numbers))

    @cached_property
    def _used(self) -> tuple[tuple[int, int], ...]:
        """Port and field of what the function needs; each argument of a call costs."""

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            with as_written(ports[-2][0]):
                return (self._evaluated(ports),)

        results = (Port("r", tuple(f"r{k}" for k in range(self._results))),)
        try:
            plain = trace(self.name, function, self._ports, results)
        except (AttributeError, InvalidValue) as error:
            raise InvalidValue(f"{self.name}: {error}") from error
        return tuple(sorted({i.imm for i in plain.code if i.op == "input"}))

    @cached_property
    def _kernel(self) -> Callable[..., tuple[Any, ...]]:
        import casadi as ca

        used = self._used
        # Symbols for what is not needed, too: with numbers something would be computed.
        blank = [[ca.SX.sym(field) for field in port.fields] for port in self._ports]

        def fold(*leaves: Any) -> tuple[Any, ...]:
            ports = [list(port) for port in blank]
            for (port, field), leaf in zip(used, leaves, strict=True):
                ports[port][field] = leaf
            return self._evaluated(ports)

        return fold

    def _evaluated(self, ports: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        *kinds, scalars, numbers = ports
        pairs = zip(self._records.items(), kinds, strict=True)
        sample = {name: record.unflatten(kind, values) for (name, kind), values in pairs}
        return self._function(sample | dict(zip(SCALARS, scalars, strict=True)), tuple(numbers))
