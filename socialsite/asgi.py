"""The ASGI application that daphne serves: HTTP, websockets and lifespan.

The services of the event loop are opened and closed at the start and stop of daphne, which sends no lifespan events
(web/daphne/graceful_shutdown.py). With other servers, or if the store is unavailable at the start, the first request
opens the services.
"""

import asyncio
import os
import sys

import django
import structlog
from channels.routing import ProtocolTypeRouter, URLRouter

from socialsite.web.gc_tuning import freeze_startup_objects, set_gc_thresholds

set_gc_thresholds()
# The imports below need a configured Django.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402

from accounts.sessions.uploads import find_uploader  # noqa: E402
from socialsite.alerts.watch import AlertWatch  # noqa: E402
from socialsite.recipes.task_supervisor import TaskSupervisor  # noqa: E402
from socialsite.store.errors import StoreError, StoreUnavailable  # noqa: E402
from socialsite.web.asgi_types import Receive, Scope, Send, merge_slashes  # noqa: E402
from socialsite.web.daphne.graceful_shutdown import install_graceful_shutdown  # noqa: E402
from socialsite.web.daphne.request_limits import install_request_limits  # noqa: E402
from socialsite.web.handler import (  # noqa: E402
    AsyncHandler,
    disconnect_database_receivers,
)
from socialsite.web.services import loop_services  # noqa: E402
from socialsite.web.startup import prepare_first_request  # noqa: E402
from socialsite.web.static_files import StaticFiles  # noqa: E402
from socialsite.web.uploads import find_upload_rules  # noqa: E402
from socialsite.web.websocket import OriginMiddleware  # noqa: E402
from timelines.api.streaming import STREAMING_PATHS, api_websocket_urlpatterns  # noqa: E402
from timelines.live.consumer import streaming_servers  # noqa: E402
from timelines.live.routing import websocket_urlpatterns  # noqa: E402

STARTUP_TIMEOUT_S = 5.0
log = structlog.stdlib.get_logger("socialsite.start")
watching = TaskSupervisor()
"""Runs the checks for alerts, also while the store does not answer."""


async def start_services() -> None:
    """Open the services before the first request. If the store can never be used, the process exits with status 1."""
    watching.start(AlertWatch().run)
    try:
        async with asyncio.timeout(STARTUP_TIMEOUT_S):
            await loop_services.get()
    except (StoreUnavailable, TimeoutError) as error:
        log.warning("the store is away, requests get 503 until it comes", reason=str(error) or "time-out")
    except StoreError as error:
        sys.stderr.write(f"The store cannot be used: {error}\n")
        sys.stderr.flush()
        os._exit(1)  # no request has begun; a supervisor starts the process again


async def stop_services() -> None:
    """Deregister this process and write its pending counts."""
    await watching.close()
    await streaming_servers.close()
    await loop_services.close()


disconnect_database_receivers()
install_request_limits(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, find_upload_rules, find_uploader)
install_graceful_shutdown(start_services, stop_services)
prepare_first_request()
freeze_startup_objects()


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer lifespan events, and close the services at the shutdown event. Requests open them."""
    while True:
        kind = (await receive())["type"]
        if kind == "lifespan.shutdown":
            await stop_services()
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


protocols = ProtocolTypeRouter(  # type: ignore[no-untyped-call]
    {
        "http": StaticFiles(AsyncHandler()),
        "websocket": OriginMiddleware(
            URLRouter([*api_websocket_urlpatterns, *websocket_urlpatterns]),  # type: ignore[no-untyped-call]
            token_paths=STREAMING_PATHS,
        ),
        "lifespan": lifespan,
    }
)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a path with repeated slashes as the path with single ones, as Mastodon does. Some apps write such paths."""
    if "//" in scope.get("path", ""):
        scope = {**scope, "path": merge_slashes(scope["path"])}
    await protocols(scope, receive, send)
