"""Experiments: what a run of a campaign is, from factors and run numbers to columns.

Drives, manoeuvres, worlds, episodes of tasks and functions are experiments. To write another one,
make a frozen dataclass that can be pickled (it is sent to other processes and machines) with the
methods of `Experiment`:

1. A row of `evaluate` depends on the number of its run, its factors and the seed, on nothing else:
   not on the other rows, the threads, the device or the order. Where the shape of an array could
   influence rounding (a sum over it), rows are evaluated in blocks of fixed size (`in_blocks`).
2. All randomness comes from counter-based streams: `skidpad.random.Draw(rows.seed, channel,
   rows.runs, step)`.
3. A run that fails (diverges, spins, ends early) is a row like any other: `failed` is true, numbers
   that it does not have are NaN, and no other truth value is true. `evaluate` raises only for what
   makes every run impossible.
4. `replay` repeats one run with the same bits, and returns more of it: a trajectory.

`ExperimentBase` has what the experiments here share. The rest of the module is the identity of
experiments as JSON values that are the same in every process: `plain` for records, arrays and
objects, `function_identity` for functions of users. The latter are identified by where they are
imported from and by their bytecode, with that of the functions of the same module that they name
and with the constants (`UPPER_CASE`) that these read. Comments, docstrings and line numbers do not
count. What a function calls in other modules, files that it reads and versions of packages are not
seen, and another version of Python has other bytecode.
"""

from __future__ import annotations

import hashlib
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
"""Exceptions that mean that a run cannot be done, divergence and `InvalidValue` among them; any
other is a programming error and ends the campaign."""


class Column(NamedTuple):
    """A number or truth value that a campaign stores of every run."""

    name: str
    unit: str = ""
    """SI; empty for ratios, counts and truth values."""
    meaning: str = ""
    """One sentence."""
    kind: str = "number"
    """"number" (float64) or "truth" (bool)."""


class Rows(NamedTuple):
    """Runs to do, with the values of their factors."""

    runs: Runs
    """(n,)"""
    factors: Mapping[str, Array]
    """Values by name, (n,) each, in the unit of the quantity that they set."""
    seed: int
    """Seed of the campaign; run k draws from the streams of this seed and k."""

    __repr__ = brief_repr

    def part(self, which: slice | AnyArray) -> Rows:
        """Some of the rows: a slice, or their places (n,)."""
        factors = {name: values[which] for name, values in self.factors.items()}
        return Rows(self.runs[which], factors, self.seed)


@dataclass(frozen=True)
class Resources:
    """Threads and device that an experiment may use."""

    threads: int | None = None
    """None for all processors."""
    device: str = "cpu"
    """"cpu" or "cuda"."""


class Experiment(Protocol):
    """Turns rows into columns; the docstring of this module has the contract."""

    @property
    def block(self) -> int:
        """Chunks are cut at multiples of this number of runs where possible; 1 for any."""
        ...

    @property
    def threaded(self) -> bool:
        """Whether one process uses all processors; otherwise several processes are used."""
        ...

    def factor_units(self) -> Mapping[str, str]:
        """Names that a factor may have, with units: parameters (`m`), starts (`x0.v_x`), ..."""
        ...

    def columns(self) -> tuple[Column, ...]:
        """The columns of `evaluate` other than `failed`, in order."""
        ...

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise `InvalidValue` for factors whose smallest or largest value is not allowed."""
        ...

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """All columns and `failed` (bool), (n,) each."""
        ...

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows` again, with the same bits."""
        ...

    def identity(self) -> dict[str, Any]:
        """Names, parameters and digests of Programs as plain values (JSON), the same in every
        process; they change if and only if the numbers of `evaluate` may change."""
        ...

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether its runs are those of the experiment with this identity, with more columns at
        most: then a folder of that one can be continued."""
        ...


class Setting(NamedTuple):
    """Unit and range of a number that a factor may set."""

    unit: str
    allowed: Allowed

    @classmethod
    def of(cls, leaf: record.Field) -> Setting:
        """Unit and range of a field of a record; the unit of a ratio is empty."""
        unit = "" if leaf.unit == record.NO_UNIT else leaf.unit.symbol
        return cls(unit, leaf.allowed or Allowed())

    @classmethod
    def of_argument(cls, function: Callable[..., Any], name: str) -> Setting:
        """Unit and range of an argument from its annotation; any number without one."""
        try:
            hints = get_type_hints(function, include_extras=True)
        except (NameError, TypeError):  # names that exist for type checkers only
            hints = {}
        marks: tuple[Any, ...] = getattr(hints.get(name), "__metadata__", ())
        unit = next((mark.symbol for mark in marks if isinstance(mark, Unit)), "")
        allowed = next((mark for mark in marks if isinstance(mark, Allowed)), Allowed())
        return cls("" if unit == "1" else unit, allowed)


class ExperimentBase(ABC):
    """Base of experiments whose factors are numbers with units and ranges."""

    block: int = 1
    threaded: bool = False
    growing: ClassVar[tuple[str, ...]] = ()
    """Parts of the identity that an experiment may add entries to when it extends another."""

    @abstractmethod
    def settings(self) -> Mapping[str, Setting]:
        """Unit and range of all that a factor may set, by name."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Plain values that change if and only if the numbers may change."""

    def factor_units(self) -> dict[str, str]:
        """Names that a factor may have, with units."""
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


def blank_columns(columns: Iterable[Column], count: int, failed: bool) -> dict[str, AnyArray]:
    """Columns without a result: NaN, false, and `failed` as given, (count,) each."""
    blank: dict[str, AnyArray] = {
        one.name: np.zeros(count, bool) if one.kind == "truth" else np.full(count, np.nan)
        for one in columns
    }
    return {**blank, FAILED: np.full(count, failed)}


LARGE = 64
"""Number of elements above which an array is represented by a digest."""
_PRIVATE_STREAM = "_own"
"""Attribute of an uncertainty model with the state of its own stream, which no campaign reads."""


def plain(value: Any) -> Any:
    """A value as JSON values; raises if it has no such form, as a closure."""
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
        return _array(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in sorted(value.items())}
    if record.is_record_type(type(value)):
        return {name: plain(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, (type, FunctionType)):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if not hasattr(value, "__dict__"):
        raise InvalidValue(f"{value!r} cannot be written into a plan")
    parts = sorted((name, one) for name, one in vars(value).items() if name != _PRIVATE_STREAM)
    return {"class": plain(type(value)), **{name: plain(part) for name, part in parts}}


def _array(array: Any) -> Any:
    if array.dtype == object:
        return [plain(part) for part in array.tolist()]
    if array.size <= LARGE and array.dtype.kind in "biuf":
        return plain(array.tolist())
    whole = np.ascontiguousarray(array)
    text = f"{whole.dtype.newbyteorder('<').str} {whole.shape} ".encode()
    little = whole.astype(whole.dtype.newbyteorder("<"), copy=False)
    return "sha256:" + hashlib.sha256(text + little.tobytes()).hexdigest()


_SHOWN = ("__repr__", "__str__", "__eq__", "__hash__")
"""Methods that do not influence any number."""


def function_identity(what: str, function: Any) -> dict[str, Any]:
    """A function, class or callable object as plain values; raises for one that another process
    could not import."""
    if isinstance(function, partial):
        held = {"args": plain(function.args), "keywords": plain(function.keywords)}
        return {**function_identity(what, function.func), **held}
    if isinstance(function, MethodType):
        own = function_identity(what, function.__self__)
        return {**own, "method": function.__name__, "does": _digest(function.__func__)}
    if isinstance(function, FunctionType):
        return {"function": importable(what, function), "does": _digest(function)}
    kind = function if isinstance(function, type) else type(function)
    own = {} if kind is function else {"settings": plain(_settings(function))}
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


def _settings(value: Any) -> Any:
    return value if isinstance(value, tuple) else vars(value) if hasattr(value, "__dict__") else {}


def _methods(kind: type) -> Iterator[FunctionType]:
    """Methods of a class and its bases that are written in Python."""
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
    """Add what a function does, and everything of its module that it names."""
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
    """A code object without file names and line numbers."""
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


class Block(NamedTuple):
    """Rows that are evaluated together."""

    rows: Rows
    """The rows, as many as the block size; positions without a run have a copy of another row."""
    places: Runs
    """Positions of the runs in the block."""
    among: Runs
    """Positions of the same runs among the rows that were cut into blocks."""

    def alone(self, place: int) -> Block:
        """The run at a position of the block, with copies of it everywhere else."""
        which = self.places == place
        rows = self.rows.part(np.full(len(self.rows.runs), place))
        return Block(rows, self.places[which], self.among[which])


def in_blocks(rows: Rows, size: int) -> Iterator[Block]:
    """The rows in blocks of fixed size, each at the number of its run modulo the size.

    Sums over an array round by its shape, and vectorised loops treat its last elements separately.
    In such a block neither shows: a row has the same position and the same number of neighbours
    however the runs are cut into chunks.
    """
    numbers = rows.runs // size
    for number in np.unique(numbers).tolist():
        among = np.flatnonzero(numbers == number)
        places = rows.runs[among] % size
        filled = np.full(size, among[0])
        filled[places] = among
        yield Block(rows.part(filled), places, among)
