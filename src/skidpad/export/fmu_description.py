"""modelDescription.xml of FMI 2.0 and 3.0, and buildDescription.xml: what an FMU says of itself.

The two versions say the same in different words: 3.0 has elements by type and refers to variables
by value reference, 2.0 has scalars and refers to them by their place in the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import NamedTuple
from xml.etree import ElementTree as ET

from .. import __version__
from ..units import Unit
from .fmu_dependencies import Place
from .fmu_programs import Programs
from .fmu_units import base_unit, displayed
from .fmu_variables import TIME, Variable, Variables

STOP_TIME = 10.0
"""End of the experiment that a tool proposes, in s."""
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
"""Attributes of both interfaces that are true, by version."""


class Unknown(NamedTuple):
    """A variable that is computed, and the value references that it is computed from."""

    reference: int
    known: list[int]


def model_description(
    programs: Programs, version: int, token: str, sources: Sequence[str] = ()
) -> bytes:
    """modelDescription.xml; `token` is what an instance is asked for with, `sources` are the files
    that 2.0 lists."""
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
    _interfaces(root, programs, version, sources)
    _units(root, [variable.unit for variable in listed])
    categories = ET.SubElement(root, "LogCategories")
    for name, text in _CATEGORIES.items():
        ET.SubElement(categories, "Category", name=name, description=text)
    dt = exported.dt
    ET.SubElement(
        root, "DefaultExperiment", startTime="0", stopTime=_number(STOP_TIME), stepSize=_number(dt)
    )
    _variables(root, variables, listed, version)
    _structure(root, variables, listed, version)
    return _text(root)


def build_description(name: str, sources: Sequence[str]) -> bytes:
    """sources/buildDescription.xml of FMI 3.0."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    build = ET.SubElement(root, "BuildConfiguration", modelIdentifier=name)
    options = "-O2 -ffp-contract=off -fno-fast-math"
    files = ET.SubElement(build, "SourceFileSet", language="C99", compilerOptions=options)
    for source in sources:
        ET.SubElement(files, "SourceFile", name=source)
    return _text(root)


def _interfaces(root: ET.Element, programs: Programs, version: int, sources: Sequence[str]) -> None:
    can = dict.fromkeys(_CAPABILITIES[version], "true")
    named = {"modelIdentifier": programs.exported.name} | can
    elements: list[ET.Element] = []
    if programs.exchanges:
        more = {"completedIntegratorStepNotNeeded": "true"} if version == 2 else {}
        elements.append(ET.SubElement(root, "ModelExchange", named | more))
    more = {"canHandleVariableCommunicationStepSize": "true"}
    if version == 3:
        more["fixedInternalStepSize"] = _number(programs.exported.dt)
    elements.append(ET.SubElement(root, "CoSimulation", named | more))
    for element in elements if version == 2 else ():
        files = ET.SubElement(element, "SourceFiles")
        for source in sources:
            ET.SubElement(files, "File", name=source)


def _units(root: ET.Element, units: Iterable[Unit]) -> None:
    definitions = ET.SubElement(root, "UnitDefinitions")
    for symbol, unit in {unit.symbol: unit for unit in [Unit("s", time=1), *units]}.items():
        if symbol == "1":
            continue
        element, base = ET.SubElement(definitions, "Unit", name=symbol), base_unit(unit)
        if base is not None:
            ET.SubElement(element, "BaseUnit", base.attributes)
        shown = displayed(unit)
        if shown is not None:
            ET.SubElement(element, "DisplayUnit", name=shown[0], factor=_number(shown[1]))


def _variables(
    root: ET.Element, variables: Variables, listed: Sequence[Variable], version: int
) -> None:
    element = ET.SubElement(root, "ModelVariables")
    time = {"name": "time", "valueReference": str(TIME), "causality": "independent"}
    time |= {"variability": "continuous", "description": "Simulation time"}
    add = _float64 if version == 3 else _scalar
    add(element, time, {"unit": "s"}, ())
    index = {variable.reference: k for k, variable in enumerate(listed, 2)}
    for variable in listed:
        head = {"name": variable.name, "valueReference": str(variable.reference)}
        head |= {"description": _description(variable)} | _role(variables, variable)
        numbers = {} if variable.unit.symbol == "1" else {"unit": variable.unit.symbol}
        numbers |= _range(variable)
        if variable.group == "rate":
            state = variables.first["state"] + variable.place
            numbers["derivative"] = str(state if version == 3 else index[state])
        if variable.start:
            numbers["start"] = " ".join(map(_number, variable.start))
        add(element, head, numbers, variable.shape)


def _float64(
    parent: ET.Element, head: dict[str, str], numbers: dict[str, str], shape: tuple[int, ...]
) -> None:
    element = ET.SubElement(parent, "Float64", head | numbers)
    for count in shape:
        ET.SubElement(element, "Dimension", start=str(count))


def _scalar(
    parent: ET.Element, head: dict[str, str], numbers: dict[str, str], shape: tuple[int, ...]
) -> None:
    assert not shape
    ET.SubElement(ET.SubElement(parent, "ScalarVariable", head), "Real", numbers)


def _role(variables: Variables, variable: Variable) -> dict[str, str]:
    match variable.group:
        case "state":
            computed = variable.place in variables.programs.of_starts
            initial = "approx" if computed else "exact"
            return {"causality": "output", "variability": "continuous", "initial": initial}
        case "rate":
            return {"causality": "local", "variability": "continuous", "initial": "calculated"}
        case "output":
            return {"causality": "output", "variability": "continuous", "initial": "calculated"}
        case "params":
            return {"causality": "parameter", "variability": "tunable", "initial": "exact"}
        case _:
            return {"causality": "input", "variability": "continuous"}


def _description(variable: Variable) -> str:
    """What it means; and its range, where the attributes cannot say it."""
    text, allowed = " ".join(variable.field.doc.split()), variable.field.allowed
    if variable.group == "rate":
        return f"Rate of change of state.{variable.field.name}"
    if allowed is not None and (allowed.open_low or allowed.whole):
        text = f"{text} Allowed is {allowed}.".strip()
    return text


def _range(variable: Variable) -> dict[str, str]:
    allowed = variable.field.allowed
    if allowed is None or variable.group == "rate":
        return {}
    ends = {"min": allowed.low, "max": allowed.high}
    return {name: _number(end) for name, end in ends.items() if abs(end) != inf}


def _structure(
    root: ET.Element, variables: Variables, listed: Sequence[Variable], version: int
) -> None:
    structure = ET.SubElement(root, "ModelStructure")
    kinds = {
        "Output": outputs(variables),
        "ContinuousStateDerivative": rates(variables),
        "InitialUnknown": initial_unknowns(variables),
    }
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


def outputs(variables: Variables) -> list[Unknown]:
    """All that the vehicle gives: its states, and its outputs by states and inputs."""
    first, exchanges = variables.first, variables.programs.exchanges
    # States that only steps change are known to no tool: nothing can be said to depend on them.
    known = "xuw" if exchanges else "uw"
    states = [
        Unknown(first["state"] + k, [first["state"] + k] if exchanges else [])
        for k in range(variables.sizes["state"])
    ]
    return states + [
        Unknown(first["output"] + k, variables.references(_only(known, places)))
        for k, places in enumerate(variables.programs.of_outputs)
    ]


def rates(variables: Variables) -> list[Unknown]:
    """The rates of the states, by states and inputs."""
    return [
        Unknown(variables.first["rate"] + k, variables.references(_only("xuw", places)))
        for k, places in enumerate(variables.programs.of_rates)
    ]


def initial_unknowns(variables: Variables) -> list[Unknown]:
    """What is computed at the start, by the states that are given, inputs and parameters."""
    programs, first = variables.programs, variables.first
    parts = {
        "state": programs.of_starts,
        "rate": dict(enumerate(programs.of_rates)),
        "output": dict(enumerate(programs.of_outputs)),
    }
    return [
        Unknown(first[group] + k, variables.references(_at_start(programs, places)))
        for group, unknowns in parts.items()
        for k, places in unknowns.items()
    ]


def _at_start(programs: Programs, places: Iterable[Place]) -> set[Place]:
    """The same in terms of what is given: states that are computed by what they are computed
    from. Before the first step, the state at its start is the state."""
    independent: set[Place] = set()
    for port, place in places:
        if port not in ("x", "start"):
            independent.add((port, place))
            continue
        source = programs.of_starts.get(place, frozenset({("x", place)}))
        independent |= {at for at in source if at[0] != "x" or at[1] not in programs.of_starts}
    return independent


def _only(ports: str, places: Iterable[Place]) -> list[Place]:
    return [place for place in places if place[0] in ports]


def _number(value: float) -> str:
    return repr(float(value))


_NOT_XML = re.compile("[^\\t\\n\\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file can have, whatever wrote them into a name or a docstring."""


def _text(root: ET.Element) -> bytes:
    for element in root.iter():
        for name, value in element.items():
            element.set(name, _NOT_XML.sub("\ufffd", value))
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
