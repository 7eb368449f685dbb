"""A step Program with further states behind it that other code updates, its own code untouched.

What is appended takes inputs of the Program alone. So whether a product of the motion goes into a
sum, and how often a reciprocal is used, is what it is without the appended code: no bit changes.
"""

from __future__ import annotations

from dataclasses import replace

from ..compile.program import Instruction, Port, Program

_X, _U, _P, _DT, _START = 0, 1, 3, 4, 5
"""Input ports of a step Program, see `kernels.STEP_PORTS`."""


class JoinedStep:
    """Joins a step and the update of what is kept.

    Args:
        motion: the step.
        update: with the ports of `Folding.ports`: states, memory, numbers kept, input, parameters
            and dt, to the numbers after a sample.
        substeps: of the step; a sample is the state at the start of the whole step.
        halt: place among the numbers of one that says, by not being NaN, that the vehicle stays
            where it is; None if it never does.
    """

    def __init__(self, motion: Program, update: Program, substeps: int, halt: int | None) -> None:
        self._motion, self._update, self._substeps, self._halt = motion, update, substeps, halt
        self._code = list(motion.code)
        self._inputs = {i.imm: k for k, i in enumerate(motion.code) if i.op == "input"}

    def program(self) -> Program:
        """The whole."""
        motion, update = self._motion, self._update
        kept = self._appended()
        states, residual = motion.results
        if self._halt is not None:
            states, residual = self._halted(kept[self._halt], states, residual)
        moved = [replace(f, code=tuple(map(self._renumbered, f.code))) for f in update.functions]
        return replace(
            motion,
            name=f"{motion.name}.folded",
            inputs=self._ports(),
            outputs=(self._longer(motion.outputs[0]), motion.outputs[1]),
            code=tuple(self._code),
            results=((*states, *kept), residual),
            functions=(*motion.functions, *moved),
        )

    def _ports(self) -> tuple[Port, ...]:
        x, u, w, p, dt, start = self._motion.inputs
        told = Port(u.name, self._update.inputs[3].fields)
        if self._substeps > 1 or start.fields:
            start = Port(start.name, self._longer(x).fields)
        return (self._longer(x), told, w, p, dt, start)

    def _longer(self, port: Port) -> Port:
        names = self._update.outputs[0].fields
        return Port(port.name, (*port.fields, *(f"folds.{name}" for name in names)))

    def _appended(self) -> tuple[int, ...]:
        """Where the results of the update are in the code, which has it from now on."""
        place: list[int] = []
        for i in self._update.code:
            if i.op == "input":
                place.append(self._input(*i.imm))
            else:
                moved = i._replace(args=tuple(place[a] for a in i.args))
                place.append(self._added(self._renumbered(moved)))
        return tuple(place[r] for r in self._update.results[0])

    def _renumbered(self, i: Instruction) -> Instruction:
        """A call of the same function, which now stands behind those of the motion."""
        if i.op != "call":
            return i
        number, times = i.imm
        return i._replace(imm=(number + len(self._motion.functions), times))

    def _input(self, port: int, field: int) -> int:
        """An input of the update, by port and field, as one of the step."""
        state = _X if self._substeps == 1 else _START
        before = (0, len(self._update.inputs[0].fields), len(self._motion.inputs[_X].fields))
        places = {0: state, 1: state, 2: state, 3: _U, 4: _P, 5: _DT}
        return self._read(places[port], field + (before[port] if port < len(before) else 0))

    def _read(self, port: int, field: int) -> int:
        if (port, field) not in self._inputs:
            self._inputs[port, field] = self._added(Instruction("input", (), (port, field)))
        return self._inputs[port, field]

    def _added(self, instruction: Instruction) -> int:
        self._code.append(instruction)
        return len(self._code) - 1

    def _halted(
        self, ended: int, states: tuple[int, ...], residual: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """States and residual of a vehicle that stays where it is from its end on."""
        over = self._added(Instruction("eq", (ended, ended)))
        stay = [self._read(_X, k) for k in range(len(states))]
        none = self._added(Instruction("const", (), 0.0))
        choose = [*zip(stay, states, strict=True), *((none, r) for r in residual)]
        chosen = [self._added(Instruction("select", (over, old, new))) for old, new in choose]
        return tuple(chosen[: len(states)]), tuple(chosen[len(states) :])
