"""modelDescription.xml of FMI 2.0 and 3.0, and buildDescription.xml of 3.0.

The variables of an FMU are the leaves of the vehicle's records, under names that never collide: a
state is `state.v_x`, an input `input.steer`, a parameter `params.tyre.B`. The value reference of a
leaf is its index in one row: time, states, their rates (with model exchange), inputs, disturbances,
outputs, parameters. The numbered fields of a table are one array, at the reference of its first
number; FMI 2.0 has no arrays, so each number is a variable of its own, `params.map.v[1,2]`.

Version 3.0 has elements by type and refers to variables by value reference, 2.0 has scalars and
refers to them by their index in the list.

Units are exponents of the base units of the SI and of the radian. `units.Unit` has metre, kilogram
and second; radian and ampere count as pure numbers there, so their exponents are parsed from the
symbol.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import NamedTuple
from xml.etree import ElementTree as ET

from .. import __version__
from ..core import record
from ..core.arrays import ArrayNumber
from ..core.record import Field
from ..run.arguments import make_consistent
from ..units import Unit
from .exported import Export
from .fmu_programs import Place, Programs

TIME = 0
"""Value reference of the time."""
_PORTS = {"x": "state", "u": "input", "w": "disturbance", "p": "params"}
_NUMBERED = re.compile(r"(.*?[^\d_])((?:_\d+)+)")
_RATES = {"m": "m/s", "m/s": "m/s²", "m/s²": "m/s³", "rad": "rad/s", "rad/s": "rad/s²", "1": "1/s"}
"""Rates of units whose symbol is not just "per second" appended."""


class Variable(NamedTuple):
    """A variable of an FMU: one leaf of a record, or an array of several."""

    name: str
    reference: int
    group: str
    """"state", "rate", "input", "disturbance", "output" or "params"."""
    place: int
    """Index of its first leaf in the record."""
    field: Field
    """Its first leaf."""
    start: tuple[float, ...] = ()
    shape: tuple[int, ...] = ()
    """Numbers along each dimension; empty for a scalar."""

    @property
    def size(self) -> int:
        """Count of its numbers."""
        return prod(self.shape)

    @property
    def unit(self) -> Unit:
        """Unit of its numbers."""
        return rate_unit(self.field.unit) if self.group == "rate" else self.field.unit


@dataclass(frozen=True)
class Variables:
    """All variables of a vehicle as an FMU."""

    programs: Programs

    @property
    def exported(self) -> Export:
        """The vehicle."""
        return self.programs.exported

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Count of leaves of each group, in order."""
        model = self.exported.model
        states = record.size(model.State)
        return {
            "state": states,
            "rate": states if self.programs.exchanges else 0,
            "input": record.size(model.Input),
            "disturbance": record.size(model.Disturbance),
            "output": record.size(model.Outputs),
            "params": record.size(model.Params),
        }

    @cached_property
    def first(self) -> dict[str, int]:
        """The value reference of the first leaf of each group."""
        reference, first = TIME + 1, dict[str, int]()
        for group, size in self.sizes.items():
            first[group] = reference
            reference += size
        return first

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
        """The leaves of a group; rates have those of the states."""
        model = self.exported.model
        kinds = {
            "input": model.Input,
            "disturbance": model.Disturbance,
            "output": model.Outputs,
            "params": model.Params,
        }
        return record.fields(kinds.get(group, model.State)) if self.sizes[group] else ()

    def listed(self, arrays: bool) -> list[Variable]:
        """The variables in order; with `arrays`, numbered fields of tables are one each."""
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
                pass  # a number under which the source finds an array, and no quantity
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
        stem, run = _run(leaves, place)
        shape = _shape([at for at in run if at is not None])
        if shape:
            arrays[place] = (stem, shape)
        place += prod(shape) if shape else 1
    return arrays


def _run(leaves: Sequence[Field], place: int) -> tuple[str, list[tuple[int, ...] | None]]:
    """The common stem of a leaf and its successors, and the numbers in their names."""
    stem, at = _numbers(leaves[place].name)
    run: list[tuple[int, ...] | None] = []
    for leaf in leaves[place:]:
        name, at = _numbers(leaf.name)
        like = leaf[1:3] == leaves[place][1:3] and leaf.allowed == leaves[place].allowed
        if not at or name != stem or not like or (run and len(at) != len(run[0] or ())):
            break
        run.append(at)
    return stem, run


def _numbers(name: str) -> tuple[str, tuple[int, ...]]:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return name, ()
    return match[1], tuple(int(n) for n in match[2].split("_")[1:])


def _shape(run: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of the array that the indices enumerate; empty if they do not."""
    if len(run) < 2 or run[0] not in ((0,) * len(run[0]), (1,) * len(run[0])):
        return ()
    base = run[0][0]
    shape = tuple(max(at[k] for at in run) - base + 1 for k in range(len(run[0])))
    wanted = list(product(*(range(base, base + n) for n in shape)))
    return shape if run == wanted else ()


def rate_unit(unit: Unit) -> Unit:
    """A unit per second."""
    symbol = _RATES.get(unit.symbol)
    if symbol is None:
        symbol = f"({unit.symbol})/s" if re.search("[/·]", unit.symbol) else f"{unit.symbol}/s"
    return Unit(symbol, unit.length, unit.mass, unit.time - 1.0)


_DISPLAYED = {
    "rad": ("deg", 180.0 / math.pi),
    "m/s": ("km/h", 3.6),
    "rad/s": ("deg/s", 180.0 / math.pi),
}
"""Units that tools may display instead: name, and its number per unit."""
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
        """The exponents other than 0, as XML attributes."""
        return {name: str(n) for name, n in self._asdict().items() if n}


def base_unit(unit: Unit) -> BaseUnit | None:
    """The exponents of a unit; None if one of them is not whole, which FMI cannot express."""
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
"""End of the default experiment, in s."""
_CATEGORIES = {
    "logStatusError": "A call that cannot be answered, with the variable and the value.",
    "logStatusDiscard": "A step that could not be made.",
}
_CAPABILITIES: dict[int, tuple[str, ...]] = {
    2: (
        "canGetAndSetFMUstate",
        "canSerializeFMUstate",
        "providesDirectionalDerivative",
        "canNotUseMemoryManagementFunctions",
    ),
    3: (
        "canGetAndSetFMUState",
        "canSerializeFMUState",
        "providesDirectionalDerivatives",
        "providesAdjointDerivatives",
    ),
}
"""Attributes of both interfaces that are true, by version of FMI."""


class Unknown(NamedTuple):
    """The value references of a computed variable and of those it depends on."""

    reference: int
    known: list[int]


def model_description(
    programs: Programs, version: int, token: str, sources: Sequence[str] = ()
) -> bytes:
    """The text of modelDescription.xml; `token` identifies the FMU to its library, `sources` are
    the files that 2.0 lists."""
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
    named = {"modelIdentifier": exported.name} | dict.fromkeys(_CAPABILITIES[version], "true")
    interfaces = {"CoSimulation": {"canHandleVariableCommunicationStepSize": "true"}}
    if version == 3:
        interfaces["CoSimulation"]["fixedInternalStepSize"] = _number(exported.dt)
    if programs.exchanges:
        more = {"completedIntegratorStepNotNeeded": "true"} if version == 2 else {}
        interfaces = {"ModelExchange": more} | interfaces
    for interface, more in interfaces.items():
        element = ET.SubElement(root, interface, named | more)
        if version == 2:
            _files(ET.SubElement(element, "SourceFiles"), "File", sources)
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
    """The text of sources/buildDescription.xml of FMI 3.0."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    build = ET.SubElement(root, "BuildConfiguration", modelIdentifier=name)
    options = "-O2 -ffp-contract=off -fno-fast-math"
    files = ET.SubElement(build, "SourceFileSet", language="C99", compilerOptions=options)
    _files(files, "SourceFile", sources)
    return _text(root)


def _files(parent: ET.Element, kind: str, names: Sequence[str]) -> None:
    for name in names:
        ET.SubElement(parent, kind, name=name)


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
    add = _add_float64 if version == 3 else _add_scalar
    add(element, time, {"unit": "s"}, ())
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
            if allowed.open_low or allowed.whole:  # the attributes cannot say this
                text = f"{text} Allowed is {allowed}.".strip()
            ends = {"min": allowed.low, "max": allowed.high}
            numbers |= {name: _number(end) for name, end in ends.items() if abs(end) != inf}
        if variable.group == "state" and variable.place in variables.programs.of_starts:
            role = role | {"initial": "approx"}
        head |= {"description": text} | role
        if variable.start:
            numbers["start"] = " ".join(map(_number, variable.start))
        add(element, head, numbers, variable.shape)


_ROLES = {
    "state": {"causality": "output", "variability": "continuous", "initial": "exact"},
    "rate": {"causality": "local", "variability": "continuous", "initial": "calculated"},
    "input": {"causality": "input", "variability": "continuous"},
    "disturbance": {"causality": "input", "variability": "continuous"},
    "output": {"causality": "output", "variability": "continuous", "initial": "calculated"},
    "params": {"causality": "parameter", "variability": "tunable", "initial": "exact"},
}
"""Attributes of the variables of each group; a computed start of a state is "approx"."""


def _add_float64(
    parent: ET.Element, head: dict[str, str], numbers: dict[str, str], shape: tuple[int, ...]
) -> None:
    element = ET.SubElement(parent, "Float64", head | numbers)
    for count in shape:
        ET.SubElement(element, "Dimension", start=str(count))


def _add_scalar(
    parent: ET.Element, head: dict[str, str], numbers: dict[str, str], shape: tuple[int, ...]
) -> None:
    assert not shape
    ET.SubElement(ET.SubElement(parent, "ScalarVariable", head), "Real", numbers)


def _structure(
    root: ET.Element, variables: Variables, listed: Sequence[Variable], version: int
) -> None:
    structure = ET.SubElement(root, "ModelStructure")
    kinds = unknowns_of(variables)
    if version == 3:
        # An array has one reference, that of its first number.
        own = {v.reference + k: v.reference for v in listed for k in range(v.size)}
        for kind, unknowns in kinds.items():
            _unknowns(structure, kind, "valueReference", unknowns, lambda r: own.get(r))
        return
    places = {v.reference: k for k, v in enumerate(listed, 2)}
    names = ("Outputs", "Derivatives", "InitialUnknowns")
    for name, unknowns in zip(names, kinds.values(), strict=True):
        if unknowns:
            parent = ET.SubElement(structure, name)
            _unknowns(parent, "Unknown", "index", unknowns, lambda r: places.get(r))


def _unknowns(
    parent: ET.Element,
    kind: str,
    attribute: str,
    unknowns: Iterable[Unknown],
    place: Callable[[int], int | None],
) -> None:
    for unknown in unknowns:
        known = dict.fromkeys(place(r) for r in unknown.known)
        text = " ".join(str(k) for k in known if k is not None)
        ET.SubElement(
            parent, kind, {attribute: str(place(unknown.reference)), "dependencies": text}
        )


def unknowns_of(variables: Variables) -> dict[str, list[Unknown]]:
    """The computed variables of the model structure, by the names of FMI 3.0.

    Outputs are the states and the outputs of the vehicle; rates and outputs depend on states and
    inputs, starts on the independent states, inputs and parameters.
    """
    first, programs = variables.first, variables.programs

    def dependent(group: str, known: str, parts: Iterable[Iterable[Place]]) -> list[Unknown]:
        return [
            Unknown(first[group] + k, variables.references(p for p in places if p[0] in known))
            for k, places in enumerate(parts)
        ]

    # A tool does not know states that only steps change, so nothing can depend on them.
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
            Unknown(first[group] + k, variables.references(_at_start(programs, places)))
            for group, unknowns in starts.items()
            for k, places in unknowns.items()
        ],
    }


def _at_start(programs: Programs, places: Iterable[Place]) -> set[Place]:
    """Dependencies at the start: a computed state is replaced by those it is computed from. Before
    the first step, the state at the start of the step is the state."""
    independent: set[Place] = set()
    for port, place in places:
        if port not in ("x", "start"):
            independent.add((port, place))
            continue
        source = programs.of_starts.get(place, frozenset({("x", place)}))
        independent |= {at for at in source if at[0] != "x" or at[1] not in programs.of_starts}
    return independent


def _number(value: float) -> str:
    return repr(float(value))


_NOT_XML = re.compile("[^\\t\\n\\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that are not allowed in XML."""


def _text(root: ET.Element) -> bytes:
    for element in root.iter():
        for name, value in element.items():
            element.set(name, _NOT_XML.sub("\ufffd", value))
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
