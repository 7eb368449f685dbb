"""What the checks found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .. import record
from ..brief import brief_repr
from ..errors import InvalidValue, SkidpadError

Status = Literal["passed", "failed", "exempt", "not applicable"]


class ConformanceError(SkidpadError, AssertionError):
    """A vehicle fails a check; the message lists every fault found."""


@dataclass(frozen=True)
class Result:
    """The outcome of one check."""

    name: str
    status: Status
    detail: str = ""
    """The faults, one a line; for a check that does not apply, why."""
    reason: str = ""
    """Why the model is exempt."""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong: every status but "failed"."""
        return self.status != "failed"

    @property
    def exemption_needed(self) -> bool:
        """Whether an exempt check would fail; an exemption that is not needed should go."""
        return self.status == "exempt" and bool(self.detail)

    def __str__(self) -> str:
        note = self.reason if self.status == "exempt" else self.detail
        indented = note.replace("\n", "\n" + " " * 28)
        return f"{self.name:<11} {self.status:<15} {indented}".rstrip()


@dataclass(frozen=True)
class Report:
    """The results of all checks on one vehicle; prints as a table."""

    vehicle: str
    results: tuple[Result, ...]

    __repr__ = brief_repr

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(result.passed for result in self.results)

    @property
    def failed(self) -> tuple[Result, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if not result.passed)

    def __getitem__(self, name: str) -> Result:
        by_check = {result.name: result for result in self.results}
        if name not in by_check:
            raise InvalidValue(record.unknown_name("report", name, tuple(by_check), "check"))
        return by_check[name]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def raise_if_failed(self) -> None:
        """Raise `ConformanceError` with every fault, unless all checks passed."""
        if not self.passed:
            raise ConformanceError(
                "\n".join([f"{self.vehicle} does not conform", *map(str, self.failed)])
            )

    def __str__(self) -> str:
        return "\n".join([self.vehicle, *(f"  {result}" for result in self.results)])
