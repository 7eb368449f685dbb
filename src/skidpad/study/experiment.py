"""Experiments: what a run of a campaign is, from factors and run numbers to columns.

Drives, manoeuvres, worlds, episodes of tasks and functions are experiments. A new one is a frozen
dataclass that can be pickled (it is sent to other processes and machines) with the methods of
`Experiment`:

1. A row of `evaluate` depends only on its run number, its factors and the seed: not on other rows,
   threads, the device or the order. Where the shape of an array could influence rounding (a sum
   over it), rows are evaluated in blocks of fixed size (`in_blocks`).
2. All randomness comes from counter-based streams: `skidpad.random.Draw(rows.seed, channel,
   rows.runs, step)`.
3. A run that fails (diverges, spins, ends early) is a row like any other: `failed` is true,
   undefined numbers are NaN, and all other truth values are false. `evaluate` raises only if
   every run is impossible.
4. `replay` repeats one run with the same bits and returns its trajectory.

`ExperimentBase` has what the experiments of this package share: units and ranges of factors, and
the evaluation block by block.

The rest of the module computes the identity of experiments as JSON values that are the same in
every process: `plain` for records, arrays and objects, `function_identity` for functions of users.
A function is identified by its import path, its bytecode, the bytecode of the functions of the same
module that it names, and the constants (`UPPER_CASE`) that these read. Comments, docstrings and
line numbers do not count. Code of other modules, files that a function reads and package versions
are not covered, and another version of Python has other bytecode.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any, ClassVar, NamedTuple, Protocol, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..core import record
from ..core.arrays import AnyArray, Array, ArrayNumber
from ..core.checks import must_be
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..run.trajectory import Trajectory
from ..units import Allowed, Unit

Runs = NDArray[np.int64]
"""Numbers of runs, from 0."""
RUN, FAILED = "run", "failed"
"""Columns of every campaign: the number of the run, and whether it failed."""
FAILURES = (ValueError, ArithmeticError)
"""Exceptions that mark a single run as failed, including divergence and `InvalidValue`.

Any other exception is a programming error and ends the campaign.
"""


class Column(NamedTuple):
    """A number or truth value that a campaign stores for every run."""

    name: str
    unit: str = ""
    """Symbol of the SI unit; empty for ratios, counts and truth values."""
    meaning: str = ""
    """Meaning of the column in one sentence."""
    kind: str = "number"
    """"number" (float64) or "truth" (bool)."""


class Rows(NamedTuple):
    """Runs to execute, with the values of their factors."""

    runs: Runs
    """Run numbers, (n,)."""
    factors: Mapping[str, Array]
    """Values by factor name, (n,) each, in the unit of the quantity that they set."""
    seed: int
    """Seed of the campaign; run k draws from the streams of this seed and k."""

    __repr__ = brief_repr

    def part(self, which: slice | AnyArray) -> Rows:
        """Select rows by a slice or by their positions (n,)."""
        factors = {name: values[which] for name, values in self.factors.items()}
        return Rows(self.runs[which], factors, self.seed)


@dataclass(frozen=True)
class Resources:
    """Threads and device that an experiment may use."""

    threads: int | None = None
    """Number of threads; None for all processors."""
    device: str = "cpu"
    """Device: "cpu" or "cuda"."""


class Experiment(Protocol):
    """Interface of experiments, which compute columns from rows; see the module docstring."""

    @property
    def block(self) -> int:
        """Chunks are cut at multiples of this number of runs where possible; 1 for no
        preference."""
        ...

    @property
    def threaded(self) -> bool:
        """Whether one process uses all processors; otherwise several processes are started."""
        ...

    def factor_units(self) -> Mapping[str, str]:
        """Units by factor name: parameters (`m`), start values (`x0.v_x`), ..."""
        ...

    def columns(self) -> tuple[Column, ...]:
        """Columns of `evaluate` other than `failed`, in order."""
        ...

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise `InvalidValue` for factors whose smallest or largest value is not allowed.

        Args:
            ends: smallest and largest value by factor name.
        """
        ...

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """Execute the runs; returns all columns and `failed` (bool), (n,) each."""
        ...

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat the single run of `rows`, bit for bit."""
        ...

    def identity(self) -> dict[str, Any]:
        """Names, parameters and digests of Programs as plain values (JSON), the same in every
        process; they change if and only if the numbers of `evaluate` may change."""
        ...

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether a folder of the experiment with the identity `before` can be continued: the runs
        are the same and columns are at most added."""
        ...


class Setting(NamedTuple):
    """Unit and range of a number that a factor may set."""

    unit: str
    allowed: Allowed

    @classmethod
    def of(cls, leaf: record.Field) -> Setting:
        """Unit and range of a field of a record; a ratio has the empty unit."""
        unit = "" if leaf.unit == record.NO_UNIT else leaf.unit.symbol
        return cls(unit, leaf.allowed or Allowed())

    @classmethod
    def of_argument(cls, function: Callable[..., Any], name: str) -> Setting:
        """Unit and range of an argument from its annotation; without an annotation, any number is
        allowed."""
        try:
            hints = get_type_hints(function, include_extras=True)
        except (NameError, TypeError):  # names that exist for type checkers only
            hints = {}
        marks: tuple[Any, ...] = getattr(hints.get(name), "__metadata__", ())
        unit = next((mark.symbol for mark in marks if isinstance(mark, Unit)), "")
        allowed = next((mark for mark in marks if isinstance(mark, Allowed)), Allowed())
        return cls("" if unit == "1" else unit, allowed)


def blank_columns(columns: Iterable[Column], count: int, failed: bool) -> dict[str, AnyArray]:
    """Columns of runs without a result, (count,) each: NaN, false, and `failed` as given."""
    blank: dict[str, AnyArray] = {
        one.name: np.zeros(count, bool) if one.kind == "truth" else np.full(count, np.nan)
        for one in columns
    }
    return {**blank, FAILED: np.full(count, failed)}


class Block(NamedTuple):
    """Rows that are evaluated together."""

    rows: Rows
    """The rows, padded to the block size with copies of another row."""
    places: Runs
    """Positions of the runs in the block."""
    among: Runs
    """Positions of the same runs among the rows that were cut into blocks."""

    def alone(self, place: int) -> Block:
        """A block with copies of the run at one position everywhere."""
        which = self.places == place
        rows = self.rows.part(np.full(len(self.rows.runs), place))
        return Block(rows, self.places[which], self.among[which])


def in_blocks(rows: Rows, size: int) -> Iterator[Block]:
    """Split rows into blocks of fixed size, each run at the position of its number modulo the size.

    Sums over an array round by its shape, and vectorised loops treat its last elements separately.
    With blocks of fixed size a row has the same position and the same number of neighbours however
    the runs are cut into chunks, so its result has the same bits.
    """
    numbers = rows.runs // size
    for number in np.unique(numbers).tolist():
        among = np.flatnonzero(numbers == number)
        places = rows.runs[among] % size
        filled = np.full(size, among[0])
        filled[places] = among
        yield Block(rows.part(filled), places, among)


class ExperimentBase(ABC):
    """Base of experiments whose factors are numbers with units and ranges.

    Runs are evaluated in blocks of fixed size. If `evaluate_block` raises one of `catches`, the
    runs of the block are evaluated one by one, and those for which it raises again have failed.
    """

    block: int = 1
    threaded: bool = False
    growing: ClassVar[tuple[str, ...]] = ()
    """Parts of the identity to which entries may be added when an experiment is extended."""
    catches: ClassVar[tuple[type[Exception], ...]] = FAILURES
    """Exceptions of `evaluate_block` that mark a run as failed."""

    @abstractmethod
    def settings(self) -> Mapping[str, Setting]:
        """Unit and range by factor name."""

    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Columns of `evaluate` other than `failed`, in order."""

    def evaluate_block(self, rows: Rows, resources: Resources) -> Mapping[str, AnyArray]:
        """Execute the runs of a block; returns all columns and `failed`, (block,) each."""
        raise NotImplementedError

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """Execute the runs block by block; returns all columns and `failed`, (n,) each. In failed
        runs numbers are NaN and truth values are false."""
        out = blank_columns(self.columns(), len(rows.runs), failed=True)
        waiting = list(in_blocks(rows, self.block))[::-1]
        while waiting:
            block = waiting.pop()
            try:
                columns = self.evaluate_block(block.rows, resources)
            except self.catches:
                if len(block.places) > 1:
                    waiting += [block.alone(place) for place in block.places.tolist()]
                continue
            for name, values in columns.items():
                out[name][block.among] = values[block.places]
        return out

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Plain values that change if and only if the numbers may change."""

    def factor_units(self) -> dict[str, str]:
        return {name: setting.unit for name, setting in self.settings().items()}

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factors whose smallest or largest value is not allowed."""
        settings = self.settings()
        for name, pair in ends.items():
            for end in pair:
                must_be(f"factor {name}", end, settings[name].allowed, settings[name].unit)

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether the identities differ only by added columns."""
        now = self.identity()
        return (
            now.keys() == before.keys()
            and all(now[name] == before[name] for name in now if name not in self.growing)
            and all(before[name].items() <= now[name].items() for name in self.growing)
        )


LARGE = 64
"""Number of elements above which an array is represented by its digest."""
_PRIVATE_STREAM = "_own"
"""Attribute of an uncertainty model with its private random state, unused by campaigns."""


def plain(value: Any) -> Any:
    """Convert a value to JSON values; raises if that is impossible, as for a closure."""
    if isinstance(value, ArrayNumber):
        return plain(np.asarray(value.values))
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else repr(number)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        if value.dtype == object or (value.size <= LARGE and value.dtype.kind in "biuf"):
            return [plain(part) for part in value.tolist()] if value.ndim else plain(value.item())
        little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
        text = f"{little.dtype.str} {little.shape} ".encode()
        return "sha256:" + sha256(text + little.tobytes()).hexdigest()
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in sorted(value.items())}
    if record.is_record_type(type(value)):
        return {name: plain(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, (type, FunctionType)):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if not hasattr(value, "__dict__"):
        raise InvalidValue(f"{value!r} cannot be stored in a plan")
    parts = sorted((name, one) for name, one in vars(value).items() if name != _PRIVATE_STREAM)
    return {"class": plain(type(value)), **{name: plain(part) for name, part in parts}}


_SHOWN = ("__repr__", "__str__", "__eq__", "__hash__")
"""Methods that do not influence any number."""


def function_identity(what: str, function: Any) -> dict[str, Any]:
    """Identity of a function, class or callable object as plain values; raises if another process
    could not import it."""
    if isinstance(function, partial):
        held = {"args": plain(function.args), "keywords": plain(function.keywords)}
        return {**function_identity(what, function.func), **held}
    if isinstance(function, MethodType):
        own = function_identity(what, function.__self__)
        return {**own, "method": function.__name__, "does": _digest(function.__func__)}
    if isinstance(function, FunctionType):
        return {"function": importable(what, function), "does": _digest(function)}
    kind = function if isinstance(function, type) else type(function)
    settings = function if isinstance(function, tuple) else getattr(function, "__dict__", {})
    own = {} if kind is function else {"settings": plain(settings)}
    return {"class": importable(what, kind), "does": _digest(*_methods(kind)), **own}


def importable(what: str, function: Any) -> str:
    """The dotted name of a function or class; raises if it cannot be imported by that name."""
    module, name = function.__module__, function.__qualname__
    target: Any = sys.modules.get(module)
    for part in name.split("."):
        target = getattr(target, part, None)
    if target is not function:
        raise InvalidValue(
            f"{what} must be at the top of a module where another process could import it, "
            f"got {module}.{name}"
        )
    return f"{module}.{name}"


def _methods(kind: type) -> Iterator[FunctionType]:
    for base in kind.__mro__:
        for name, value in sorted(vars(base).items()):
            if name in _SHOWN:
                continue
            inner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
            # Methods that `dataclass` and `NamedTuple` generate follow from the fields.
            if isinstance(inner, FunctionType) and inner.__code__.co_filename != "<string>":
                yield inner


def _digest(*functions: FunctionType) -> str:
    done: dict[str, str] = {}
    for function in functions:
        _collect(function, done)
    return "sha256:" + sha256(repr(sorted(done.items())).encode()).hexdigest()


def _collect(function: FunctionType, done: dict[str, str]) -> None:
    """Add the bytecode of a function, and of everything of its module that it names, to `done`."""
    name = f"{function.__module__}.{function.__qualname__}"
    if name in done:
        return
    # The cell of `__class__` holds the class that the function is a method of.
    cells = () if function.__code__.co_freevars == ("__class__",) else function.__closure__ or ()
    held = [plain(cell.cell_contents) for cell in cells]
    usual = plain([list(function.__defaults__ or ()), function.__kwdefaults__ or {}])
    done[name] = repr((_code(function.__code__, function.__doc__), usual, held))
    for used in _names(function.__code__):
        value = function.__globals__.get(used)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            _collect(value, done)
        elif used.isupper() and isinstance(value, (bool, int, float, str, tuple)):
            done[f"{function.__module__}.{used}"] = repr(plain(value))


def _code(code: CodeType, doc: str | None = None) -> tuple[Any, ...]:
    constants = [_constant(one) for one in code.co_consts if doc is None or one != doc]
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _code(value)
    # The order of a set differs between processes.
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
