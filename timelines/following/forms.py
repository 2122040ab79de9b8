"""TODO."""

from collections.abc import Mapping

from timelines.errors import MuteDurationInvalid
from timelines.filters.forms import _parse_end_ms


def parse_mute_end(fields: Mapping[str, str], now_ms: int) -> int | None:
    """`duration` in seconds, as the ms at which it is over; None for good. Raises MuteDurationInvalid."""
    try:
        return _parse_end_ms(fields.get("duration", ""), now_ms)
    except ValueError:
        raise MuteDurationInvalid from None
