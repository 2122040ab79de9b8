"""How a daphne ends: nothing that was begun is broken off (daphne itself cancels every request at SIGTERM).

It stops accepting, tells each socket "service restart" (1012), so that its client comes back with its cursor,
answers the requests in hand with `Connection: close`, and ends when all of it is sent. Where several daphnes
share one listening socket (`--fd`), the others, or the next one, take what waits in it: a restart refuses
nobody. systemd is told when the process is ready and when it stops (Type=notify).
"""

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import structlog

DRAIN_TIMEOUT_S = 25.0
"""For the requests in hand; each has 6 s (handler.DEADLINE_S), clients that read slowly need longer."""
IDLE_CONNECTION_LINGER_S = 1.0
"""An idle connection stays open for so long: a request may be on its way, and gets its answer."""
CLOSE_TIMEOUT_S = 3.0
POLL_INTERVAL_S = 0.05
CLOSE_CODE_SERVICE_RESTART = 1012
WEBSOCKET_STATE_OPEN = 3
"""autobahn's WebSocketProtocol.STATE_OPEN."""

LifecycleHook = Callable[[], Awaitable[object]]
log = structlog.stdlib.get_logger("socialsite.daphne")


def install_graceful_shutdown(on_start: LifecycleHook, on_stop: LifecycleHook) -> None:
    """Put the ending into daphne, if that is the server; `opening` is for its start, `closing` its end."""
    cli: Any = sys.modules.get("daphne.cli")
    protocol: Any = sys.modules.get("daphne.http_protocol")
    if cli is None or protocol is None:
        return

    protocol.WebRequest = make_draining_request(protocol.WebRequest)
    cli.CommandLineInterface.server_class = make_draining_server(cli.Server, on_start, on_stop)


def make_draining_request(request: Any) -> Any:
    """daphne's class of a request, that ends its connection with its answer while the server drains."""

    class LastRequest(request):  # type: ignore[misc]
        def handle_reply(self, message: dict[str, Any]) -> None:
            if self.server.is_draining and message.get("type") == "http.response.start":
                self.responseHeaders.setRawHeaders(b"connection", [b"close"])
                if self.channel is not None:
                    self.channel.persistent = False
            super().handle_reply(message)

    return LastRequest


def make_draining_server(server: Any, on_start: LifecycleHook, on_stop: LifecycleHook) -> Any:
    """daphne's class of the server, with our beginning and end."""

    class DrainingServer(server):  # type: ignore[misc]
        is_draining = False

        def run(self) -> None:
            get_reactor().callWhenRunning(lambda: asyncio.ensure_future(_start(on_start)))
            super().run()

        def kill_all_applications(self) -> Any:
            """daphne calls this before its reactor ends, and waits for what it returns."""
            from twisted.internet.defer import Deferred

            return Deferred.fromFuture(asyncio.ensure_future(_shut_down(self, on_stop)))

    return DrainingServer


def get_reactor() -> Any:
    from twisted.internet import reactor as running  # chosen by daphne before the application is imported

    return running


async def _start(on_start: LifecycleHook) -> None:
    try:
        await on_start()
    finally:
        notify_systemd("READY=1")  # without its store, too: it answers 503 and tries again


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
    """Wait until everything that was begun is done, for at most DRAIN_TIMEOUT_S."""
    loop = asyncio.get_running_loop()
    _stop_listening()
    began = loop.time()
    while loop.time() < began + DRAIN_TIMEOUT_S:
        is_busy = False
        for transport in _open_transports():
            is_busy = True
            _end_connection(transport, is_patient=loop.time() < began + IDLE_CONNECTION_LINGER_S)
        if not is_busy and not any(_active_protocols(server)):
            return
        await asyncio.sleep(POLL_INTERVAL_S)


def _stop_listening() -> None:
    """A socket that was inherited stays open with whoever gave it: what comes waits there."""
    from twisted.internet.tcp import Port

    listening: list[Any] = [each for each in get_reactor().getReaders() if isinstance(each, Port)]
    for port in listening:
        port.stopListening()


def _open_transports() -> set[Any]:
    """Accepted connections that read or write; those that do neither have a request in hand."""
    from twisted.internet.tcp import Server

    return {each for each in (*get_reactor().getReaders(), *get_reactor().getWriters()) if isinstance(each, Server)}


def _active_protocols(server: Any) -> Iterator[Any]:
    """What daphne still works for."""
    return (protocol for protocol, details in list(server.connections.items()) if "disconnected" not in details)


def _end_connection(transport: Any, *, is_patient: bool) -> None:
    protocol = transport.protocol
    protocol = getattr(protocol, "_channel", protocol)  # Twisted wraps what ALPN may choose
    if hasattr(protocol, "sendCloseFrame"):  # a websocket: autobahn drops it after 1 s without an answer
        if protocol.state == WEBSOCKET_STATE_OPEN:
            protocol.sendCloseFrame(code=CLOSE_CODE_SERVICE_RESTART)
        return
    if not is_patient and not getattr(protocol, "requests", ()) and not _has_unread_bytes(transport):
        transport.loseConnection()


def _has_unread_bytes(transport: Any) -> bool:
    """A request that the kernel has and the reactor, on a busy machine, has not read yet."""
    try:
        return bool(transport.getHandle().recv(1, socket.MSG_PEEK))
    except OSError:  # nothing there, or nobody
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
    """sd_notify(3), where systemd listens."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        try:
            told.connect("\0" + address[1:] if address.startswith("@") else address)
            told.send(state.encode())
        except OSError as error:
            log.warning("systemd was not told", state=state, reason=str(error))
