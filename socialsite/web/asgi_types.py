"""Types of the ASGI interface (https://asgi.readthedocs.io/), and the path that a request means."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Any, Any], Awaitable[None]]
_SLASHES = re.compile("/{2,}")


def merge_slashes(path: str) -> str:
    """Return a path with single slashes. The limits of a body and the view read the same path."""
    return _SLASHES.sub("/", path)
