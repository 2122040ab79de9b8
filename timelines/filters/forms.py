"""Forms of keyword filters, and durations in seconds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from timelines.errors import FilterInvalid
from timelines.visibility.filter import FILTER_ACTIONS, FilterAction, KeywordFilter

MAX_DURATION_S = 366 * 86_400
_SECONDS_PATTERN = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class FilterForm:
    """A submitted filter. `until_ms` is None for a filter without an end."""

    phrase: str
    action: FilterAction
    until_ms: int | None
    whole_word: bool

    @classmethod
    def parse(
        cls, fields: Mapping[str, str], now_ms: int, existing_filter: KeywordFilter | None = None
    ) -> "FilterForm":
        """Parse the fields. A missing field keeps the value of `existing_filter`. Raises FilterInvalid."""
        name = fields.get("action", existing_filter.action if existing_filter else "warn")
        action = next((each for each in FILTER_ACTIONS if each == name), None)
        if action is None:
            raise FilterInvalid({"action": _("This must be one of: warn, hide.")})
        whole_word = fields.get("whole_word")
        default = existing_filter.whole_word if existing_filter else True
        return cls(
            fields.get("phrase", existing_filter.phrase if existing_filter else ""),
            action,
            cls._parse_expiry(fields, now_ms, existing_filter),
            default if whole_word is None else whole_word in ("1", "on"),
        )

    @staticmethod
    def _parse_expiry(fields: Mapping[str, str], now_ms: int, existing_filter: KeywordFilter | None) -> int | None:
        """Parse the field `expires_in` (seconds). In an edit, "keep" or no value keeps the end of the filter."""
        text = fields.get("expires_in", "keep" if existing_filter else "")
        if text == "keep" and existing_filter is not None:
            return existing_filter.until_ms
        try:
            return parse_end_ms(text, now_ms)
        except ValueError:
            raise FilterInvalid({"expires_in": _("This is not a number of seconds.")}) from None


def parse_end_ms(text: str, now_ms: int) -> int | None:
    """Return the end (Unix ms) of a duration in seconds, or None for "" and "0". Raises ValueError."""
    if text in ("", "0"):
        return None
    if not _SECONDS_PATTERN.fullmatch(text):
        raise ValueError("not a number of seconds")
    return now_ms + 1000 * min(int(text), MAX_DURATION_S)
