"""What clients may say, and what they are told when it is something else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.view.live import messages as said
from texts import texts

DRIVE = {"type": "drive", "vehicle": "car", "ahead": 0.5, "left": -1, "handbrake": True, "sent": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DRIVE, said.Drive("car", 0.5, -1.0, True, 3.0)),
        ({"type": "drive", "vehicle": "car", "ahead": 0, "left": 0}, said.Drive("car", 0.0, 0.0)),
        ({"type": "take"}, said.Take()),
        ({"type": "release"}, said.Release()),
        ({"type": "pause"}, said.Pause()),
        ({"type": "resume"}, said.Resume()),
        ({"type": "reset"}, said.Reset()),
        ({"type": "step"}, said.Step(1)),
        ({"type": "step", "count": 12}, said.Step(12)),
        ({"type": "factor", "value": 20}, said.Factor(20.0)),
        ({"type": "rate", "value": 15}, said.Rate(15.0)),
        ({"type": "record", "on": True}, said.Record(True)),
        ({"type": "drop", "x": 1, "y": -2.5, "kind": "cone"}, said.Drop(1.0, -2.5, "cone")),
        ({"type": "choose", "vehicle": "a", "controller": "path"}, said.Choose("a", "path")),
        (
            {"type": "param", "vehicle": "a", "name": "m", "value": 300},
            said.Param("a", "m", 300.0),
        ),
    ],
)
def test_messages_of_the_protocol_are_understood(text: object, message: said.Message) -> None:
    assert said.parse(json.dumps(text)) == message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("hello", "not JSON"),
        ("{", "not JSON"),
        ("[" * 4000, "not JSON"),
        ("[1, 2]", "an object with a type"),
        ("null", "an object with a type"),
        ('{"type": 5}', "an object with a type"),
        ('{"vehicle": "car"}', "an object with a type"),
        ('{"type": "fly"}', "no message 'fly'"),
        ('{"type": "take", "all": 1}', "no field 'all'"),
        ('{"type": "drive", "vehicle": "car", "ahead": 1}', "drive needs left"),
        ('{"type": "factor", "value": 0.05}', "from 0.1 to 20"),
        ('{"type": "factor", "value": 1e999}', "finite"),
        ('{"type": "factor", "value": NaN}', "not JSON"),
        ('{"type": "factor", "value": Infinity}', "not JSON"),
        ('{"type": "factor", "value": "2"}', "finite number, got '2'"),
        ('{"type": "factor", "value": true}', "finite number"),
        ('{"type": "factor", "value": null}', "finite number"),
        ('{"type": "factor", "value": [1]}', "finite number"),
        ('{"type": "factor", "value": ' + "9" * 2000 + "}", "finite number"),
        ('{"type": "step", "count": 1.5}', "whole number"),
        ('{"type": "step", "count": 0}', "from 1 to 1000"),
        ('{"type": "record", "on": 1}', "true or false"),
        ('{"type": "drop", "x": 1e6, "y": 0, "kind": "box"}', "from -10000 to 10000"),
        (json.dumps({**DRIVE, "ahead": 1.01}), "from -1 to 1"),
        (json.dumps({**DRIVE, "vehicle": 3}), "text of at most"),
        (json.dumps({**DRIVE, "vehicle": "x" * 201}), "text of at most"),
        (json.dumps({**DRIVE, "handbrake": "no"}), "true or false"),
    ],
)
def test_anything_else_is_refused_with_words(text: str, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        said.parse(text)


def test_bytes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="not bytes"):
        said.parse(b"\x00\x01")


@given(texts(200) | st.recursive(
    st.none() | st.booleans() | st.floats() | texts(8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["type", "vehicle", "ahead", "left", "on", "value"]), inner),
    max_leaves=8,
).map(json.dumps))  # fmt: skip
def test_nothing_but_an_invalid_value_comes_out_of_garbage(text: str) -> None:
    try:
        answer: object = said.parse(text)
    except InvalidValue as error:
        answer = error
    assert isinstance(answer, said.Message) or len(str(answer)) < 300, "it repeats the garbage"
