"""What the pages show as printed, beside what their code prints.

A page shows it in a `text` block after the Python block that prints it, or in a comment `# -> 1.25`
behind a single `print`. Numbers are compared to the digits shown. `~` before a number is for what
is another in every run, such as times; `...` is for anything within a line.
"""

from __future__ import annotations

import re
from inspect import currentframe
from pathlib import Path
from typing import NamedTuple

from pages import Block, blocks

COMMENT = re.compile(r"# -> (?P<text>.*\S)")
COMMAND = re.compile(r"(\$|skidpad|pip|python|ros2) ")
NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
PIECES = re.compile(rf"(?P<any>\.\.\.)|~(?P<about>{NUMBER})|(?P<number>{NUMBER})|(?P<space>\s+)")


class Shown(NamedTuple):
    """Text on a page: its line, and the lines of code, first and last, that print it."""

    line: int
    first: int
    last: int
    text: list[str]


def shown(page: str) -> list[Shown]:
    """All that a page shows as printed by its code; blocks of commands to type are none of it."""
    found: list[Shown] = []
    printer: Block | None = None
    for block in blocks(page):
        if block.info == "python":
            printer = block
            for line, code in enumerate(block.text, start=block.line):
                comment = COMMENT.search(code)
                if comment:
                    found.append(Shown(line, line, line, [comment["text"]]))
            continue
        if block.info == "text" and printer and not COMMAND.match(block.text[0]):
            last = printer.line + len(printer.text) - 1
            found.append(Shown(block.line, printer.line, last, block.text))
        printer = None
    return found


class Recorder:
    """A standard output that knows which line of a program is running when text comes."""

    def __init__(self, program: Path) -> None:
        self.program = str(program)
        self.written: list[tuple[int, str]] = []

    def write(self, text: str) -> int:
        self.written.append((self._line(), text))
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def between(self, first: int, last: int) -> list[str]:
        """The lines of text that these lines of the program printed."""
        text = "".join(text for line, text in self.written if first <= line <= last)
        return text.rstrip("\n").split("\n")

    def _line(self) -> int:
        """The line of the program's own level, whatever it called; 0 in another thread."""
        line, frame = 0, currentframe()
        while frame is not None:
            if frame.f_code.co_filename == self.program:
                line = frame.f_lineno
            frame = frame.f_back
        return line


def differences(page: str, recorder: Recorder) -> list[str]:
    """Where what a page shows is not what was printed, as lines for people."""
    lines: list[str] = []
    for place in shown(page):
        lines += [
            f"line {place.line + at}: {wrong}"
            for at, wrong in unlike(place.text, recorder.between(place.first, place.last))
        ]
    return lines


def unlike(text: list[str], printed: list[str]) -> list[tuple[int, str]]:
    """Lines of a text, counted from 0, that do not say what was printed."""
    if len(text) != len(printed):
        whole = "\n".join(printed)
        return [(0, f"{len(text)} lines shown, {len(printed)} printed:\n{whole}")]
    pairs = enumerate(zip(text, printed, strict=True))
    return [
        (at, f"shown {line!r}, printed {there!r}")
        for at, (line, there) in pairs
        if not says(line, there)
    ]


def says(line: str, printed: str) -> bool:
    """Whether a line shown is one that was printed, numbers to the digits shown."""
    pattern, numbers, end = "", list[str](), 0
    for piece in PIECES.finditer(line.strip()):
        pattern += re.escape(line.strip()[end : piece.start()])
        end = piece.end()
        if piece["any"]:
            pattern += ".*"
        elif piece["space"]:
            pattern += r"\s+"
        else:
            pattern += NUMBER if piece["about"] else f"({NUMBER})"
            numbers += [piece["number"]] if piece["number"] else []
    match = re.fullmatch(pattern + re.escape(line.strip()[end:]), printed.strip())
    return match is not None and all(map(rounds_to, match.groups(), numbers))


def rounds_to(printed: str, number: str) -> bool:
    """Whether a number is one with fewer digits, rounded."""
    digits, _, exponent = number.replace(",", "").partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    difference = abs(float(printed.replace(",", "")) - float(number.replace(",", "")))
    return difference <= 0.5 * unit * (1.0 + 1e-9)
