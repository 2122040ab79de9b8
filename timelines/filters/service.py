"""Keyword filters of an account. Each read applies them to the texts of a page (timelines/visibility)."""

import unicodedata
from dataclasses import dataclass
from typing import Protocol

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from socialsite.characters import normalize
from socialsite.ids import AccountId
from timelines.errors import FilterInvalid, FilterNotFound, FiltersCapReached
from timelines.filters.repository import Filters
from timelines.text.tokenizer import normalize_spelling
from timelines.visibility.filter import FILTERS_CAP, PHRASE_LENGTH_CAP, FilterAction, KeywordFilter


class LiveEvents(Protocol):
    async def filters_changed(self, account_id: AccountId) -> None: ...


@dataclass(kw_only=True, slots=True)
class FilterService:
    """Reads and changes filters. `cap` can be exceeded by the number of concurrent requests."""

    filters: Filters
    live: LiveEvents
    cap: int = FILTERS_CAP

    async def all(self, account_id: AccountId) -> list[KeywordFilter]:
        """Return all filters in the order of creation. Expired filters stay until they are edited or deleted."""
        return await self.filters.all(account_id)

    async def add(
        self,
        *,
        account_id: AccountId,
        phrase: str,
        action: FilterAction = "warn",
        until_ms: int | None = None,
        whole_word: bool = True,
    ) -> KeywordFilter:
        """Add a filter, and return it. Raises FilterInvalid, FiltersCapReached."""
        phrase = normalize_phrase(phrase)
        if len(await self.filters.all(account_id)) >= self.cap:
            raise FiltersCapReached
        added = await self.filters.add(account_id, KeywordFilter(0, phrase, action, until_ms, whole_word))
        await self.live.filters_changed(account_id)
        return added

    async def edit(
        self,
        *,
        account_id: AccountId,
        number: int,
        phrase: str,
        action: FilterAction,
        until_ms: int | None,
        whole_word: bool,
    ) -> KeywordFilter:
        """Replace a filter, and return it. Raises FilterInvalid, FilterNotFound."""
        changed = KeywordFilter(number, normalize_phrase(phrase), action, until_ms, whole_word)
        if not await self.filters.replace(account_id, changed):
            raise FilterNotFound
        await self.live.filters_changed(account_id)
        return changed

    async def delete(self, *, account_id: AccountId, number: int) -> bool:
        """Delete a filter. Return whether it existed."""
        removed = await self.filters.remove(account_id, number)
        await self.live.filters_changed(account_id)
        return removed


def normalize_phrase(phrase: str) -> str:
    """Return the stored form of a phrase. Raises FilterInvalid."""
    phrase = " ".join(phrase.split())
    if len(phrase) <= PHRASE_LENGTH_CAP:
        phrase = normalize("NFC", phrase)
    if len(phrase) > PHRASE_LENGTH_CAP:
        text = ngettext(
            "A phrase has at most %(most)d character.",
            "A phrase has at most %(most)d characters.",
            PHRASE_LENGTH_CAP,
        )
        raise FilterInvalid({"phrase": text % {"most": PHRASE_LENGTH_CAP}})
    if not normalize_spelling(phrase).split():
        raise FilterInvalid({"phrase": _("Enter a word or a phrase.")})
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in phrase):
        raise FilterInvalid({"phrase": _("This phrase has characters that cannot be shown.")})
    return phrase
