"""The reader of XML: places, tolerance as upstream's, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from skidpad.world.scene import WorldError
from skidpad.world.xml.markup import DEEPEST, parse, read

FILE = Path("world.xml")


def refused(text: str) -> WorldError:
    with pytest.raises(WorldError) as caught:
        parse(text, FILE)
    return caught.value


def test_elements_know_their_place() -> None:
    document = parse("<a>\n  <b x='1'/>text\n  <é/> <c></c>\n</a>", FILE)
    (a,) = document.roots
    assert [(e.tag, e.source.line, e.source.column) for e in a.children] == [
        ("b", 2, 3),
        ("é", 3, 3),
        ("c", 3, 8),
    ]
    assert a.children[0].attributes == {"x": "1"}
    assert a.text.split() == ["text"]


def test_characters_are_replaced_in_texts_and_attributes() -> None:
    (a,) = parse(
        """<a x="&lt;&#65;&#x42;">&amp;&gt;&quot;&apos;<![CDATA[<&lt;>]]></a>""", FILE
    ).roots
    assert a.attributes["x"] == "<AB"
    assert a.text == "&>\"'<&lt;>"


def test_what_upstreams_own_files_need_is_taken() -> None:
    text = """<!-- -- -->
    <vehicle:class name="a"><if condition="$f{i<=3 && j>2}"/>a & b</vehicle:class>
    <block:class name='b'/>"""
    first, second = parse(text, FILE).roots
    assert first.tag == "vehicle:class"
    assert first.children[0].attributes["condition"] == "$f{i<=3 && j>2}"
    assert first.text == "a & b"
    assert second.attributes == {"name": "b"}


def test_a_value_closed_by_a_name_that_is_nowhere_open_is_a_slip() -> None:
    document = parse("<a>\n<x>0</y>\n<z>1</z></a>", FILE)
    assert [(e.tag, e.text) for e in document.roots[0].children] == [("x", "0"), ("z", "1")]
    ((note, place),) = document.notes
    assert note == "</y> closes <x> of line 2: taken for </x>"
    assert place.line == 2


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("<a>\n <b>\n</a>", 3, 1, "</a> closes <b> of line 2"),
        ("<a><b/></c>", 1, 8, "</c> closes <a>"),
        ("<a></b>", 1, 4, "</b> closes <a>"),
        ("<a>\n<b>", 2, 1, "<b> is never closed"),
        ("</a>", 1, 1, "</a> closes no open element"),
        ("<a/> text", 1, 6, "text outside"),
        ("<a x=1/>", 1, 3, "<a> is not complete"),
        ("<a x='1' x='2'/>", 1, 10, "the attribute x twice"),
        ("<a>1 < 2</a>", 1, 6, "does not begin a tag"),
        ("<a", 1, 3, "<a> is not complete"),
        ("<a><!-- x</a>", 1, 4, "<!-- is never closed"),
        ("", 1, 1, "holds no element"),
        ("<a>" * (DEEPEST + 2), 1, 3 * DEEPEST + 1, f"more than {DEEPEST} elements"),
    ],
)
def test_malformed_text_is_refused_with_line_and_column(
    text: str, line: int, column: int, says: str
) -> None:
    error = refused(text)
    assert (error.source and error.source[1:]) == (line, column)
    assert says in error.message
    assert str(error).startswith(f"world.xml, line {line}, column {column}: ")


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        '<!DOCTYPE a [<!ENTITY xxe SYSTEM "file:///etc/passwd">]><a>&xxe;</a>',
        '<!DOCTYPE a PUBLIC "-//X//EN" "http://x/y.dtd"><a/>',
        "<a>&xxe;</a>",
        "<a x='&xxe;'/>",
        "<a>&#1114112;</a>",
    ],
)
def test_entities_are_refused(text: str) -> None:
    assert "refused" in refused(text).message


def test_files_are_read_in_the_encoding_they_declare(tmp_path: Path) -> None:
    file = tmp_path / "w.xml"
    declared = "<?xml version='1.0' encoding='latin-1'?>\n<a>é</a>"
    for content in (
        "<a>é</a>".encode("utf-8-sig"),
        "<a>é</a>".encode("utf-16"),
        declared.encode("latin-1"),
    ):
        file.write_bytes(content)
        assert read(file).roots[0].text == "é"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "w.xml"
    file.write_bytes(b"<a>\n\xff</a>")
    with pytest.raises(WorldError, match=r"w\.xml, line 2, column 1: the text is not utf-8"):
        read(file)
    file.write_bytes(b"<?xml version='1.0' encoding='klingon'?><a/>")
    with pytest.raises(WorldError, match="encoding 'klingon', which is unknown"):
        read(file)


def test_what_is_no_text_is_refused_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_bytes(b"<a>\n <b>\x00</b></a>")
    with pytest.raises(WorldError, match=r"line 2, column 5: .* U\+0000"):
        read(file)
    file.write_bytes(b"<a>\n<b c='\xe9'/></a>")
    with pytest.raises(WorldError, match=r"line 2, column 7: the text is not utf-8: .* encoding="):
        read(file)
