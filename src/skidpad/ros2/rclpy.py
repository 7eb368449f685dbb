"""Transport over rclpy, for use where a ROS 2 installation is sourced.

It uses the middleware and the message packages of that installation. rclpy does not exist outside
of ROS, so this module is tested only against a stand-in with its signatures and rules
(github.com/ros2/rclpy, December 2024).
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from ..errors import MissingExtra
from .dds import Data, Identity, Qos, Reply, Transport, TypeNotInstalled, Types
from .messages.types import MessageType, ServiceType

_PATIENCE = 0.5
"""Time in s after which the thread checks whether to end."""


class RclpyPublisher:
    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher

    def write(self, cdr: Data) -> None:
        """Send a message as serialised bytes."""
        self._publisher.publish(bytes(cdr))

    @property
    def readers(self) -> int:
        return self._publisher.get_subscription_count()


class RclpyTransport(Transport):
    """A node of rclpy in a context of its own, with one thread for arriving messages."""

    def __init__(self, identity: Identity) -> None:
        super().__init__(identity)
        self._rclpy = _imported("rclpy")
        self._context = _imported("rclpy.context").Context()
        signals = _imported("rclpy.signals").SignalHandlerOptions
        # Without an explicit list rclpy would read the arguments of the process.
        self._rclpy.init(args=[], context=self._context, signal_handler_options=signals.NO)
        # Logs and parameters are those of `Node`, as with every transport.
        off = ("use_global_arguments", "enable_rosout", "start_parameter_services")
        options = {"namespace": identity.namespace, **dict.fromkeys(off, False)}
        self._node = self._rclpy.create_node(identity.name, context=self._context, **options)
        self._subscribed: dict[str, str] = {}
        """Types of the node's subscriptions and of its publishers, by topic."""
        self._published: dict[str, str] = {}
        self._executor = _imported("rclpy.executors").SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name="rclpy", daemon=True)
        self._thread.start()

    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> RclpyPublisher:
        made = self._node.create_publisher(_class(type_.name), topic, self._profile(qos))
        self._published[topic] = type_.name
        return RclpyPublisher(made)

    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Call a function with the bytes of each message of a topic, in the thread of rclpy."""
        take, profile = partial(self._guarded, topic, callback), self._profile(qos)
        self._node.create_subscription(_class(type_.name), topic, take, profile, raw=True)
        self._subscribed[topic] = type_.name

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        """Call a function with each request of a service and a function that sends its response."""
        kind = _class(type_.name)
        serialization, future = _imported("rclpy.serialization"), _imported("rclpy.task").Future
        # In the default callback group, all other callbacks would wait for the response.
        group = _imported("rclpy.callback_groups").ReentrantCallbackGroup()

        async def take(request: Any, _: Any) -> Any:
            answer = future()
            # The thread continues only when something arrives, or it is woken.
            answer.add_done_callback(lambda _: self._executor.wake())

            def reply(cdr: Data) -> None:
                if not (self.closed or answer.done()):
                    response = serialization.deserialize_message(bytes(cdr), kind.Response)
                    answer.set_result(response)

            self._guarded(name, handler, serialization.serialize_message(request), reply)
            return await answer

        self._node.create_service(kind, name, take, callback_group=group)

    def look(self) -> None:
        """Warn about a node of the same name, and about peers with another type, to which ROS 2
        silently does not connect."""
        if self.closed:
            return
        if self._node.get_node_names_and_namespaces().count(self.identity) > 1:
            self.notices.add("another node", f"there is another node {self.identity.full}")
        sides = (
            (self._subscribed, self._node.get_publishers_info_by_topic, "a publisher of"),
            (self._published, self._node.get_subscriptions_info_by_topic, "a subscription to"),
        )
        for topic, types in self._node.get_topic_names_and_types():
            if len(types) < 2:
                continue
            for own, endpoints_of, who in sides:
                for one in endpoints_of(topic) if topic in own else ():
                    if one.topic_type != own[topic]:
                        node = Identity(one.node_name, one.node_namespace).full
                        both = Types(one.topic_type, own[topic])
                        self.notices.add_type(node, who, topic, node, both)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._executor.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def _spin(self) -> None:
        # An external shutdown of the context ends this loop, too.
        with suppress(_imported("rclpy.executors").ExternalShutdownException):
            while not self.closed:
                self._executor.spin_once(timeout_sec=_PATIENCE)

    def _profile(self, qos: Qos) -> Any:
        module = _imported("rclpy.qos")
        reliability, durability = module.ReliabilityPolicy, module.DurabilityPolicy
        return module.QoSProfile(
            history=module.HistoryPolicy.KEEP_LAST,
            depth=qos.depth,
            reliability=reliability.RELIABLE if qos.reliable else reliability.BEST_EFFORT,
            durability=durability.TRANSIENT_LOCAL if qos.latched else durability.VOLATILE,
        )

    def _guarded(self, name: str, function: Callable[..., None], *arguments: Any) -> None:
        # An exception would end the thread of rclpy and with it every other callback.
        try:
            function(*arguments)
        except Exception as error:
            self.notices.add(name, f"{name}: what takes its messages failed: {error!r}")


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"The transport rclpy needs {module}, which comes with ROS 2: source its setup file, "
            "or take the transport cyclonedds or zenoh"
        ) from error


def _class(name: str) -> Any:
    """rclpy class of a type such as "nav_msgs/msg/Odometry"."""
    package, kind, title = name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), title)
    except (ImportError, AttributeError) as error:
        raise TypeNotInstalled(
            f"the sourced ROS 2 has no type {name}: install or source its package {package}"
        ) from error
