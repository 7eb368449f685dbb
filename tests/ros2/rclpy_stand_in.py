"""A stand-in for rclpy: its signatures (github.com/ros2/rclpy, December 2024), strictly, and those
of its rules that callers must know.

1. What is passed by keyword only, and what kinds of values are taken, is as there.
2. `publish` takes a message or bytes, and no bytearray.
3. Callbacks of one group exclude each other, coroutines until their end; the usual group is the
   node's, so only another lets the rest go on.
4. Coroutines are looked at when something arrives, or when the executor is woken.
5. Nothing may be used after it was destroyed or shut down.
6. `serialize_message` is that of rmw_fastrtps: it may leave bytes behind the message. The CDR
   itself is written and read by rosbags.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine
from enum import Enum, auto
from types import ModuleType
from typing import Any, NamedTuple

from rosbags import typesys

from ros2.samples import as_fast_rtps, foreign, native
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.codec import DUMMY
from skidpad.ros2.messages.types import (
    MESSAGES,
    SERVICES,
    MessageType,
    definition_text,
    service_type,
)


class SignalHandlerOptions(Enum):
    ALL = auto()
    NO = auto()


class ReliabilityPolicy(Enum):
    RELIABLE = 1
    BEST_EFFORT = 2


class DurabilityPolicy(Enum):
    TRANSIENT_LOCAL = 1
    VOLATILE = 2


class HistoryPolicy(Enum):
    KEEP_LAST = 1
    KEEP_ALL = 2


class QoSProfile(NamedTuple):
    history: HistoryPolicy
    depth: int
    reliability: ReliabilityPolicy
    durability: DurabilityPolicy


class ExternalShutdownException(Exception):
    pass


class Context:
    def __init__(self) -> None:
        self.is_on = False
        self.nodes: list[Node] = []

    def try_shutdown(self) -> None:
        self.is_on = False


class CallbackGroup:
    excludes = True

    def __init__(self) -> None:
        self.busy = False


class ReentrantCallbackGroup(CallbackGroup):
    excludes = False


NODES: list[Node] = []
"""All there are, in whatever context."""


def init(
    *,
    args: list[str] | None = None,
    context: Context | None = None,
    domain_id: int | None = None,
    signal_handler_options: SignalHandlerOptions | None = None,
) -> None:
    assert args == [], "without a list those of the process are read"
    assert context is not None, "else it would be that of the user's own nodes"
    assert signal_handler_options is SignalHandlerOptions.NO
    assert not context.is_on
    context.is_on = True


def create_node(
    node_name: str,
    *,
    context: Context | None = None,
    cli_args: list[str] | None = None,
    namespace: str | None = None,
    use_global_arguments: bool = True,
    enable_rosout: bool = True,
    start_parameter_services: bool = True,
) -> Node:
    assert context is not None
    assert context.is_on
    node = Node(node_name, namespace or "/", context)
    NODES.append(node)
    return node


class Publisher:
    def __init__(self, node: Node, kind: type, topic: str) -> None:
        self.node, self.kind, self.topic = node, kind, topic

    def publish(self, msg: Any) -> None:
        assert not self.node.destroyed
        if type(msg) is not bytes:
            raise TypeError(f"Expected {self.kind}, got {type(msg)}")
        for node in NODES:
            for topic, kind, callback in node.subscriptions:
                if (topic, kind) == (self.topic, self.kind):
                    node.arrived.append((node.group, callback, (msg,), None))
                    node.wake()

    def get_subscription_count(self) -> int:
        wanted = [(topic, kind) for node in NODES for topic, kind, _ in node.subscriptions]
        return wanted.count((self.topic, self.kind))


class TopicEndpointInfo(NamedTuple):
    node_name: str
    node_namespace: str
    topic_type: str


def _endpoints() -> list[tuple[str, str, TopicEndpointInfo, bool]]:
    """Topic, type, node and whether it publishes, of all nodes."""
    found: list[tuple[str, str, TopicEndpointInfo, bool]] = []
    for node in NODES:
        ends = [(topic, kind, True) for topic, kind in node.publishers]
        ends += [(topic, kind, False) for topic, kind, _ in node.subscriptions]
        for topic, kind, publishes in ends:
            name = STRUCTURES[kind].name
            info = TopicEndpointInfo(node.name, node.namespace, name)
            found.append((topic, name, info, publishes))
    return found


class Node:
    def __init__(self, name: str, namespace: str, context: Context) -> None:
        self.name, self.namespace, self.context = name, namespace, context
        self.group = CallbackGroup()
        self.subscriptions: list[tuple[str, type, Callable[[bytes], None]]] = []
        self.publishers: list[tuple[str, type]] = []
        self.services: dict[str, tuple[CallbackGroup, Any, Callable[..., Any]]] = {}
        self.profiles: dict[str, QoSProfile] = {}
        self.arrived: deque[tuple[CallbackGroup, Callable[..., Any], tuple[Any, ...], Any]] = (
            deque()
        )
        self.wake: Callable[[], None] = lambda: None
        self.destroyed = False

    def create_publisher(
        self, msg_type: type, topic: str, qos_profile: QoSProfile, *, callback_group: Any = None
    ) -> Publisher:
        self.profiles[topic] = qos_profile
        self.publishers.append((topic, msg_type))
        return Publisher(self, msg_type, topic)

    def create_subscription(
        self,
        msg_type: type,
        topic: str,
        callback: Callable[[bytes], None],
        qos_profile: QoSProfile,
        *,
        callback_group: Any = None,
        raw: bool = False,
    ) -> None:
        assert raw
        self.profiles[topic] = qos_profile
        self.subscriptions.append((topic, msg_type, callback))

    def create_service(
        self,
        srv_type: Any,
        srv_name: str,
        callback: Callable[..., Any],
        *,
        qos_profile: QoSProfile | None = None,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self.services[srv_name] = (callback_group or self.group, srv_type, callback)

    def ask(self, name: str, request: Any, answer: Callable[[Any], None]) -> None:
        """What a client would do."""
        group, kind, callback = self.services[name]
        assert type(request) is kind.Request
        response = message(STRUCTURES[kind.Response])
        self.arrived.append((group, callback, (request, response), answer))
        self.wake()

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        assert not self.destroyed
        return [(node.name, node.namespace) for node in NODES]

    def get_topic_names_and_types(self, no_demangle: bool = False) -> list[tuple[str, list[str]]]:
        found: dict[str, set[str]] = {}
        for topic, kind, _, _ in _endpoints():
            found.setdefault(topic, set()).add(kind)
        return [(topic, sorted(kinds)) for topic, kinds in found.items()]

    def get_publishers_info_by_topic(
        self, topic_name: str, no_mangle: bool = False
    ) -> list[TopicEndpointInfo]:
        return [info for topic, _, info, publishes in _endpoints() if publishes
                and topic == topic_name]  # fmt: skip

    def get_subscriptions_info_by_topic(
        self, topic_name: str, no_mangle: bool = False
    ) -> list[TopicEndpointInfo]:
        return [info for topic, _, info, publishes in _endpoints() if not publishes
                and topic == topic_name]  # fmt: skip

    def destroy_node(self) -> None:
        assert not self.destroyed
        self.destroyed = True
        NODES.remove(self)


class Future:
    def __init__(self, *, executor: Any = None) -> None:
        self._done, self._result = False, None
        self._callbacks: list[Callable[[Future], None]] = []

    def __await__(self) -> Any:
        while not self._done:
            yield
        return self._result

    def done(self) -> bool:
        return self._done

    def set_result(self, result: Any) -> None:
        self._result, self._done = result, True
        for callback in self._callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        self._callbacks.append(callback)


class SingleThreadedExecutor:
    def __init__(self, *, context: Context | None = None) -> None:
        assert context is not None
        self._context, self._node = context, None
        self._woken = threading.Event()
        self._waiting: list[tuple[CallbackGroup, Coroutine[Any, Any, Any], Any]] = []
        self.is_shutdown = False

    def add_node(self, node: Node) -> bool:
        self._node = node
        node.wake = self.wake
        return True

    def wake(self) -> None:
        self._woken.set()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        assert not self.is_shutdown
        if not self._context.is_on:
            raise ExternalShutdownException
        self._woken.wait(timeout_sec)
        if self._woken.is_set():
            self._woken.clear()
            self._do_what_can_be_done()

    def _do_what_can_be_done(self) -> None:
        assert self._node is not None
        for task in list(self._waiting):
            self._go_on(task)
        later = []
        while self._node.arrived:
            group, callback, arguments, answer = entry = self._node.arrived.popleft()
            if group.busy and group.excludes:
                later.append(entry)
                continue
            result = callback(*arguments)
            if isinstance(result, Coroutine):
                group.busy = True
                task = (group, result, answer)
                self._waiting.append(task)
                self._go_on(task)
        self._node.arrived.extend(later)

    def _go_on(self, task: tuple[CallbackGroup, Coroutine[Any, Any, Any], Any]) -> None:
        group, coroutine, answer = task
        try:
            coroutine.send(None)
        except StopIteration as end:
            self._waiting.remove(task)
            group.busy = False
            answer(end.value)
            self.wake()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        self.is_shutdown = True
        for _, coroutine, _ in self._waiting:
            coroutine.close()
        return True


class _Package(ModuleType):
    """A module such as `std_msgs.msg`, whose classes are made by rosbags when they are asked for:
    its CDR is not skidpad's."""

    def __getattr__(self, name: str) -> Any:
        package, _, kind = self.__name__.rpartition(".")
        if name.startswith("__") or f"{package}/{kind}/{name}" not in {**MESSAGES, **SERVICES}:
            raise AttributeError(name)
        if kind == "msg":
            made = message_class(message_type(f"{package}/{name}"))
        else:
            service = service_type(f"{package}/{name}")
            parts = map(message_class, (service.request, service.response))
            made = type(name, (), dict(zip(("Request", "Response"), parts, strict=True)))
        setattr(self, name, made)
        return made


STORE = typesys.get_typestore(typesys.Stores.EMPTY)
STRUCTURES: dict[type, MessageType] = {}


def message_class(structure: MessageType) -> type:
    """The class of a message, or of one half of a service."""
    if structure.name not in STORE.types:
        text = definition_text(structure) or f"uint8 {DUMMY}\n"
        package, _, title = structure.name.split("/")
        types = typesys.get_types_from_msg(text, f"{package}/msg/{title}")
        types[structure.name] = types.pop(f"{package}/msg/{title}")
        STORE.register({name: it for name, it in types.items() if name not in STORE.fielddefs})
    made = STORE.types[structure.name]
    STRUCTURES[made] = structure
    return made


def message(structure: MessageType, **values: Any) -> Any:
    """A message or request with these values, the others being zero."""
    message_class(structure)
    return foreign(STORE, structure, structure.Record(**values))


def serialize_message(message: Any) -> bytes:
    """As on rmw_fastrtps, with what its serialiser leaves behind the message."""
    structure = STRUCTURES[type(message)]
    cdr = bytes(STORE.serialize_cdr(message, structure.name))
    return as_fast_rtps(structure, native(structure, message), cdr)


def deserialize_message(serialized_message: bytes, message_type: type) -> Any:
    assert type(serialized_message) is bytes
    return STORE.deserialize_cdr(serialized_message, STRUCTURES[message_type].name)


def modules(without: Collection[str] = ()) -> dict[str, ModuleType]:
    """What stands where a sourced ROS 2 has it; `without` are packages that are not installed."""
    own = globals()
    contents = {
        "rclpy": ("init", "create_node"),
        "rclpy.callback_groups": ("ReentrantCallbackGroup",),
        "rclpy.context": ("Context",),
        "rclpy.executors": ("SingleThreadedExecutor", "ExternalShutdownException"),
        "rclpy.qos": ("QoSProfile", "HistoryPolicy", "ReliabilityPolicy", "DurabilityPolicy"),
        "rclpy.serialization": ("serialize_message", "deserialize_message"),
        "rclpy.signals": ("SignalHandlerOptions",),
        "rclpy.task": ("Future",),
    }
    made: dict[str, ModuleType] = {}
    for name, members in contents.items():
        made[name] = ModuleType(name)
        made[name].__path__ = []
        for member in members:
            setattr(made[name], member, own[member])
    for package in {name.partition("/")[0] for name in (*MESSAGES, *SERVICES)} - {*without}:
        made[package] = ModuleType(package)
        made[package].__path__ = []
        for kind in ("msg", "srv"):
            made[f"{package}.{kind}"] = _Package(f"{package}.{kind}")
    return made
