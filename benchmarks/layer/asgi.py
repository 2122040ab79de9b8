"""An ASGI application with two websocket paths."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.layer.settings"
django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402  (Django is set up first)
from django.urls import path  # noqa: E402

from benchmarks.layer.consumers import BareConsumer, EntriesConsumer  # noqa: E402

routes = [
    path("ws/stream/", EntriesConsumer.as_asgi()),  # type: ignore[no-untyped-call]
    path("ws/bare/", BareConsumer.as_asgi()),  # type: ignore[no-untyped-call]
]
application = ProtocolTypeRouter({"websocket": URLRouter(routes)})  # type: ignore[no-untyped-call]
