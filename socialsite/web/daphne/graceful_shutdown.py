"""Graceful shutdown of daphne. Without this module, daphne cancels every running request at SIGTERM.

At SIGTERM the process stops accepting connections. It closes each websocket with "service restart" (1012), so that the
client connects again with its cursor, and ends streams of events. It responds to running requests with
`Connection: close`, and exits when all responses are sent. If several daphnes share one listening socket (`--fd`),
another process accepts the waiting connections, so a restart refuses no request. systemd is notified of start and stop
(Type=notify).
"""

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import structlog
from django.conf import settings

from socialsite.web.daphne.flow_control import WEBSOCKET_STATE_OPEN, ResponseReader

DRAIN_TIMEOUT_S = 25.0
"""Time limit for running requests. Each takes at most 6 s (handler.REQUEST_DEADLINE_S), or longer for slow readers."""
IDLE_CONNECTION_LINGER_S = 5.0 if settings.TRUSTED_PROXIES else 1.0
"""Time for which idle connections stay open, so that a request that was already sent gets a response. A proxy closes
its connections before (deploy/nginx: after 2 s), because it knows whether it has sent a request."""
CLOSE_TIMEOUT_S = 3.0
POLL_INTERVAL_S = 0.05
CLOSE_CODE_SERVICE_RESTART = 1012

LifecycleHook = Callable[[], Awaitable[object]]
log = structlog.stdlib.get_logger("socialsite.daphne")


def install_graceful_shutdown(on_start: LifecycleHook, on_stop: LifecycleHook) -> None:
    """Patch daphne's classes, if daphne is the server. The hooks run at its start and end."""
    cli: Any = sys.modules.get("daphne.cli")
    protocol: Any = sys.modules.get("daphne.http_protocol")
    if cli is None or protocol is None:
        return

    protocol.WebRequest = make_draining_request(protocol.WebRequest)
    cli.CommandLineInterface.server_class = make_draining_server(cli.Server, on_start, on_stop)


def make_draining_request(request: Any) -> Any:
    """Return daphne's request class, changed to close its connection after the response during a shutdown.

    A stream of events and a response that waits for its reader have no time limit (`--http-timeout`).
    """

    class LastRequest(request):  # type: ignore[misc]
        def handle_reply(self, message: dict[str, Any]) -> None:
            if self.server.is_draining and message.get("type") == "http.response.start":
                self.responseHeaders.setRawHeaders(b"connection", [b"close"])
                if self.channel is not None:
                    self.channel.persistent = False
            super().handle_reply(message)

        def check_timeouts(self) -> None:
            if not is_event_stream(self) and not isinstance(self.producer, ResponseReader):
                super().check_timeouts()

    return LastRequest


def make_draining_server(server: Any, on_start: LifecycleHook, on_stop: LifecycleHook) -> Any:
    """Return daphne's server class, changed to call the hooks and to drain connections."""

    class DrainingServer(server):  # type: ignore[misc]
        is_draining = False

        def run(self) -> None:
            get_reactor().callWhenRunning(lambda: asyncio.ensure_future(_start(on_start)))
            super().run()

        def kill_all_applications(self) -> Any:
            """Drain all connections. daphne calls this before its reactor ends, and waits for the returned Deferred."""
            from twisted.internet.defer import Deferred

            return Deferred.fromFuture(asyncio.ensure_future(_shut_down(self, on_stop)))

    return DrainingServer


def get_reactor() -> Any:
    from twisted.internet import reactor  # daphne installs it before it imports the application

    return reactor


async def _start(on_start: LifecycleHook) -> None:
    try:
        await on_start()
    finally:
        notify_systemd("READY=1")  # even if the store is unavailable: requests then get 503


async def _shut_down(server: Any, on_stop: LifecycleHook) -> None:
    server.is_draining = True
    notify_systemd("STOPPING=1")
    await drain_connections(server)
    await _cancel_remaining_requests(server)
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await on_stop()
    except TimeoutError:
        log.warning("the services were not closed in time")


async def drain_connections(server: Any) -> None:
    """Wait at most DRAIN_TIMEOUT_S until all requests have responses and all sockets are closed."""
    loop = asyncio.get_running_loop()
    _stop_listening()
    _end_event_streams(server)
    started = loop.time()
    while loop.time() < started + DRAIN_TIMEOUT_S:
        is_busy = False
        for transport in _open_transports():
            is_busy = True
            _end_connection(transport, is_patient=loop.time() < started + IDLE_CONNECTION_LINGER_S)
        if not is_busy and not any(_active_protocols(server)):
            return
        await asyncio.sleep(POLL_INTERVAL_S)


def _end_event_streams(server: Any) -> None:
    """End the responses that have no end. Their clients connect again."""
    for protocol in list(_active_protocols(server)):
        if is_event_stream(protocol):
            protocol.finish()


def is_event_stream(protocol: Any) -> bool:
    """Return whether the client gets server-sent events."""
    headers: Any = getattr(protocol, "responseHeaders", None)
    return headers is not None and headers.getRawHeaders(b"content-type") == [b"text/event-stream"]


def _stop_listening() -> None:
    """Stop accepting connections. An inherited socket stays open in its owner, and new connections wait there."""
    from twisted.internet.tcp import Port

    ports: list[Any] = [reader for reader in get_reactor().getReaders() if isinstance(reader, Port)]
    for port in ports:
        port.stopListening()


def _open_transports() -> set[Any]:
    """Return the connections that Twisted reads or writes. It does neither while a connection's request is running."""
    from twisted.internet.tcp import Server

    return {each for each in (*get_reactor().getReaders(), *get_reactor().getWriters()) if isinstance(each, Server)}


def _active_protocols(server: Any) -> Iterator[Any]:
    return (protocol for protocol, details in list(server.connections.items()) if "disconnected" not in details)


def _end_connection(transport: Any, *, is_patient: bool) -> None:
    protocol = transport.protocol
    protocol = getattr(protocol, "_channel", protocol)  # Twisted wraps a protocol that ALPN may replace
    if hasattr(protocol, "sendCloseFrame"):  # a websocket: autobahn drops it after 1 s without an answer
        if protocol.state == WEBSOCKET_STATE_OPEN:
            protocol.sendCloseFrame(code=CLOSE_CODE_SERVICE_RESTART)
        return
    if not is_patient and not getattr(protocol, "requests", ()) and not _has_unread_bytes(transport):
        transport.loseConnection()


def _has_unread_bytes(transport: Any) -> bool:
    """Return whether the kernel has received bytes that the reactor has not read yet."""
    try:
        return bool(transport.getHandle().recv(1, socket.MSG_PEEK))
    except OSError:  # no bytes, or the connection is closed
        return False


async def _cancel_remaining_requests(server: Any) -> None:
    tasks = [
        task
        for details in list(server.connections.values())
        if (task := details.get("application_instance")) is not None and not task.done()
    ]
    if not tasks:
        return
    unanswered = sum(1 for _ in _active_protocols(server))
    if unanswered:
        log.warning("requests were broken off", requests=unanswered)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=CLOSE_TIMEOUT_S)


def notify_systemd(state: str) -> None:
    """Send a state to systemd, if it started this process (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify_socket:
        try:
            notify_socket.connect("\0" + address[1:] if address.startswith("@") else address)
            notify_socket.send(state.encode())
        except OSError as error:
            log.warning("systemd was not told", state=state, reason=str(error))
