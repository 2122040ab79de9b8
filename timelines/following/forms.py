"""TODO."""

from collections.abc import Mapping

from timelines.errors import MuteRefused
from timelines.filters.forms import _until


def mute_until(fields: Mapping[str, str], now_ms: int) -> int | None:
    """`duration` in seconds, as the ms at which it is over; None for good. Raises MuteRefused."""
    try:
        return _until(fields.get("duration", ""), now_ms)
    except ValueError:
        raise MuteRefused from None
