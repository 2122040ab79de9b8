"""Websocket addresses. Everything else, and every foreign page, is refused with 403."""

from channels.routing import URLRouter
from django.urls import path, re_path

from socialsite.web.websocket import OriginMiddleware, reject_handshake
from timelines.live.consumer import StreamConsumer

websocket_urlpatterns = [
    path("ws/stream/", StreamConsumer.as_asgi()),  # type: ignore[no-untyped-call]
    re_path("", reject_handshake),  # type: ignore[arg-type]  # an ASGI application, as URLRouter wants it
]

websocket_application = OriginMiddleware(URLRouter(websocket_urlpatterns))  # type: ignore[no-untyped-call]
