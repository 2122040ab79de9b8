"""What is sent about mutes, filters and audiences, read from the fields of a body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from timelines.errors import FilterRefused
from timelines.visibility.filter import Action, Filter

DURATION_MOST = 366 * 86_400
_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class FilterForm:
    """A filter as it was sent. `until_ms` None: for ever."""

    phrase: str
    action: Action
    until_ms: int | None
    whole_word: bool

    @classmethod
    def of(cls, fields: Mapping[str, str], now_ms: int, standing: Filter | None = None) -> "FilterForm":
        """`standing`: the filter that is changed; what is not sent stays. Raises FilterRefused."""
        action = fields.get("action", standing.action if standing else "warn")
        if action not in ("warn", "hide"):
            raise FilterRefused({"action": _("This is none of: warn, hide.")})
        whole = fields.get("whole_word")
        kept = standing.whole_word if standing else True
        return cls(
            fields.get("phrase", standing.phrase if standing else ""),
            "hide" if action == "hide" else "warn",
            cls._ends(fields, now_ms, standing),
            kept if whole is None else whole in ("1", "on"),
        )

    @staticmethod
    def _ends(fields: Mapping[str, str], now_ms: int, standing: Filter | None) -> int | None:
        """`expires_in` in seconds; "keep" (or nothing, in an edit) leaves the end where it was."""
        text = fields.get("expires_in", "keep" if standing else "")
        if text == "keep" and standing is not None:
            return standing.until_ms
        try:
            return _until(text, now_ms)
        except ValueError:
            raise FilterRefused({"expires_in": _("This is not a number of seconds.")}) from None


def _until(text: str, now_ms: int) -> int | None:
    """None for "" and "0". Raises ValueError."""
    if text in ("", "0"):
        return None
    if not _SECONDS.fullmatch(text):
        raise ValueError("not a number of seconds")
    return now_ms + 1000 * min(int(text), DURATION_MOST)
