"""Values in world files: variables, the environment, expressions and, if allowed, commands.

Expressions, `$f{...}`, are numbers, operators and functions, and nothing else. The notation is that
of exprtk, which upstream uses: `^` is a power, comparisons and the words `and`, `or`, `not`, `xor`,
`nand`, `nor`, `xnor` give 1 or 0, there are `if(condition, a, b)` and `condition ? a : b`, and
names are not case-sensitive. `Values` substitutes all of these in texts.
"""

from __future__ import annotations

import math
import operator
import os
import random
import re
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from ...errors import InvalidValue

DEEPEST = 60
"""Largest nesting depth of parentheses and powers."""
_LONGEST = 120
"""Most characters of an expression in an error message."""
_TOKEN = re.compile(
    r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(<=|>=|==|!=|<>|&&|\|\||:=|.))",
    re.ASCII,
)
_BINARY: tuple[Mapping[str, Callable[[float, float], float]], ...] = (
    {
        **dict.fromkeys(("or", "||", "|"), lambda a, b: bool(a) or bool(b)),
        "xor": lambda a, b: bool(a) != bool(b),
        "nor": lambda a, b: not (a or b),
        "xnor": lambda a, b: bool(a) == bool(b),
    },
    {
        **dict.fromkeys(("and", "&&", "&"), lambda a, b: bool(a) and bool(b)),
        "nand": lambda a, b: not (a and b),
    },
    {
        **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
        **{"==": operator.eq, "=": operator.eq, "!=": operator.ne, "<>": operator.ne},
    },
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.truediv, "%": math.fmod},
)
"""Binary operators, in order of increasing precedence."""
_WORDS = {"and", "or", "not", "xor", "nand", "nor", "xnor"}
CONSTANTS: Mapping[str, float] = {
    "pi": math.pi,
    "m_pi": math.pi,
    "true": 1.0,
    "false": 0.0,
    "epsilon": 1e-10,
    "inf": math.inf,
}
"""Predefined names; a variable of the same name overrides them."""


def _sign(x: float) -> float:
    return (x > 0.0) - (x < 0.0)


def _round(x: float) -> float:
    """Integer nearest to x, with halves rounded away from 0, as in C."""
    return math.copysign(math.floor(abs(x) + 0.5), x)


def _outside(low: float, x: float, high: float) -> float:
    """x moved out of the range from `low` to `high`, to the nearer end."""
    if not low < x < high:
        return x
    return low if x < 0.5 * (low + high) else high


_ANY = -1
"""Argument count that stands for one or more."""
FUNCTIONS: Mapping[str, tuple[int, Callable[..., float]]] = {
    **{
        name: (1, getattr(math, name))
        for name in (
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh", "sqrt", "exp", "expm1", "log10", "log2", "log1p"),
            *("erf", "erfc"),
        )
    },
    "cot": (1, lambda x: 1.0 / math.tan(x)),
    "sec": (1, lambda x: 1.0 / math.cos(x)),
    "csc": (1, lambda x: 1.0 / math.sin(x)),
    "sinc": (1, lambda x: math.sin(x) / x if x else 1.0),
    "ncdf": (1, lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0))),
    "abs": (1, math.fabs),
    "log": (1, math.log),
    "floor": (1, math.floor),
    "ceil": (1, math.ceil),
    "trunc": (1, lambda x: float(math.trunc(x))),
    "round": (1, _round),
    "frac": (1, lambda x: x - math.trunc(x)),
    "sgn": (1, _sign),
    "deg2rad": (1, math.radians),
    "rad2deg": (1, math.degrees),
    "deg2grad": (1, lambda x: x / 0.9),
    "grad2deg": (1, lambda x: x * 0.9),
    "atan2": (2, math.atan2),
    "hypot": (2, math.hypot),
    "pow": (2, math.pow),
    "mod": (2, math.fmod),
    "logn": (2, math.log),
    "root": (2, lambda x, n: math.pow(x, 1.0 / n)),
    "roundn": (2, lambda x, places: _round(x * 10.0 ** int(places)) / 10.0 ** int(places)),
    "if": (3, lambda condition, a, b: a if condition else b),
    "equal": (2, lambda a, b: float(a == b)),
    "not_equal": (2, lambda a, b: float(a != b)),
    "clamp": (3, lambda low, x, high: min(max(x, low), high)),
    "iclamp": (3, _outside),
    "inrange": (3, lambda low, x, high: float(low <= x <= high)),
    "min": (_ANY, lambda *x: min(x)),
    "max": (_ANY, lambda *x: max(x)),
    "sum": (_ANY, lambda *x: math.fsum(x)),
    "avg": (_ANY, lambda *x: math.fsum(x) / len(x)),
    "mul": (_ANY, lambda *x: math.prod(x)),
    "mand": (_ANY, lambda *x: float(all(x))),
    "mor": (_ANY, lambda *x: float(any(x))),
}
"""Functions by name, with their numbers of arguments."""


class Draws(dict[str, tuple[int, Callable[..., float]]]):
    """Functions that draw random numbers, in the order of reading, like `FUNCTIONS`.

    The same seed and the same files give the same world on every machine. `randomize` restarts the
    sequence with another seed and returns 0.
    """

    def __init__(self, seed: int) -> None:
        source = random.Random(seed)
        self["rand"] = 0, source.random
        self["randn"] = 0, lambda: source.normalvariate(0.0, 1.0)
        self["unifrnd"] = 2, lambda low, high: low + (high - low) * source.random()
        self["randomize"] = 1, lambda seed: float(source.seed(int(seed)) or 0)


def evaluate(text: str, variables: Mapping[str, float], draws: Draws) -> float:
    """Evaluate an expression; raises if it is malformed or its value is not finite."""
    value = _Evaluation(text, variables, draws).value()
    if not math.isfinite(value):
        raise InvalidValue(f"the expression {text.strip()!r} is not finite")
    return value


class _Evaluation:
    """Recursive-descent evaluation of the tokens; each method parses one level of the grammar."""

    def __init__(self, text: str, variables: Mapping[str, float], draws: Draws) -> None:
        self._text, self._tokens = text, _tokens(text)
        self._at = self._depth = 0
        self._variables, self._draws = variables, draws
        self._small = {name.lower(): value for name, value in variables.items()}

    def value(self) -> float:
        result = self._choice()
        if self._at < len(self._tokens):
            raise self._error(f"{self._tokens[self._at]!r} is not expected")
        return result

    def _choice(self) -> float:
        self._deeper()
        condition = self._binary(0)
        if self._skip("?"):
            first = self._choice()
            self._expect(":")
            second = self._choice()
            condition = first if condition else second
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> float:
        if level == len(_BINARY):
            return self._signed()
        left = self._binary(level + 1)
        while word := self._skip(*_BINARY[level]):
            right = self._binary(level + 1)
            if word in ("/", "%") and right == 0.0:
                raise self._error("division by zero")
            name = "mod" if word == "%" else word
            left = self._called(name, _BINARY[level][word], [left, right])
        return left

    def _signed(self) -> float:
        signs: list[str] = []
        while word := self._skip("+", "-", "!", "not"):
            signs.append(word)
        value = self._power()
        for word in reversed(signs):
            if word in ("!", "not"):
                value = float(not value)
            elif word == "-":
                value = -value
        return value

    def _power(self) -> float:
        base = self._atom()
        if not self._skip("^"):
            return base
        self._deeper()
        exponent = self._signed()
        self._depth -= 1
        return self._called("pow", math.pow, [base, exponent])

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"more than {DEEPEST} parentheses or powers within one another")

    def _atom(self) -> float:
        if self._skip("("):
            inside = self._choice()
            self._expect(")")
            return inside
        if self._at == len(self._tokens):
            raise self._error("it ends too early")
        token = self._tokens[self._at]
        self._at += 1
        if token[0] in "0123456789" or (token[0] == "." and len(token) > 1):
            return float(token)
        if not re.match(r"[A-Za-z_]", token) or token.lower() in _WORDS:
            raise self._error(f"{token!r} is not expected")
        return self._function(token) if self._skip("(") else self._named(token)

    def _named(self, name: str) -> float:
        if name in self._variables:
            return self._variables[name]
        small = name.lower()
        if small in self._small:
            return self._small[small]
        if small in CONSTANTS:
            return CONSTANTS[small]
        known = sorted([*self._variables, *CONSTANTS])
        raise self._error(f"the variable {name} is unknown{_nearest(name, known)}")

    def _function(self, name: str) -> float:
        arguments = [] if self._skip(")") else self._arguments()
        small = name.lower()
        functions = {**FUNCTIONS, **self._draws}
        if small not in functions:
            known = sorted(functions)
            raise self._error(f"the function {name} is unknown{_nearest(small, known)}")
        needed, function = functions[small]
        count = len(arguments)
        if count != needed and not (needed == _ANY and count > 0):
            needs = "1 or more" if needed == _ANY else str(needed)
            raise self._error(f"{name} takes {needs} arguments, got {count}")
        return self._called(name, function, arguments)

    def _arguments(self) -> list[float]:
        values = [self._choice()]
        while self._skip(","):
            values.append(self._choice())
        self._expect(")")
        return values

    def _called(self, name: str, function: Callable[..., float], values: Sequence[float]) -> float:
        try:
            return float(function(*values))
        except (ValueError, OverflowError, ZeroDivisionError):
            shown = ", ".join(f"{value:g}" for value in values)
            raise self._error(f"{name}({shown}) has no finite value") from None

    def _skip(self, *signs: str) -> str:
        """Consume the next token if it is one of these, and return it; else return an empty
        text."""
        if self._at < len(self._tokens) and self._tokens[self._at].lower() in signs:
            self._at += 1
            return self._tokens[self._at - 1].lower()
        return ""

    def _expect(self, sign: str) -> None:
        if not self._skip(sign):
            there = self._at < len(self._tokens)
            next_token = repr(self._tokens[self._at]) if there else "the end"
            raise self._error(f"{sign!r} is missing before {next_token}")

    def _error(self, message: str) -> InvalidValue:
        text = self._text.strip()
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        return InvalidValue(f"the expression {shown!r}: {message}")


def _tokens(text: str) -> list[str]:
    return [
        number or word or sign
        for number, word, sign in _TOKEN.findall(text.strip())
        if number or word or sign.strip()
    ]


def _nearest(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, 1, 0.7)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


DIRECTORY = "MVSIM_CURRENT_FILE_DIRECTORY"
"""Built-in variable: the folder of the file in which it is used."""
LONGEST_COMMAND = 10.0
"""Timeout of a command in s."""
LONGEST_TEXT = 100_000
"""Most characters of a text after substitution."""
MOST_REPLACED = 20_000
"""Most substitutions in one text, including nested ones."""
_DEEPEST = 50
"""Largest nesting depth of variables."""
_BEGIN = re.compile(r"\$(?:env\{|f\{|\{|\()")
_LEADING_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_CLOSING = {"{": "}", "(": ")"}


@dataclass(frozen=True)
class Scope:
    """Name scope of one reading of one file."""

    folder: Path
    """Folder of the file, the base of relative paths."""
    local: Mapping[str, tuple[str, Scope]] = field(default_factory=dict)
    """Attributes of the `<include>`: their texts, and the scopes in which these were
    written."""

    def having(self, name: str, value: str) -> Scope:
        """Copy of the scope with an additional name."""
        return Scope(self.folder, {**self.local, name: (value, self)})


class Values:
    """Substitution of variables and expressions in the texts of a file."""

    def __init__(
        self, variables: Mapping[str, str], seed: int, allow_shell: bool, upstream: bool
    ) -> None:
        self.world: dict[str, str] = dict(variables)
        """World variables: those of `<variable>` and `<for>`."""
        self.named: dict[str, str] = {}
        """NAME and PARENT_NAME of the current element."""
        self._draws = Draws(seed)
        self._allow_shell = allow_shell
        self._upstream = upstream
        self._replaced = 0

    @contextmanager
    def naming(self, **names: str) -> Generator[None]:
        """Context in which NAME or PARENT_NAME stand for these texts."""
        around, self.named = self.named, {**self.named, **names}
        try:
            yield
        finally:
            self.named = around

    def expand(self, text: str, scope: Scope, depth: int = 0) -> str:
        """Text with all substitutions that begin with `$` made."""
        if "$" not in text:
            return text
        if depth > _DEEPEST:
            raise InvalidValue(f"the variables in {text!r:.200} refer to one another without end")
        self._replaced = self._replaced * (depth > 0)
        parts: list[str] = []
        at = 0
        while begin := _BEGIN.search(text, at):
            parts.append(text[at : begin.start()])
            stop = _closing(text, begin.end())
            self._replaced += 1
            if self._replaced > MOST_REPLACED:
                raise InvalidValue(f"{text!r:.200} needs more than {MOST_REPLACED} values")
            parts.append(self._value(begin[0], text[begin.end() : stop], scope, depth))
            at = stop + 1
        parts.append(text[at:])
        if sum(map(len, parts)) > LONGEST_TEXT:
            raise InvalidValue(
                f"{text!r:.200} becomes longer than {LONGEST_TEXT} characters with its variables"
            )
        return "".join(parts)

    def _value(self, kind: str, inside: str, scope: Scope, depth: int) -> str:
        if kind == "${":
            return self._variable(inside, scope, depth)
        if kind == "$env{":
            name, bar, default = inside.partition("|")
            if name in os.environ:
                return os.environ[name]
            if not bar:
                raise InvalidValue(f"the environment variable {name} is not set")
            return self.expand(default, scope, depth + 1)
        inside = self.expand(inside, scope, depth + 1)
        return self._output(inside) if kind == "$(" else self._result(inside, scope, depth)

    def _variable(self, inside: str, scope: Scope, depth: int) -> str:
        name, bar, default = inside.partition("|")
        name = name.strip()
        if name in self.named:
            return self.named[name]
        if name in scope.local:
            text, written = scope.local[name]
            return self.expand(text, written, depth + 1)
        if name == DIRECTORY:
            return scope.folder.as_posix()
        for values in (self.world, os.environ):
            if name in values:
                return values[name]
        if bar:
            return self.expand(default, scope, depth + 1)
        known = sorted({*self.world, *scope.local, *self.named, DIRECTORY})
        close = get_close_matches(name, known, 1, 0.7)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
        raise InvalidValue(f"the variable ${{{name}}} is not defined; {hint}")

    def _result(self, text: str, scope: Scope, depth: int) -> str:
        value = evaluate(text, self._numbers(text, scope, depth), self._draws)
        if self._upstream:
            return f"{value:g}"
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)

    def _numbers(self, text: str, scope: Scope, depth: int) -> dict[str, float]:
        """Variables with numeric values, by bare name."""
        # Expand only variables in the text, since an expansion may draw a random number.
        words = {word.lower() for word in re.findall(r"[A-Za-z_]\w*", text, re.ASCII)}
        texts = {name: value for name, value in self.world.items() if name.lower() in words}
        for name, (text, written) in scope.local.items():
            if name.lower() in words:
                texts[name] = self.expand(text, written, depth + 1)
        leading = {name: _LEADING_NUMBER.match(value) for name, value in texts.items()}
        return {name: float(match[0]) for name, match in leading.items() if match}

    def _output(self, command: str) -> str:
        if not self._allow_shell:
            raise InvalidValue(
                f"$({command}) would run a command; pass allow_shell=True if you trust the file"
            )
        try:
            process = subprocess.run(
                command, shell=True, capture_output=True, text=True, timeout=LONGEST_COMMAND
            )
        except subprocess.TimeoutExpired:
            raise InvalidValue(f"$({command}) did not end in {LONGEST_COMMAND:g} s") from None
        if process.returncode != 0:
            raise InvalidValue(
                f"$({command}) failed with code {process.returncode}: {process.stderr.strip()}"
            )
        return process.stdout.strip().replace("\r", "").replace("\n", "")


def _closing(text: str, begin: int) -> int:
    """Index of the bracket that closes the one before `begin`."""
    opened = text[begin - 1]
    closes, depth = _CLOSING[opened], 1
    for at in range(begin, len(text)):
        depth += (text[at] == opened) - (text[at] == closes)
        if depth == 0:
            return at
    raise InvalidValue(f"{closes!r} is missing in {text.strip()!r}")
