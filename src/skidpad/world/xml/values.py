"""Values in world files: variables, the environment, expressions and, if allowed, commands."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from ...errors import InvalidValue
from .expression import Draws, evaluate

DIRECTORY = "MVSIM_CURRENT_FILE_DIRECTORY"
"""Built-in variable: the folder of the file in which it is written."""
LONGEST_COMMAND = 10.0
"""Time in s after which a command is given up."""
LONGEST_TEXT = 100_000
"""Characters of a text after its variables are replaced."""
MOST_REPLACED = 20_000
"""Variables and expressions of one text, with those that stand in them."""
_DEEPEST = 50
"""Most variables that refer to one another."""
_BEGIN = re.compile(r"\$(?:env\{|f\{|\{|\()")
_LEADING_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_CLOSING = {"{": "}", "(": ")"}


@dataclass(frozen=True)
class Scope:
    """What names mean in one reading of one file."""

    folder: Path
    """Of the file; relative paths lead from here."""
    local: Mapping[str, tuple[str, Scope]] = field(default_factory=dict)
    """Attributes of the `<include>`: their texts, and the scope these were written in."""

    def having(self, name: str, value: str) -> Scope:
        """This scope with one name more."""
        return Scope(self.folder, {**self.local, name: (value, self)})


class Values:
    """Turns texts of a file into texts without variables and expressions."""

    def __init__(
        self, variables: Mapping[str, str], *, seed: int, allow_shell: bool, upstream: bool
    ) -> None:
        self.world: dict[str, str] = dict(variables)
        """World variables: those of `<variable>` and `<for>`."""
        self.named: dict[str, str] = {}
        """NAME and PARENT_NAME of what is being read."""
        self._draws = Draws(seed)
        self._allow_shell = allow_shell
        self._upstream = upstream
        self._replaced = 0

    def expand(self, text: str, scope: Scope, depth: int = 0) -> str:
        """The text with everything that begins with `$` replaced."""
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
        if name in self.world:
            return self.world[name]
        if name in os.environ:
            return os.environ[name]
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
        """Variables that are numbers, by their bare names."""
        # Only those that are asked for: expanding one may draw a random number.
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
                command,
                shell=True,
                capture_output=True,
                text=True,
                timeout=LONGEST_COMMAND,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InvalidValue(f"$({command}) did not end in {LONGEST_COMMAND:g} s") from None
        if process.returncode != 0:
            raise InvalidValue(
                f"$({command}) failed with code {process.returncode}: {process.stderr.strip()}"
            )
        return process.stdout.strip().replace("\r", "").replace("\n", "")


def _closing(text: str, begin: int) -> int:
    """Where the bracket is closed that opens before `begin`."""
    opened = text[begin - 1]
    closes, depth = _CLOSING[opened], 1
    for at in range(begin, len(text)):
        depth += (text[at] == opened) - (text[at] == closes)
        if depth == 0:
            return at
    raise InvalidValue(f"{closes!r} is missing in {text.strip()!r}")
