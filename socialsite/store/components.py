"""The names of the components of the store."""

COMPONENTS = (
    "accounts", "sessions", "posts", "timelines", "public", "follows", "limits", "jobs", "live", "series",
    "search",
)  # fmt: skip
REPLICA_CONFIRMED_COMPONENTS = ("posts", "timelines", "public", "follows")
"""Components whose writes REQUIRE_REPLICAS confirms with WAIT, which Twemproxy does not support."""
