"""Websocket URLs."""

from django.urls import path, re_path

from socialsite.web.websocket import reject_handshake
from timelines.live.consumer import StreamConsumer

websocket_urlpatterns = [
    path("ws/stream/", StreamConsumer.as_asgi()),  # type: ignore[no-untyped-call]
    re_path("", reject_handshake),  # type: ignore[arg-type]  # an ASGI application, as URLRouter expects
]
