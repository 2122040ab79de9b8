"""The URLs of the API that Mastodon clients use. They have no final slash (docs/guide/api.md)."""

from django.urls import path

from socialsite.web.requests import dispatch_by_method
from timelines.api import accounts, streaming

app_name = "api"
urlpatterns = [
    path("api/v1/streaming/health", dispatch_by_method(GET=streaming.health), name="streaming-health"),
    path("api/v1/streaming", dispatch_by_method(GET=streaming.stream_events), name="streaming"),
    path("api/v1/streaming/<path:stream>", dispatch_by_method(GET=streaming.stream_events), name="stream"),
    path(
        "api/v1/accounts/verify_credentials",
        dispatch_by_method(GET=accounts.verify_credentials),
        name="verify-credentials",
    ),
]
