"""What a run of a campaign is: anything that turns factors and a run's number into numbers.

A drive of a vehicle, a manoeuvre, a world and a function of one's own are experiments. To write
one, make a frozen dataclass that can be pickled, because it goes to other processes and machines,
with the methods of `Experiment`:

1. A row of `evaluate` depends on its run's number, its factors and the seed, on nothing else: not
   on the other rows, the threads, the device or the order. Where the shape of an array could show
   (a sum over one rounds by it), rows are evaluated in blocks of fixed size, a row at its run's
   number modulo `block`, with copies of any row where there is none.
2. All randomness comes from counter-based streams: `skidpad.random.Draw(rows.seed, channel,
   rows.runs, step)`.
3. A run that fails (diverges, spins, ends early) is a row like any other, with NaN where there is
   no number, `failed` where it failed, and nothing true beside that; `evaluate` raises only for
   what no run could do.
4. `replay` repeats one run with the same bits, and more of it: a trajectory.

What a thing is as JSON values that are the same in every process; large arrays are digested.

Functions of users in plans: known by where they are imported from and by what they do.

What a function does is told by its bytecode, with that of the functions of its module that it names
and with the constants (`UPPER_CASE`) that it reads there, however far down. Comments, docstrings
and line numbers do not count. What it calls in other modules, files that it reads and the versions
of packages are not seen, and another version of Python has other bytecode.

Rows in blocks of fixed size: a row at its run's number modulo the size, whatever comes along.

Sums over an array round by its shape, and loops of NumPy treat its last elements apart. In such
a block neither shows: a row has the same place and the same number of neighbours in every chunk.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple, Protocol, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..core import record
from ..core.arrays import AnyArray, Array, ArrayNumber
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..run.trajectory import Trajectory
from ..units import Allowed, Unit

Runs = NDArray[np.int64]
"""Numbers of runs, from 0."""
RUN, FAILED = "run", "failed"
"""Columns that every campaign has: the number of the run, and whether it failed."""


class Column(NamedTuple):
    """What a campaign keeps of every run."""

    name: str
    unit: str = ""
    """SI; empty of a ratio, of a count and of what is true or false."""
    meaning: str = ""
    """One sentence."""
    kind: str = "number"
    """"number" (float64) or "truth" (bool)."""


class Rows(NamedTuple):
    """Runs to be done, and what differs between them."""

    runs: Runs
    """(n,)"""
    factors: Mapping[str, Array]
    """By name, (n,) each, in the unit of what they set."""
    seed: int
    """Of the campaign; run k draws from the streams of this seed and k."""

    __repr__ = brief_repr

    def part(self, which: slice | AnyArray) -> Rows:
        """Some of the rows: a slice, or their places (n,)."""
        factors = {name: values[which] for name, values in self.factors.items()}
        return Rows(self.runs[which], factors, self.seed)


@dataclass(frozen=True)
class Resources:
    """What an experiment may use."""

    threads: int | None = None
    """None for all processors."""
    device: str = "cpu"
    """"cpu" or "cuda"."""


class Experiment(Protocol):
    """What is run; see the text of this module for what it promises."""

    @property
    def block(self) -> int:
        """Chunks are cut at multiples of so many runs where they can be; 1 for any."""
        ...

    @property
    def threaded(self) -> bool:
        """Whether one process keeps all processors busy; else several processes are used."""
        ...

    def factor_units(self) -> Mapping[str, str]:
        """Names that a factor may have, with units: parameters (`m`), starts (`x0.v_x`), ..."""
        ...

    def columns(self) -> tuple[Column, ...]:
        """What `evaluate` gives beside `failed`, in order."""
        ...

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise `InvalidValue` for factors whose smallest and largest values cannot be meant."""
        ...

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """All columns and `failed` (bool), (n,) each."""
        ...

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows` again, with the same bits."""
        ...

    def identity(self) -> dict[str, Any]:
        """What it is, as plain values (JSON) that are the same in every process and change if and
        only if the numbers of `evaluate` may change: names, parameters, digests of Programs."""
        ...

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether its runs are those of the experiment with this identity, and it only gives more
        columns of each: then a folder of that one can be gone on with."""
        ...


LARGE = 64
"""Numbers of an array above which it is digested."""
_PRIVATE_STREAM = "_own"
"""Of an uncertainty model: where its own stream stands, which no campaign reads."""


def plain(value: Any) -> Any:
    """A value as JSON values. Raises for what has no such form, such as a function of a closure."""
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
    return _object(value)


def only_adds(now: Mapping[str, Any], before: Mapping[str, Any], *growing: str) -> bool:
    """Whether an identity is one before, but for more entries in these parts of it."""
    if now.keys() != before.keys():
        return False
    same = all(now[name] == before[name] for name in now if name not in growing)
    return same and all(before[name].items() <= now[name].items() for name in growing)


def _array(array: Any) -> Any:
    if array.dtype == object:
        return [plain(part) for part in array.tolist()]
    if array.size <= LARGE and array.dtype.kind in "biuf":
        return plain(array.tolist())
    whole = np.ascontiguousarray(array)
    text = f"{whole.dtype.newbyteorder('<').str} {whole.shape} ".encode()
    little = whole.astype(whole.dtype.newbyteorder("<"), copy=False)
    return "sha256:" + hashlib.sha256(text + little.tobytes()).hexdigest()


def _object(value: Any) -> Any:
    if not hasattr(value, "__dict__"):
        raise InvalidValue(f"{value!r} cannot be written into a plan")
    fields = sorted(vars(value).items())
    parts = {name: plain(part) for name, part in fields if name != _PRIVATE_STREAM}
    return {"class": plain(type(value)), **parts}


FAILURES = (ValueError, ArithmeticError)
"""What is raised where a run cannot be done, divergence and `InvalidValue` among it; anything else
is an error of who wrote it, and ends the campaign."""
_SHOWN = ("__repr__", "__str__", "__eq__", "__hash__")
"""Methods that no number depends on."""


def function_identity(what: str, function: Any) -> dict[str, Any]:
    """A function, a class or an object that can be called, as plain values; raises for one that
    another process could not import."""
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
    """Where a function or class is imported from; raises where it cannot be."""
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


def argument_marks(function: Callable[..., Any], name: str) -> tuple[str, Allowed]:
    """Unit and range of an argument, as its annotation has them; empty and any without one."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # names that are there for type checkers alone
        hints = {}
    marks: tuple[Any, ...] = getattr(hints.get(name), "__metadata__", ())
    unit = next((mark.symbol for mark in marks if isinstance(mark, Unit)), "")
    allowed = next((mark for mark in marks if isinstance(mark, Allowed)), Allowed())
    return ("" if unit == "1" else unit), allowed


def _settings(value: Any) -> Any:
    return value if isinstance(value, tuple) else vars(value) if hasattr(value, "__dict__") else {}


def _methods(kind: type) -> Iterator[FunctionType]:
    """Of a class and of those it derives from, as far as Python wrote them."""
    for base in kind.__mro__:
        for name, value in sorted(vars(base).items()):
            if name in _SHOWN:
                continue
            inner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
            # What `dataclass` and `NamedTuple` write follows from the fields.
            if isinstance(inner, FunctionType) and inner.__code__.co_filename != "<string>":
                yield inner


def _digest(*functions: FunctionType) -> str:
    done: dict[str, str] = {}
    for function in functions:
        _look(function, done)
    return "sha256:" + sha256(repr(sorted(done.items())).encode()).hexdigest()


def _look(function: FunctionType, done: dict[str, str]) -> None:
    """Note what a function does, and whatever of its module it names."""
    name = f"{function.__module__}.{function.__qualname__}"
    if name in done:
        return
    if function.__closure__ and not _only_class_cell(function):
        held = [plain(cell.cell_contents) for cell in function.__closure__]
    else:
        held = []
    usual = plain([list(function.__defaults__ or ()), function.__kwdefaults__ or {}])
    done[name] = repr((_code(function.__code__, function.__doc__), usual, held))
    for used in _names(function.__code__):
        value = function.__globals__.get(used)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            _look(value, done)
        elif used.isupper() and isinstance(value, (bool, int, float, str, tuple)):
            done[f"{function.__module__}.{used}"] = repr(plain(value))


def _only_class_cell(function: FunctionType) -> bool:
    """Whether all it holds is the class that it is a method of."""
    return function.__code__.co_freevars == ("__class__",)


def _code(code: CodeType, doc: str | None = None) -> tuple[Any, ...]:
    """What a code object does: without names of files and numbers of lines."""
    constants = [_constant(one) for one in code.co_consts if doc is None or one != doc]
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _code(value)
    # The order within a set is another one in every process.
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


class Block(NamedTuple):
    """Rows that are evaluated together."""

    rows: Rows
    """As many as a block has; places without a run have a copy of another row."""
    places: Runs
    """Of the runs in the block."""
    among: Runs
    """Of the same runs among the rows that were cut into blocks."""

    def alone(self, place: int) -> Block:
        """The run at a place of the block, with copies of it everywhere else."""
        which = self.places == place
        rows = self.rows.part(np.full(len(self.rows.runs), place))
        return Block(rows, self.places[which], self.among[which])


def in_blocks(rows: Rows, size: int) -> Iterator[Block]:
    """The rows in blocks; runs of one block may be anywhere among them."""
    numbers = rows.runs // size
    for number in np.unique(numbers).tolist():
        among = np.flatnonzero(numbers == number)
        places = rows.runs[among] % size
        filled = np.full(size, among[0])
        filled[places] = among
        yield Block(rows.part(filled), places, among)
