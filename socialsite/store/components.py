"""The names of the components of the store."""

COMPONENTS = (
    "accounts", "sessions", "posts", "timelines", "public", "follows", "limits", "jobs", "live", "series",
    "search",
)  # fmt: skip
