"""Handles: the one form a handle is stored and compared in, and the ones nobody may take.

ASCII only after NFKC and case folding, so two handles that look alike in another script cannot exist.
Reserved handles stand in reserved_handles.txt; they bind sign-up, not the operator's own commands.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path

HANDLE_MAX_LENGTH = 20
RAW_HANDLE_MAX_LENGTH = 100
"""Longer input is refused unread: NFKC can grow a code point eighteenfold."""

_HANDLE_PATTERN = re.compile(rf"[a-z0-9_]{{1,{HANDLE_MAX_LENGTH}}}")
_RESERVED_FILE = Path(__file__).with_name("reserved_handles.txt")


class InvalidHandle(ValueError):
    """Not a handle in any spelling. `code`: "empty", "too_long" or "characters"."""

    def __init__(self, code: str) -> None:
        super().__init__(f"not a handle: {code}")
        self.code = code


def normalize_handle(raw: str) -> str:
    """The stored form of a handle as somebody typed it. Raises InvalidHandle."""
    if not raw:
        raise InvalidHandle("empty")
    if len(raw) > RAW_HANDLE_MAX_LENGTH:
        raise InvalidHandle("too_long")
    handle = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", raw).casefold())
    if not _HANDLE_PATTERN.fullmatch(handle):
        overlong = re.fullmatch(r"[a-z0-9_]+", handle) is not None
        raise InvalidHandle("too_long" if overlong else "characters")
    return handle


def is_reserved(handle: str) -> bool:
    """Whether nobody may sign up with this normalized handle; underscores make no difference."""
    return handle.replace("_", "") in _load_reserved_handles() or not handle.strip("_")


@cache
def _load_reserved_handles() -> frozenset[str]:
    lines = _RESERVED_FILE.read_text("ascii").splitlines()
    return frozenset(re.sub(r"[^a-z0-9]", "", line) for line in lines if line and not line.startswith("#"))
