"""modelDescription.xml of FMI 2.0 and 3.0, and buildDescription.xml of 3.0.

The variables of an FMU are the leaves of the vehicle's records, under unique names: a state is
`state.v_x`, an input `input.steer`, a parameter `params.tyre.B`. The value reference of a leaf is
its index in one row: time, states, their rates (with model exchange), inputs, disturbances,
outputs, parameters. The numbered fields of a table are one array, at the reference of its first
number; FMI 2.0 has no arrays, so each number is a variable of its own, `params.map.v[1,2]`.

Version 3.0 has elements by type and refers to variables by value reference, 2.0 has scalars and
refers to them by their index in the list.

Units are exponents of the base units of the SI and of the radian. `units.Unit` has metre, kilogram
and second; it treats radian and ampere as dimensionless, so their exponents are parsed from the
symbol.

The module also traces the Programs of an FMU other than the step: directional derivatives and
dependencies.

The tangent maps changes of inputs to changes of results, the adjoint maps weights of results to
derivatives of the weighted sum with respect to inputs. Both are exact: they differentiate the
operations, one by one (see `integrate.sweep`), and are Programs themselves.

A result depends on an input that reaches it through some operation, whatever the numbers are; so an
FMU declares exactly the dependencies of the computation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice, product, takewhile
from math import inf, prod
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from .. import __version__
from ..compile import pipeline
from ..compile.portable import evaluate
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.arrays import ArrayNumber
from ..core.record import Field
from ..integrate.base import as_written
from ..run.arguments import make_consistent
from ..units import Unit
from .exported import Export, settle_program

MOVING = ("x", "start", "u", "w", "p")
"""Input ports with respect to which results are differentiated."""


def tangent_program(program: Program) -> Program:
    """Tangent of a traced Program with one output port.

    It maps the inputs and a change of each (dx, du, ...) to the change of the output.
    """
    (result,) = program.outputs
    changes = tuple(Port(f"d{port.name}", port.fields) for port in _moving(program))

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        from ..integrate.derivatives import pushforward

        values, symbols = _evaluated(program, ports[: len(program.inputs)])
        direction = _column(v for port in ports[len(program.inputs) :] for v in port)
        return (pushforward(values, symbols, direction).elements() if result.fields else (),)

    outputs = (Port(f"d{result.name}", result.fields),)
    return trace(f"{program.name}.tangent", function, (*program.inputs, *changes), outputs)


def adjoint_program(program: Program) -> Program:
    """Adjoint of a traced Program with one output port.

    It maps the inputs and weights of the output to the derivatives of the weighted sum, one port
    for each port of `MOVING`.
    """
    outputs = tuple(Port(f"d{port.name}", port.fields) for port in _moving(program))

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        from ..integrate.derivatives import pullback

        values, symbols = _evaluated(program, ports[:-1])
        leaves = iter(pullback(values, _column(ports[-1]), symbols).elements())
        return tuple(tuple(islice(leaves, len(port.fields))) for port in outputs)

    inputs = (*program.inputs, Port("weights", program.outputs[0].fields))
    return trace(f"{program.name}.adjoint", function, inputs, outputs)


def _moving(program: Program) -> tuple[Port, ...]:
    return tuple(port for port in program.inputs if port.name in MOVING)


def _column(values: Iterable[Any]) -> Any:
    import casadi as ca

    from ..integrate.derivatives import column

    return column(map(ca.SX, values))


def _evaluated(program: Program, ports: Sequence[tuple[Any, ...]]) -> tuple[Any, Any]:
    """Results of a Program as a CasADi column, and the symbols of the differentiated inputs."""
    moving = [
        symbol
        for port, values in zip(program.inputs, ports, strict=True)
        for symbol in (values if port.name in MOVING else ())
    ]
    with as_written(next((s for values in ports for s in values), None)):
        (values,) = evaluate(program, ports)
    return _column(values), _column(moving)


Place = tuple[str, int]
"""Reference to an input: the name of its port and the index of its field."""
_Reached = frozenset[Any]
"""Set of inputs that affect a value."""


def dependencies(program: Program) -> tuple[frozenset[Place], ...]:
    """Inputs that each field of the first output port depends on."""
    functions: list[list[_Reached]] = []
    for function in program.functions:
        functions.append(_of_results(function, functions, lambda port, field: field))
    names = [port.name for port in program.inputs]
    return tuple(_of_results(program, functions, lambda port, field: (names[port], field)))


def _of_results(
    program: Program, functions: Sequence[list[_Reached]], named: Any
) -> list[_Reached]:
    """Inputs that each field of the first output port depends on, converted by `named`."""
    reached: list[Any] = []
    for op, args, imm in program.code:
        if op == "input":
            reached.append(frozenset([named(*imm)]))
        elif op == "call":
            # A function runs imm[1] times on its own results.
            values, arguments = list[_Reached](), [reached[a] for a in args]
            for _ in range(imm[1]):
                needs = functions[imm[0]]
                values = [frozenset[Any]().union(*(arguments[a] for a in need)) for need in needs]
                arguments = [*values, *arguments[len(values) :]]
            reached.append(values)
        elif op == "item":
            reached.append(reached[args[0]][imm])
        else:
            reached.append(frozenset[Any]().union(*(reached[a] for a in args)))
    return [reached[r] for r in program.results[0]]


@dataclass(frozen=True)
class Programs:
    """Traced Programs of a vehicle, each traced on first use."""

    exported: Export

    @property
    def exchanges(self) -> bool:
        """Whether a tool can integrate the vehicle (model exchange).

        It must be continuous, sample nothing at the start of a step, and have no delayed input.
        """
        model = self.exported.model
        return model.continuous and model.hold is None and not model.dead_times

    @cached_property
    def outputs(self) -> Program | None:
        """Program of the outputs, from (x, start, u, w, p); None for a vehicle without outputs."""
        program = self.exported.plant.outputs
        return program if program.outputs[0].fields else None

    @cached_property
    def rates(self) -> Program | None:
        """Program of the rates of x, from (x, start, u, w, p); None without model exchange."""
        return pipeline.derivative_program(self.exported.vehicle) if self.exchanges else None

    @cached_property
    def settle(self) -> Program | None:
        """Program of the consistent start, from (x, p); None if starts are used unchanged."""
        return settle_program(self.exported.model)

    @cached_property
    def tangents(self) -> dict[str, Program]:
        """Tangents of the Programs, by their names in the source."""
        return {f"{name}_tangent": tangent_program(part) for name, part in self._parts.items()}

    @cached_property
    def adjoints(self) -> dict[str, Program]:
        """Adjoints of the Programs, by their names in the source."""
        return {f"{name}_adjoint": adjoint_program(part) for name, part in self._parts.items()}

    @property
    def _parts(self) -> dict[str, Program]:
        parts = {"outputs": self.outputs, "rates": self.rates, "settle": self.settle}
        return {name: program for name, program in parts.items() if program is not None}

    @cached_property
    def of_outputs(self) -> tuple[frozenset[Place], ...]:
        """Input dependencies of each output."""
        return () if self.outputs is None else dependencies(self.outputs)

    @cached_property
    def of_rates(self) -> tuple[frozenset[Place], ...]:
        """Input dependencies of each state rate."""
        return () if self.rates is None else dependencies(self.rates)

    @cached_property
    def of_starts(self) -> dict[int, frozenset[Place]]:
        """States with a computed start, by index, and the inputs it depends on."""
        if self.settle is None:
            return {}
        code, needed = self.settle.code, dependencies(self.settle)
        taken = [(code[r].op, code[r].imm) for r in self.settle.results[0]]
        return {k: needed[k] for k, made in enumerate(taken) if made != ("input", (0, k))}

    def at_start(self, places: Iterable[Place]) -> set[Place]:
        """Dependencies at the start; a computed state is replaced by the states that determine it.

        Before the first step, the state at the start of the step is the current state.
        """
        independent: set[Place] = set()
        for port, place in places:
            if port not in ("x", "start"):
                independent.add((port, place))
                continue
            source = self.of_starts.get(place, frozenset({("x", place)}))
            independent |= {at for at in source if at[0] != "x" or at[1] not in self.of_starts}
        return independent


TIME = 0
"""Value reference of the time."""
_PORTS = {"x": "state", "u": "input", "w": "disturbance", "p": "params"}
_NUMBERED = re.compile(r"(.*?[^\d_])((?:_\d+)+)")
_RATES = {"m": "m/s", "m/s": "m/s²", "m/s²": "m/s³", "rad": "rad/s", "rad/s": "rad/s²", "1": "1/s"}
"""Units of rates whose symbol is not formed by appending "per second"."""


class Variable(NamedTuple):
    """A variable of an FMU: one leaf of a record, or an array of several."""

    name: str
    reference: int
    group: str
    """Group of the variable: "state", "rate", "input", "disturbance", "output" or "params"."""
    place: int
    """Index of its first leaf in the record."""
    field: Field
    """Record field of its first leaf."""
    start: tuple[float, ...] = ()
    shape: tuple[int, ...] = ()
    """Array shape; empty for a scalar."""

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def unit(self) -> Unit:
        return rate_unit(self.field.unit) if self.group == "rate" else self.field.unit


@dataclass(frozen=True)
class Variables:
    """All variables of a vehicle as an FMU."""

    programs: Programs

    @property
    def exported(self) -> Export:
        return self.programs.exported

    @cached_property
    def _kinds(self) -> dict[str, Any]:
        """Record class of each variable group, in order; rates share the class of the states."""
        model = self.exported.model
        kinds = (model.State, model.State, model.Input, model.Disturbance, model.Outputs)
        return dict(zip(_ROLES, (*kinds, model.Params), strict=True))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of leaves of each group, in order."""
        exchanges = self.programs.exchanges
        return {
            group: record.size(kind) if group != "rate" or exchanges else 0
            for group, kind in self._kinds.items()
        }

    @cached_property
    def first(self) -> dict[str, int]:
        """FMI value reference of the first scalar of each group of variables."""
        starts = accumulate(self.sizes.values(), initial=TIME + 1)
        return dict(zip(self.sizes, starts, strict=False))

    @cached_property
    def starts(self) -> dict[str, tuple[float, ...]]:
        """Start values of all leaves that have one, by group."""
        vehicle, model = self.exported.vehicle, self.exported.model
        whole = make_consistent(model, record.build(model.State), vehicle.params, None, ())
        return {
            "state": tuple(map(float, record.flatten(whole))),
            "input": record.flatten(record.build(model.Input)),
            "disturbance": record.flatten(record.build(model.Disturbance)),
            "params": record.flatten(vehicle.params),
        }

    def fields(self, group: str) -> tuple[Field, ...]:
        """Record leaves of a variable group; rates have the same leaves as states."""
        return record.fields(self._kinds[group]) if self.sizes[group] else ()

    def listed(self, arrays: bool) -> list[Variable]:
        """Variables in order; with `arrays`, each table of numbered fields is one variable."""
        return [variable for group in self.sizes for variable in self._of_group(group, arrays)]

    def _of_group(self, group: str, arrays: bool) -> Iterator[Variable]:
        leaves, starts = self.fields(group), self.starts.get(group, ())
        shapes = shapes_of(leaves) if group == "params" else {}
        place = 0
        while place < len(leaves):
            leaf, reference = leaves[place], self.first[group] + place
            stem, shape = shapes.get(place, (leaf.name, ()))
            count = prod(shape)
            own = starts[place : place + count]
            if isinstance(next(iter(own), None), ArrayNumber):
                pass  # the number of a shared array, not a quantity
            elif shape and not arrays:
                for k, at in enumerate(product(*(range(1, n + 1) for n in shape))):
                    name = f"{group}.{stem}[{','.join(map(str, at))}]"
                    one = leaves[place + k]
                    yield Variable(name, reference + k, group, place + k, one, own[k : k + 1])
            else:
                name = f"der(state.{stem})" if group == "rate" else f"{group}.{stem}"
                yield Variable(name, reference, group, place, leaf, own, shape)
            place += count

    def references(self, places: Iterable[Place]) -> list[int]:
        """Value references of inputs of a Program, in order."""
        return sorted(self.first[_PORTS[port]] + place for port, place in places)


def shapes_of(leaves: Sequence[Field]) -> dict[int, tuple[str, tuple[int, ...]]]:
    """Name and shape of each array among leaves, by the index of its first number.

    Neighbouring leaves form an array if they are numbered from 0 or 1, row by row, and share
    meaning, unit and range: `row_0`, `row_1`, or `v_0_0`, `v_0_1`.
    """
    arrays: dict[int, tuple[str, tuple[int, ...]]] = {}
    place = 0
    while place < len(leaves):
        kind = _likeness(leaves[place])
        alike = takewhile(lambda leaf, kind=kind: _likeness(leaf) == kind, leaves[place:])
        run = [_numbers(leaf.name)[1] for leaf in alike]
        shape = _shape(run)
        if shape:
            arrays[place] = (kind[0], shape)
        place += prod(shape)
    return arrays


def _likeness(leaf: Field) -> tuple[Any, ...]:
    """Properties that all leaves of one array share: name stem, meaning, unit and range."""
    stem, at = _numbers(leaf.name)
    return stem, len(at), *leaf[1:3], leaf.allowed


def _numbers(name: str) -> tuple[str, tuple[int, ...]]:
    match = _NUMBERED.fullmatch(name)
    return (match[1], tuple(map(int, match[2].split("_")[1:]))) if match else (name, ())


def _shape(run: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Shape of the array that the indices enumerate; empty if they do not form one."""
    if len(run) < 2 or not (len({*run[0]}) == 1 and run[0][0] in (0, 1)):
        return ()
    base = run[0][0]
    shape = tuple(max(at) - base + 1 for at in zip(*run, strict=True))
    return shape if run == [*product(*(range(base, base + n) for n in shape))] else ()


def rate_unit(unit: Unit) -> Unit:
    """Unit of the time derivative of a quantity in `unit`, such as m/s for m."""
    symbol = _RATES.get(unit.symbol)
    if symbol is None:
        symbol = f"({unit.symbol})/s" if re.search("[/·]", unit.symbol) else f"{unit.symbol}/s"
    return Unit(symbol, unit.length, unit.mass, unit.time - 1.0)


_DISPLAYED = {
    "rad": ("deg", 180.0 / math.pi),
    "m/s": ("km/h", 3.6),
    "rad/s": ("deg/s", 180.0 / math.pi),
}
"""Display units, by unit: the name and the number of display units per unit."""
_AMPERES = {"A": 1, "V": -1, "Ω": -2}
"""Exponent of the ampere in a unit."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_FACTOR = re.compile(r"([^\W\d_]+)([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*)|([/()·])")


class BaseUnit(NamedTuple):
    """Exponents of the base units, under their names in FMI."""

    kg: int = 0
    m: int = 0
    s: int = 0
    A: int = 0
    rad: int = 0

    @property
    def attributes(self) -> dict[str, str]:
        """Exponents other than 0, as XML attributes."""
        return {name: str(n) for name, n in self._asdict().items() if n}


def base_unit(unit: Unit) -> BaseUnit | None:
    """Exponents of a unit; None if one is not an integer, which FMI cannot express."""
    if any(exponent % 1.0 for exponent in unit.dimension):
        return None
    length, mass, time = (int(exponent) for exponent in unit.dimension)
    # Radian and ampere are in the symbol alone, such as "N·m·s/rad" or "rad/(N·m)".
    rad = ampere = 0
    sign, within = 1, False
    for name, power, mark in _FACTOR.findall(unit.symbol):
        if mark == "/":
            sign = -1
        elif mark == "(":
            within = True
        elif mark == ")":
            sign, within = 1, False
        elif mark == "·":
            sign = sign if within else 1
        else:
            exponent = sign * int(power.translate(_SUPERSCRIPTS) or 1)
            rad += exponent * (name == "rad")
            ampere += exponent * _AMPERES.get(name, 0)
    return BaseUnit(kg=mass, m=length, s=time, A=ampere, rad=rad)


STOP_TIME = 10.0
"""End time of the default experiment, in s."""
_CATEGORIES = {
    "logStatusError": "A call that cannot be answered, with the variable and the value.",
    "logStatusDiscard": "A step that could not be made.",
}
_CAPABILITIES = {
    2: "canGetAndSetFMUstate canSerializeFMUstate providesDirectionalDerivative "
    "canNotUseMemoryManagementFunctions",
    3: "canGetAndSetFMUState canSerializeFMUState providesDirectionalDerivatives "
    "providesAdjointDerivatives",
}
"""Capability attributes that hold for co-simulation and model exchange, by FMI version."""


class Unknown(NamedTuple):
    """Value references of a computed variable and of its dependencies."""

    reference: int
    known: list[int]


def model_description(
    programs: Programs, version: int, token: str, sources: Sequence[str] = ()
) -> bytes:
    """Text of modelDescription.xml.

    `token` identifies the FMU to its library; `sources` are the files that FMI 2.0 lists.
    """
    variables, exported = Variables(programs), programs.exported
    listed = variables.listed(arrays=version == 3)
    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "3.0" if version == 3 else "2.0",
            "modelName": exported.vehicle.name,
            "instantiationToken" if version == 3 else "guid": token,
            "description": exported.model.summary or exported.vehicle.name,
            "generationTool": f"skidpad {__version__}",
            "variableNamingConvention": "structured",
        },
    )
    if version == 2:
        root.set("numberOfEventIndicators", "0")
    named = {"modelIdentifier": exported.name}
    named |= dict.fromkeys(_CAPABILITIES[version].split(), "true")
    interfaces = {"CoSimulation": {"canHandleVariableCommunicationStepSize": "true"}}
    if version == 3:
        interfaces["CoSimulation"]["fixedInternalStepSize"] = _number(exported.dt)
    if programs.exchanges:
        more = {"completedIntegratorStepNotNeeded": "true"} if version == 2 else {}
        interfaces = {"ModelExchange": more} | interfaces
    for interface, more in interfaces.items():
        element = ET.SubElement(root, interface, named | more)
        files = ET.SubElement(element, "SourceFiles") if version == 2 else element
        for source in sources if version == 2 else ():
            ET.SubElement(files, "File", name=source)
    _units(root, [variable.unit for variable in listed])
    categories = ET.SubElement(root, "LogCategories")
    for name, text in _CATEGORIES.items():
        ET.SubElement(categories, "Category", name=name, description=text)
    experiment = {"startTime": "0", "stopTime": _number(STOP_TIME)}
    ET.SubElement(root, "DefaultExperiment", experiment, stepSize=_number(exported.dt))
    _variables(root, variables, listed, version)
    _structure(root, variables, listed, version)
    return _text(root)


def build_description(name: str, sources: Sequence[str]) -> bytes:
    """Text of sources/buildDescription.xml of FMI 3.0."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    build = ET.SubElement(root, "BuildConfiguration", modelIdentifier=name)
    options = "-O2 -ffp-contract=off -fno-fast-math"
    files = ET.SubElement(build, "SourceFileSet", language="C99", compilerOptions=options)
    for source in sources:
        ET.SubElement(files, "SourceFile", name=source)
    return _text(root)


def _units(root: ET.Element, units: Iterable[Unit]) -> None:
    definitions = ET.SubElement(root, "UnitDefinitions")
    for symbol, unit in {unit.symbol: unit for unit in [Unit("s", time=1), *units]}.items():
        if symbol == "1":
            continue
        element, base = ET.SubElement(definitions, "Unit", name=symbol), base_unit(unit)
        if base is not None:
            ET.SubElement(element, "BaseUnit", base.attributes)
        if symbol in _DISPLAYED:
            name, factor = _DISPLAYED[symbol]
            ET.SubElement(element, "DisplayUnit", name=name, factor=_number(factor))


def _variables(
    root: ET.Element, variables: Variables, listed: Sequence[Variable], version: int
) -> None:
    element = ET.SubElement(root, "ModelVariables")
    time = {"name": "time", "valueReference": str(TIME), "causality": "independent"}
    time |= {"variability": "continuous", "description": "Simulation time"}

    def add(head: dict[str, str], numbers: dict[str, str], shape: tuple[int, ...] = ()) -> None:
        if version == 2:
            ET.SubElement(ET.SubElement(element, "ScalarVariable", head), "Real", numbers)
            return
        added = ET.SubElement(element, "Float64", head | numbers)
        for count in shape:
            ET.SubElement(added, "Dimension", start=str(count))

    add(time, {"unit": "s"})
    index = {variable.reference: k for k, variable in enumerate(listed, 2)}
    for variable in listed:
        head = {"name": variable.name, "valueReference": str(variable.reference)}
        text, allowed = " ".join(variable.field.doc.split()), variable.field.allowed
        numbers = {} if variable.unit.symbol == "1" else {"unit": variable.unit.symbol}
        role = _ROLES[variable.group]
        if variable.group == "rate":
            text = f"Rate of change of state.{variable.field.name}"
            state = variables.first["state"] + variable.place
            numbers["derivative"] = str(state if version == 3 else index[state])
        elif allowed is not None:
            if allowed.open_low or allowed.whole:  # FMI attributes cannot express this
                text = f"{text} Allowed is {allowed}.".strip()
            ends = {"min": allowed.low, "max": allowed.high}
            numbers |= {name: _number(end) for name, end in ends.items() if abs(end) != inf}
        if variable.group == "state" and variable.place in variables.programs.of_starts:
            role = role | {"initial": "approx"}
        head |= {"description": text} | role
        if variable.start:
            numbers["start"] = " ".join(map(_number, variable.start))
        add(head, numbers, variable.shape)


_ROLES = {
    "state": {"causality": "output", "variability": "continuous", "initial": "exact"},
    "rate": {"causality": "local", "variability": "continuous", "initial": "calculated"},
    "input": {"causality": "input", "variability": "continuous"},
    "disturbance": {"causality": "input", "variability": "continuous"},
    "output": {"causality": "output", "variability": "continuous", "initial": "calculated"},
    "params": {"causality": "parameter", "variability": "tunable", "initial": "exact"},
}
"""XML attributes of the variables of each group; a computed start of a state is "approx"."""


def _structure(
    root: ET.Element, variables: Variables, listed: Sequence[Variable], version: int
) -> None:
    structure = ET.SubElement(root, "ModelStructure")
    if version == 3:
        # An array has a single reference, the reference of its first number.
        places = {v.reference + k: v.reference for v in listed for k in range(v.size)}
    else:
        places = {v.reference: k for k, v in enumerate(listed, 2)}
    for kind, unknowns in unknowns_of(variables).items():
        parent, attribute = structure, "valueReference"
        if version == 2 and unknowns:
            parent, attribute = ET.SubElement(structure, _KINDS_OF_2[kind]), "index"
        for unknown in unknowns:
            known = dict.fromkeys(places[r] for r in unknown.known if r in places)
            own = {attribute: str(places.get(unknown.reference))}
            element = ET.SubElement(parent, kind if version == 3 else "Unknown", own)
            element.set("dependencies", " ".join(map(str, known)))


_KINDS_OF_2 = {
    "Output": "Outputs",
    "ContinuousStateDerivative": "Derivatives",
    "InitialUnknown": "InitialUnknowns",
}
"""Names of the lists of computed variables in FMI 2.0, by the elements of 3.0."""


def unknowns_of(variables: Variables) -> dict[str, list[Unknown]]:
    """Computed variables of the model structure, by the names of FMI 3.0.

    Outputs are the states and the outputs of the vehicle; rates and outputs depend on states and
    inputs, starts on the independent states, inputs and parameters.
    """
    first, programs = variables.first, variables.programs

    def dependent(group: str, known: str, parts: Iterable[Iterable[Place]]) -> list[Unknown]:
        return [
            Unknown(first[group] + k, variables.references(p for p in places if p[0] in known))
            for k, places in enumerate(parts)
        ]

    # States that only steps change are unknown to the tool, so no dependency on them is declared.
    known = "xuw" if programs.exchanges else "uw"
    states = range(first["state"], first["state"] + variables.sizes["state"])
    starts = {
        "state": programs.of_starts,
        "rate": dict(enumerate(programs.of_rates)),
        "output": dict(enumerate(programs.of_outputs)),
    }
    return {
        "Output": [Unknown(k, [k] if programs.exchanges else []) for k in states]
        + dependent("output", known, programs.of_outputs),
        "ContinuousStateDerivative": dependent("rate", "xuw", programs.of_rates),
        "InitialUnknown": [
            Unknown(first[group] + k, variables.references(programs.at_start(places)))
            for group, unknowns in starts.items()
            for k, places in unknowns.items()
        ],
    }


def _number(value: float) -> str:
    return repr(float(value))


_NOT_XML = re.compile("[^\\t\\n\\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _text(root: ET.Element) -> bytes:
    for element in root.iter():
        for name, value in element.items():
            element.set(name, _NOT_XML.sub("\ufffd", value))
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
