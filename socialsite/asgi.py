"""The ASGI application that daphne serves: HTTP here, websockets by timelines.live.routing.

One dispatch by protocol. Servers that announce start and stop (lifespan) get the services opened and closed
by it; under daphne its own start and stop do the same (daphne_drain.py). While the store is away the first
request that finds it opens them.
"""

import asyncio
import os
import sys

import django
import structlog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402  (Django is set up first)
from django.contrib.auth.password_validation import get_default_password_validators  # noqa: E402
from django.template import engines  # noqa: E402  (Django is set up first)
from django.utils import translation  # noqa: E402  (Django is set up first)
from django.utils.timezone import get_default_timezone  # noqa: E402  (Django is set up first)

from socialsite.store.errors import StoreError, StoreUnavailable  # noqa: E402
from socialsite.web.daphne.graceful_shutdown import install_graceful_shutdown  # noqa: E402
from socialsite.web.daphne.request_limits import install_request_limits  # noqa: E402
from socialsite.web.gc_tuning import freeze_startup_objects  # noqa: E402
from socialsite.web.handler import (  # noqa: E402  (Django is set up first)
    AsyncHandler,
    disconnect_database_receivers,
)
from socialsite.web.middleware.limits import Application, Receive, Scope, Send  # noqa: E402
from socialsite.web.middleware.services import loop_services  # noqa: E402
from socialsite.web.static_files import StaticFiles  # noqa: E402
from timelines.live.consumer import streaming_servers  # noqa: E402
from timelines.live.routing import websocket_application  # noqa: E402

STARTUP_TIMEOUT_S = 5.0
log = structlog.stdlib.get_logger("socialsite.start")


async def start_services() -> None:
    """Before the first request. While the store is away requests try again; what is wrong ends us."""
    try:
        async with asyncio.timeout(STARTUP_TIMEOUT_S):
            await loop_services.get()
    except (StoreUnavailable, TimeoutError) as error:
        log.warning("the store is away, requests get 503 until it comes", reason=str(error) or "time-out")
    except StoreError as error:
        sys.stderr.write(f"The store cannot be used: {error}\n")
        sys.stderr.flush()
        os._exit(1)  # nothing was begun; a supervisor tries again, and says so again


async def stop_services() -> None:
    """Leave the others' sight, and write what was counted."""
    await streaming_servers.close()
    await loop_services.close()


disconnect_database_receivers()
install_request_limits(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
install_graceful_shutdown(start_services, stop_services)
# What is read from files is read now: libraries of tags, words that are no passwords, the time zone, texts in
# every language.
engines.all()
get_default_password_validators()
get_default_timezone()
for language, _ in settings.LANGUAGES:
    with translation.override(language):
        translation.gettext("")
freeze_startup_objects()


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    """Close the services when the server says so.

    Opening may fail while the store is down: requests try again.
    """
    while True:
        kind = (await receive())["type"]
        if kind == "lifespan.shutdown":
            await stop_services()
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


class ProtocolRouter:
    """An application for each protocol; another protocol is the server's mistake."""

    def __init__(self, applications: dict[str, Application]) -> None:
        self.applications = applications

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        application = self.applications.get(scope["type"])
        if application is None:
            raise ValueError(f"no application for the protocol {scope['type']!r}")
        await application(scope, receive, send)


application = ProtocolRouter(
    {"http": StaticFiles(AsyncHandler()), "websocket": websocket_application, "lifespan": lifespan}
)
