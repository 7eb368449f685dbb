"""CDR of every type: against rosbags and cyclonedds, both directions, and against hostile data."""

from __future__ import annotations

import pickle
import random
import struct
import tracemalloc
from typing import Any

import numpy as np
import pytest

from ros2.samples import as_fast_rtps, foreign, native, random_record, same
from skidpad.errors import InvalidValue
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.codec import DUMMY, PRIMITIVES, Shape, Structure, leaves
from skidpad.ros2.messages.types import MESSAGES, SERVICES, Definitions, declare, service_type

rosbags_types = pytest.importorskip("rosbags.typesys")
STORES = {
    False: rosbags_types.get_typestore(rosbags_types.Stores.ROS2_JAZZY),
    True: rosbags_types.get_typestore(rosbags_types.Stores.ROS2_HUMBLE),
}
SHARED = sorted(MESSAGES.keys() & STORES[False].fielddefs.keys())


def packed_by_rosbags(name: str, humble: bool) -> bool:
    """Whether it is known there; `byte` is packed as a signed number."""
    if name not in STORES[humble].fielddefs:
        return False
    type_ = message_type(name, humble=humble)
    return not any(f.base == "byte" for s in (type_, *type_.referenced) for f in s.fields)


JAZZY = [name for name in SHARED if packed_by_rosbags(name, False)]
HUMBLE = [name for name in SHARED if packed_by_rosbags(name, True)]
HOT = [
    "nav_msgs/msg/Odometry",
    "tf2_msgs/msg/TFMessage",
    "sensor_msgs/msg/LaserScan",
    "sensor_msgs/msg/Imu",
    "autoware_control_msgs/msg/Control",
    "rcl_interfaces/msg/ParameterEvent",
]
SERVICE_PARTS = [
    part for name in SERVICES for part in (service_type(name).request, service_type(name).response)
]


@pytest.mark.parametrize(
    ("name", "humble"), [*((name, False) for name in JAZZY), *((name, True) for name in HUMBLE)]
)
def test_rosbags_writes_and_reads_the_same_bytes(name: str, humble: bool) -> None:
    type_, store = message_type(name, humble=humble), STORES[humble]
    rng = np.random.default_rng(len(name))
    for _ in range(4):
        record = random_record(type_, rng)
        data = type_.encode(record)
        assert data == bytes(store.serialize_cdr(foreign(store, type_, record), name))
        assert same(type_.decode(data), record)
        assert same(native(type_, store.deserialize_cdr(data, name)), record)


@pytest.mark.parametrize("name", JAZZY)
def test_a_payload_of_the_other_byte_order_is_the_same_message(name: str) -> None:
    type_, store = message_type(name), STORES[False]
    record = random_record(type_, np.random.default_rng(1))
    data = store.serialize_cdr(foreign(store, type_, record), name, little_endian=False)
    assert bytes(data[:2]) == b"\0\0"
    assert same(type_.decode(bytes(data)), record)


@pytest.mark.parametrize("type_", SERVICE_PARTS, ids=lambda type_: type_.name)
def test_requests_and_responses_come_back(type_: Any) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        record = random_record(type_, rng)
        assert same(type_.decode(type_.encode(record)), record)


def test_an_empty_structure_is_one_byte() -> None:
    request = service_type("std_srvs/Trigger").request
    assert [field.name for field in request.fields] == [DUMMY]
    assert request.encode(request.Record()) == b"\0\1\0\0\0"


def idl_class(structure: Structure, made: dict[str, Any]) -> Any:
    """The type as cyclonedds declares it."""
    idl = pytest.importorskip("cyclonedds.idl")
    if structure.name in made:
        return made[structure.name]
    names = {"bool": bool, "string": str, "byte": idl.types.uint8, "char": idl.types.uint8,
             "float32": idl.types.float32, "float64": idl.types.float64}  # fmt: skip
    fields: dict[str, Any] = {}
    for field in structure.fields:
        base = idl_class(field.nested, made) if field.nested else names.get(field.base)
        base = base or getattr(idl.types, field.base)
        if field.shape is Shape.ARRAY:
            base = idl.types.array[base, field.size]
        elif field.shape is not Shape.ONE:
            base = idl.types.sequence[base]
        fields[field.name] = base
    name = structure.name.replace("/", "_")
    made[structure.name] = idl.make_idl_struct(name, name, fields)
    return made[structure.name]


def idl_object(structure: Structure, record: Any, made: dict[str, Any]) -> Any:
    values: list[Any] = []
    for field, value in zip(structure.fields, record, strict=True):
        if field.nested is not None:
            many = field.shape is not Shape.ONE
            ours = [idl_object(field.nested, one, made) for one in (value if many else [value])]
            values.append(ours if many else ours[0])
        else:
            values.append(value.tolist() if isinstance(value, np.ndarray) else value)
    return made[structure.name](*values)


OTHERS = sorted(name for name in MESSAGES if name not in JAZZY)


@pytest.mark.parametrize("name", OTHERS)
def test_cyclonedds_writes_the_same_bytes(name: str) -> None:
    type_, made = message_type(name), dict[str, Any]()
    idl_class(type_, made)
    rng = np.random.default_rng(len(name))
    for _ in range(5):
        record = random_record(type_, rng)
        data = idl_object(type_, record, made).serialize()
        assert type_.encode(record) == bytes(data)
        assert same(type_.decode(bytes(data)), record)


def test_a_bool_that_is_neither_is_refused() -> None:
    type_ = message_type("std_msgs/Bool")
    with pytest.raises(InvalidValue, match="std_msgs/msg/Bool: data is neither"):
        type_.decode(b"\0\1\0\0\2")
    bools = Definitions({"a/msg/A": "bool[3] few\nbool[] many"}).find("a/msg/A")
    data = bools.encode(bools.Record(few=[True, False, True], many=[True, False]))
    assert bools.decode(data).many.tolist() == [True, False]
    for place in (4, len(data) - 1):
        bad = bytearray(data)
        bad[place] = 2
        with pytest.raises(InvalidValue, match="few" if place == 4 else "many"):
            bools.decode(bad)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("std_msgs/String", "", "the header is missing"),
        ("std_msgs/String", "00 01 00", "the header is 00 01 00"),
        ("std_msgs/String", "00 07 00 00 01 00 00 00 00", "must be that of plain CDR"),
        ("std_msgs/String", "00 01 00 00 02 00", "data needs 4 bytes, 2 are left"),
        ("std_msgs/String", "00 01 00 00 09 00 00 00 61 00", "data needs 9 bytes, 2 are left"),
        ("std_msgs/String", "00 01 00 00 00 00 00 00", "data does not end with its first zero"),
        ("std_msgs/String", "00 01 00 00 02 00 00 00 61 61", "data does not end with its first"),
        ("std_msgs/String", "00 01 00 00 03 00 00 00 00 61 00", "data does not end with its first"),
        ("std_msgs/String", "00 01 00 00 02 00 00 00 ff 00", "data is not UTF-8"),
        ("std_msgs/Int8", "00 01 00 00 01 00 00 00 00", "4 bytes after the last field; at most 3"),
        ("std_msgs/Float64", "00 01 00 00 00 00 00 00", "data needs 8 bytes, 4 are left"),
        ("sensor_msgs/LaserEcho", "00 01 00 00 ff ff ff ff 00", "echoes claims 4294967295 values"),
        ("nav_msgs/Path", "00 01" + " 00" * 10 + " 01 00 00 00 00 00 00 00 ff ff ff ff",
         "poses claims 4294967295 values"),
        ("sensor_msgs/JoyFeedbackArray", "00 01 00 00 02 00 00 00 00 00 00 00 00 00 00 00",
         r"array\[1\].type needs 1 bytes, 0 are left"),
    ],
)  # fmt: skip
def test_malformed_data_are_refused_by_name(name: str, data: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=message) as caught:
        message_type(name).decode(bytes.fromhex(data))
    assert str(caught.value).startswith(message_type(name).name)


@pytest.mark.parametrize("part", [*map(message_type, sorted(MESSAGES)), *SERVICE_PARTS], ids=str)
def test_the_surplus_of_fast_rtps_is_taken_and_no_more(part: Any) -> None:
    """Up to its estimate and the padding of the wire; a byte more is not, nor one that lacks."""
    rng = np.random.default_rng(4)
    for _ in range(6):
        record = random_record(part, rng)
        cdr = part.encode(record)
        data = as_fast_rtps(part, record, cdr)
        assert len(data) >= len(cdr)
        for more in range(4):
            assert same(part.decode(data + b"\xa5" * more), record)
        with pytest.raises(InvalidValue, match=f"{len(data) - len(cdr) + 4} bytes after the last"):
            part.decode(data + bytes(4))
        with pytest.raises(InvalidValue):
            part.decode(cdr[:-1])


def test_what_rmw_fastrtps_leaves_behind_common_messages() -> None:
    """Counts by hand: each empty sequence of 8-byte numbers is aligned by the estimate."""
    joints = message_type("sensor_msgs/JointState")
    header = joints.Record().header._replace(frame_id="abc")
    # 8 of the stamp, 8 of "abc", 4 of no names; position ends at 24, velocity estimated at 32 and
    # effort at 40, where CDR has 24, 28 and 32.
    record = joints.Record(header)
    cdr = joints.encode(record)
    assert len(cdr) - 4 == 32
    assert same(joints.decode(cdr + bytes(8)), record)
    request = service_type("rcl_interfaces/srv/SetParameters").request
    value = message_type("rcl_interfaces/ParameterValue").Record(type=3, double_value=0.5)
    one = message_type("rcl_interfaces/Parameter").Record("realtime_factor", value)
    for count in (1, 2, 5):
        record = request.Record((one,) * count)
        cdr = request.encode(record)
        surplus = len(as_fast_rtps(request, record, cdr)) - len(cdr)
        assert 4 * count <= surplus <= 16 * count
        assert same(request.decode(cdr + bytes(surplus)), record)


def test_bounds_hold_both_ways() -> None:
    type_ = message_type("rcl_interfaces/ParameterDescriptor")
    wide = type_.Record(integer_range=[message_type("rcl_interfaces/IntegerRange").Record()] * 2)
    with pytest.raises(InvalidValue, match="integer_range has 2 values, may have at most 1"):
        type_.encode(wide)
    loose = Definitions({"a/msg/A": "float64[] x\nstring s"}).find("a/msg/A")
    tight = Definitions({"a/msg/A": "float64[<=2] x\nstring<=3 s"}).find("a/msg/A")
    assert tight.decode(loose.encode(loose.Record([1.0, 2.0], "abc"))).s == "abc"
    with pytest.raises(InvalidValue, match="x has 3 values, at most 2"):
        tight.decode(loose.encode(loose.Record([1.0, 2.0, 3.0])))
    with pytest.raises(InvalidValue, match="s has 4 bytes, at most 3"):
        tight.decode(loose.encode(loose.Record([], "abcd")))
    with pytest.raises(InvalidValue, match=r"A\.s has 4 bytes, may have at most 3"):
        tight.encode(tight.Record([], "aéb"))


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("builtin_interfaces/Time", {"nanosec": -1}, "nanosec = -1 must be a whole number"),
        ("builtin_interfaces/Time", {"sec": 2**31}, "sec = 2147483648 must be a whole number"),
        ("builtin_interfaces/Time", {"sec": 1.5}, "sec = 1.5 must be a whole number"),
        ("std_msgs/Float32", {"data": 1e39}, "data = 1e.39 must be a number that float32 holds"),
        ("std_msgs/Float64", {"data": "x"}, "data = 'x' must be a number"),
        ("std_msgs/Byte", {"data": 256}, "data = 256 must be a whole number"),
        ("std_msgs/Bool", {"data": "no"}, "data = 'no' must be true or false"),
        ("std_msgs/Bool", {"data": []}, "data = .. must be true or false"),
        ("std_msgs/Bool", {"data": 2}, "data = 2 must be true or false"),
        ("std_msgs/String", {"data": b"x"}, "data = b'x' must be a string"),
        ("std_msgs/String", {"data": "a\0"}, "data = 'a.x00' must not contain a zero byte"),
        ("std_msgs/String", {"data": "\ud800"}, "cannot be written as UTF-8"),
        ("std_msgs/Header", {"stamp": 3}, "Header.stamp must be a record with sec, got 3"),
        ("sensor_msgs/Imu", {"orientation_covariance": [0.0] * 8}, "has 8 values, must have 9"),
        ("sensor_msgs/Imu", {"orientation_covariance": np.zeros((3, 3))}, "must be a flat list"),
        ("sensor_msgs/LaserScan", {"ranges": ["a"]}, "ranges = .* must be a sequence of float32"),
        ("sensor_msgs/LaserScan", {"ranges": [1e39]}, "within the range of float32"),
        ("nav_msgs/OccupancyGrid", {"data": [128]}, "data = .* must be within -128 to 127"),
        ("nav_msgs/OccupancyGrid", {"data": np.array([0.5])}, "data = .* must be whole numbers"),
        ("nav_msgs/OccupancyGrid", {"data": 3}, "data = 3 must be a sequence of int8"),
        ("sensor_msgs/JointState", {"name": "abc"}, "name = 'abc' must be a sequence of string"),
        ("sensor_msgs/JointState", {"name": ["a", 3]}, r"name\[1\] = 3 must be a string"),
        ("tf2_msgs/TFMessage", {"transforms": [1]}, r"transforms\[0\] must be a record with"),
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused_by_name(
    name: str, changes: dict[str, Any], message: str
) -> None:
    type_ = message_type(name)
    with pytest.raises(InvalidValue, match=message) as caught:
        type_.encode(type_.Record(**changes))
    assert str(caught.value).startswith(type_.name)


def test_numbers_of_other_kinds_are_taken() -> None:
    scan = message_type("sensor_msgs/LaserScan")
    for ranges in (
        [1, 2],
        (1.0, 2.0),
        np.array([1.0, 2.0]),
        np.array([1, 2]),
        np.array([1.0, 9, 2])[::2],
    ):
        record = scan.Record(ranges=ranges, range_max=np.float64(3.0))
        assert scan.decode(scan.encode(record)).ranges.tolist() == [1.0, 2.0]
    image = message_type("sensor_msgs/CompressedImage")
    for data in (b"ab", bytearray(b"ab"), [97, 98], np.array([97, 98])):
        assert image.decode(image.encode(image.Record(data=data))).data.tobytes() == b"ab"
    infinite = scan.decode(scan.encode(scan.Record(ranges=[np.inf, np.nan])))
    assert np.isinf(infinite.ranges[0])
    assert np.isnan(infinite.ranges[1])


@pytest.mark.parametrize("value", [True, 1, 1.0, np.bool_(True), np.int64(1)])
def test_truths_are_taken_from_whatever_equals_them(value: Any) -> None:
    type_ = message_type("std_msgs/Bool")
    assert type_.decode(type_.encode(type_.Record(value))).data is True


def test_words_of_python_are_names_with_an_underscore() -> None:
    type_ = Definitions({"a/msg/None": "int8 from\nint8 class"}).find("a/msg/None")
    assert type_.decode(type_.encode(type_.Record(from_=1, class_=2))).class_ == 2
    with pytest.raises(InvalidValue, match="two fields of one name"):
        Definitions({"a/msg/A": "int8 from\nint8 from_"}).find("a/msg/A")


def test_default_arrays_are_shared_and_so_cannot_be_changed() -> None:
    imu = message_type("sensor_msgs/Imu")
    with pytest.raises(ValueError, match="read-only"):
        imu.Record().orientation_covariance[0] = 1.0
    decoded = imu.decode(imu.encode(imu.Record()))
    decoded.orientation_covariance[0] = 1.0
    assert decoded.orientation_covariance.flags.aligned
    assert imu.Record().orientation_covariance[0] == 0.0
    assert imu.Record().orientation.w == 1.0


@pytest.mark.slow_cases(
    "rcl_interfaces/msg/ParameterEvent", "sensor_msgs/msg/Imu", "tf2_msgs/msg/TFMessage"
)
@pytest.mark.parametrize("name", HOT)
def test_random_and_mutated_payloads_are_refused_or_decoded(name: str) -> None:
    """Whatever is decoded has been walked over too; whatever is refused is refused by both."""
    type_, dice = message_type(name), random.Random(name)
    rng = np.random.default_rng(7)
    good = [type_.encode(random_record(type_, rng)) for _ in range(50)]
    refused: list[str] = []
    for number in range(10_000):
        if number % 2:
            data = b"\0" + bytes([dice.randrange(2)]) + dice.randbytes(dice.randrange(400))
        else:
            data = mutated(dice.choice(good), dice)
        try:
            type_.decode(data)
        except InvalidValue as error:
            refused.append(str(error))
        else:
            list(leaves(type_, data))
    assert 5000 < len(refused) < 10_000
    assert all(text.startswith(name) and "malformed data" not in text for text in refused)


def mutated(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.randrange(1, 4)):
        place = dice.randrange(2, len(changed))
        kind = dice.randrange(4)
        if kind == 0:
            changed[place] = dice.randrange(256)
        elif kind == 1:
            changed = changed[: max(place, 4)]
        elif kind == 2:
            changed[place:place] = dice.randbytes(dice.randrange(1, 9))
        else:
            changed[place : place + 4] = struct.pack("<I", dice.choice([0, 1, 2**31, 2**32 - 1]))
    return bytes(changed)


@pytest.mark.parametrize("base", [*PRIMITIVES, "string", "a/msg/B", "a/msg/Nothing"])
def test_a_count_beyond_the_end_allocates_nothing(base: str) -> None:
    lines = {"a/msg/A": f"{base}[] x", "a/msg/B": "string[] y", "a/msg/Nothing": ""}
    type_ = Definitions(lines).find("a/msg/A")
    data = b"\0\1\0\0" + struct.pack("<I", 2**32 - 1) + bytes(64)
    with pytest.raises(InvalidValue, match="x claims 4294967295 values"):
        type_.decode(data)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidValue):
            type_.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_type_of_ones_own_is_declared_once() -> None:
    text = "std_msgs/Header header\nfloat64 v_x  # m/s\nfloat64[4] tau"
    made = declare("my_msgs/msg/Cart", text)
    assert declare("my_msgs/Cart", text) is made is message_type("my_msgs/msg/Cart")
    assert message_type("my_msgs/msg/Cart", humble=True) == made
    sent = made.Record(v_x=1.5, tau=np.arange(4.0))
    assert same(made.decode(made.encode(sent)), sent)
    assert made.hash.startswith("RIHS01_")
    for name, lines, message in (
        ("my_msgs/msg/Cart", "float64 v_x", "declared already"),
        ("std_msgs/msg/String", "int8 data", "declared already"),
        ("nonsense", "float64 v_x", "PACKAGE/msg/TYPE"),
        ("my_msgs/msg/Other", "float64 1x", "is not a field"),
    ):
        with pytest.raises(InvalidValue, match=message):
            declare(name, lines)
    with pytest.raises(InvalidValue, match="is not known"):
        message_type("my_msgs/msg/Other")


@pytest.mark.parametrize("name", HOT)
def test_messages_are_pickled(name: str) -> None:
    """Their classes are made at run time, at no place to import from."""
    message = random_record(message_type(name), np.random.default_rng(1))
    again = pickle.loads(pickle.dumps(message))
    assert type(again) is type(message)
    assert same(again, message)
