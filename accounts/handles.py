"""Handles: the one form a handle is stored and compared in, and the ones nobody may take.

ASCII only after NFKC and case folding, so two handles that look alike in another script cannot exist.
Reserved handles stand in reserved_handles.txt; they bind sign-up, not the operator's own commands.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path

HANDLE_LENGTH_CAP = 20
RAW_LENGTH_CAP = 100
"""Longer input is refused unread: NFKC can grow a code point eighteenfold."""

_HANDLE = re.compile(rf"[a-z0-9_]{{1,{HANDLE_LENGTH_CAP}}}")
_RESERVED_FILE = Path(__file__).with_name("reserved_handles.txt")


class HandleInvalid(ValueError):
    """Not a handle in any spelling. `code`: "empty", "too_long" or "characters"."""

    def __init__(self, code: str) -> None:
        super().__init__(f"not a handle: {code}")
        self.code = code


def normalize_handle(raw: str) -> str:
    """The stored form of a handle as somebody typed it. Raises HandleInvalid."""
    if not raw:
        raise HandleInvalid("empty")
    if len(raw) > RAW_LENGTH_CAP:
        raise HandleInvalid("too_long")
    handle = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", raw).casefold())
    if not _HANDLE.fullmatch(handle):
        overlong = re.fullmatch(r"[a-z0-9_]+", handle) is not None
        raise HandleInvalid("too_long" if overlong else "characters")
    return handle


def is_reserved(handle: str) -> bool:
    """Whether nobody may sign up with this normalized handle; underscores make no difference."""
    return handle.replace("_", "") in _reserved() or not handle.strip("_")


@cache
def _reserved() -> frozenset[str]:
    lines = _RESERVED_FILE.read_text("ascii").splitlines()
    return frozenset(re.sub(r"[^a-z0-9]", "", line) for line in lines if line and not line.startswith("#"))
