"""What a page needs to write recordings as `skidpad.recording` does: the bytes that do not change.

Schemas, channels and metadata are whole MCAP records; messages are bytes with slots for numbers
(`recording.protobuf`). The page puts numbers into copies of these and needs to know neither
protobuf nor what topics there are.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...recording import libraries
from ...recording.checksums import with_checksum
from ...recording.chunk import SHOWN_RATE, STILL_PERIOD
from ...recording.mcap_file import encoded
from ...recording.message_rows import Message, message_record
from ...recording.topics import FORMAT, NOTES, RECORDING, Topics
from ...stage import Stage


def recording_templates(stage: Stage, meta: Mapping[str, Any]) -> dict[str, Any]:
    """The templates of a stage as JSON values; `meta` is noted in every recording."""
    from ... import __version__

    program = f"skidpad {__version__}"
    topics = Topics(stage)
    plain = json.dumps(stage.to_json(), ensure_ascii=False, separators=(",", ":"))
    about = {"format": str(FORMAT), "program": program, "stage": plain}
    notes = {"notes": json.dumps(dict(meta), ensure_ascii=False)}
    metadata = {RECORDING: about, NOTES: notes}
    records = libraries.records
    rotations = topics.rotations
    return {
        "header": _text(encoded(records.Header("", program))),
        "schemas": [_text(encoded(schema)) for schema in topics.schemas],
        "channels": [_text(encoded(channel)) for channel in topics.channels],
        "metadata": [
            [name, _text(encoded(records.Metadata(name, with_checksum(name, values))))]
            for name, values in metadata.items()
        ],
        "notes": NOTES,
        "states": _messages(topics.states),
        "motion": _messages(topics.motion),
        "still": _messages(topics.still),
        "upright": [list(pair) for pair in rotations.upright_angles],
        "tilted": [list(angles) for angles in rotations.tilted_angles],
        "shown_rate": SHOWN_RATE,
        "still_period": STILL_PERIOD,
    }


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Channel, bytes of the record, and slots as [offset, source, column]."""
    described: list[dict[str, Any]] = []
    for channel, template in messages:
        record = message_record(channel, template)
        slots = [list(slot) for slot in record.slots]
        described.append({"channel": channel, "record": _text(record.data), "slots": slots})
    return described


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
