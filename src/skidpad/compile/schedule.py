"""The order in which independent operations are written: it changes no bits, only the speed.

A traced function comes out depth first, one wheel after the other, as chains of operations that
wait for each other. A processor looks ahead a few hundred instructions, so it finds little to do at
the same time. Here the chains are woven together by a list scheduler, longest remaining chain
first: the four-wheel car runs 1.4 times as fast in lanes and twice as fast alone. Limiting the
number of live values as well (Goodman and Hsu, 1988) was tried and made no difference, nor did
issuing products beside the rest; LLVM's own allocator copes. Its scheduler is off where it would
undo the order (`pipeline`).
"""

from __future__ import annotations

import heapq
from dataclasses import replace

from .program import Instruction, Program

_LATENCY = {"div": 14, "sqrt": 20, "fma": 4, "mul": 3, "add": 3, "sub": 3, "lt": 3} | {"read": 20}
_DEFAULT_LATENCY = 2
"""Cycles until a result can be used, about as on current x86 cores (Fog's instruction tables)."""
LARGEST = 10_000
"""Instructions of the largest function that is woven. A larger one is an elimination: woven, its
values live so long that it runs no faster in lanes and takes LLVM twice as long to compile."""


def scheduled(program: Program) -> Program:
    """The same Program in an order that keeps the processor busy."""
    functions = tuple(
        function if len(function.code) > LARGEST else _scheduled(function, program.functions)
        for function in program.functions
    )
    return replace(_scheduled(program, program.functions), functions=functions)


def _scheduled(program: Program, functions: tuple[Program, ...]) -> Program:
    order = _order(program, functions)
    place = [0] * len(order)
    for n, k in enumerate(order):
        place[k] = n
    code = tuple(
        Instruction(i.op, tuple([place[a] for a in i.args]), i.imm)
        for i in (program.code[k] for k in order)
    )
    results = tuple(tuple(place[r] for r in result) for result in program.results)
    return replace(program, code=code, results=results)


def _order(program: Program, functions: tuple[Program, ...]) -> list[int]:
    """Instruction indices in the order of a machine that starts one operation a cycle."""
    users: list[list[int]] = [[] for _ in program.code]
    waiting_for: list[int] = []
    for k, i in enumerate(program.code):
        operands = set(i.args)
        waiting_for.append(len(operands))
        for a in operands:
            users[a].append(k)
    latency = [_latency(i, functions) for i in program.code]
    remaining = _remaining(latency, users)
    start = [0] * len(program.code)
    later = [(0, k) for k, n in enumerate(waiting_for) if n == 0]
    ready: list[tuple[int, int]] = []
    order: list[int] = []
    now = 0
    while ready or later:
        if not ready:
            now = max(now, later[0][0])
        while later and later[0][0] <= now:
            k = heapq.heappop(later)[1]
            heapq.heappush(ready, (-remaining[k], k))
        k = heapq.heappop(ready)[1]
        order.append(k)
        ready_at = now + latency[k]
        for user in users[k]:
            start[user] = max(start[user], ready_at)
            waiting_for[user] -= 1
            if waiting_for[user] == 0:
                heapq.heappush(later, (start[user], user))
        now += program.code[k].op not in ("const", "input")
    return order


def _latency(i: Instruction, functions: tuple[Program, ...]) -> int:
    if i.op == "call":
        return len(functions[i.imm[0]].code)
    return 0 if i.op in ("const", "input", "item") else _LATENCY.get(i.op, _DEFAULT_LATENCY)


def _remaining(latency: list[int], users: list[list[int]]) -> list[int]:
    """Cycles from the start of each operation to the end of the longest chain that needs it."""
    length = [0] * len(latency)
    for k in range(len(latency) - 1, -1, -1):
        length[k] = latency[k] + max((length[u] for u in users[k]), default=0)
    return length
