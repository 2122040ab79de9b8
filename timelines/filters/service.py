"""Keyword filters of an account. Each read applies them to the texts of a page (timelines/visibility)."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec.structs import replace

from socialsite.characters import normalize
from socialsite.ids import AccountId
from timelines.errors import FilterInvalid, FilterNotFound, FiltersCapReached
from timelines.filters.repository import Filters
from timelines.text.tokenizer import normalize_spelling
from timelines.visibility.filter import FILTERS_CAP, PHRASE_LENGTH_CAP, FilterAction, KeywordFilter

Phrase = tuple[str, bool]
"""A phrase, and whether it matches whole words only."""


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
        stored = await self._find(account_id, number)
        changed = replace(
            stored, phrase=normalize_phrase(phrase), action=action, until_ms=until_ms, whole_word=whole_word
        )
        if not await self.filters.replace(account_id, changed):
            raise FilterNotFound
        await self.live.filters_changed(account_id)
        return changed

    async def delete(self, *, account_id: AccountId, number: int) -> bool:
        """Delete a filter. Return whether it existed."""
        removed = await self.filters.remove(account_id, number)
        await self.live.filters_changed(account_id)
        return removed

    # Groups

    async def group(self, account_id: AccountId, group_id: int) -> list[KeywordFilter]:
        """Return the filters of a group, which differ in their phrases only. Raises FilterNotFound."""
        members = [each for each in await self.filters.all(account_id) if each.group_id == group_id]
        if not members:
            raise FilterNotFound
        return members

    async def add_group(
        self, account_id: AccountId, shared: KeywordFilter, phrases: Sequence[Phrase]
    ) -> list[KeywordFilter]:
        """Add a group. `shared` has what its filters have in common. Raises FilterInvalid, FiltersCapReached."""
        if not phrases:
            raise FilterInvalid({"keywords_attributes": _("A filter needs at least one word or phrase.")})
        added = await self._add_members(account_id, replace(shared, title=normalize_title(shared.title)), phrases)
        await self.live.filters_changed(account_id)
        return added

    async def edit_group(
        self,
        account_id: AccountId,
        group_id: int,
        shared: KeywordFilter | None = None,
        *,
        added: Sequence[Phrase] = (),
        changed: Mapping[int, Phrase] | None = None,
        removed: Collection[int] = (),
    ) -> list[KeywordFilter]:
        """Change what the filters have in common, and their phrases. Raises FilterInvalid, FilterNotFound."""
        members, changes = await self.group(account_id, group_id), changed or {}
        common = shared or members[0]
        if not {*changes, *removed} <= {each.id for each in members}:
            raise FilterNotFound
        edited = [
            KeywordFilter(
                each.id,
                *_valid(changes.get(each.id, (each.phrase, each.whole_word)), common),
                normalize_title(common.title),
                group_id,
                common.contexts,
            )
            for each in members
            if each.id not in removed
        ]
        for each in edited:
            await self.filters.replace(account_id, each)
        if added:
            shared = replace(edited[0] if edited else common, group=group_id)
            edited += await self._add_members(account_id, shared, added)
        for number in removed:
            await self.filters.remove(account_id, number)
        await self.live.filters_changed(account_id)
        return edited

    async def delete_group(self, account_id: AccountId, group_id: int) -> None:
        """Delete the filters of a group. Raises FilterNotFound."""
        for each in await self.group(account_id, group_id):
            await self.filters.remove(account_id, each.id)
        await self.live.filters_changed(account_id)

    async def _add_members(
        self, account_id: AccountId, shared: KeywordFilter, phrases: Sequence[Phrase]
    ) -> list[KeywordFilter]:
        drafts = [
            KeywordFilter(0, *_valid(phrase, shared), shared.title, shared.group, shared.contexts) for phrase in phrases
        ]
        if len(await self.filters.all(account_id)) + len(drafts) > self.cap:
            raise FiltersCapReached
        added: list[KeywordFilter] = []
        for draft in drafts:
            group = draft.group or (added[0].id if added else 0)
            added.append(await self.filters.add(account_id, replace(draft, group=group)))
        return added

    async def _find(self, account_id: AccountId, number: int) -> KeywordFilter:
        for each in await self.filters.all(account_id):
            if each.id == number:
                return each
        raise FilterNotFound


def _valid(phrase: Phrase, shared: KeywordFilter) -> tuple[str, FilterAction, int | None, bool]:
    return normalize_phrase(phrase[0]), shared.action, shared.until_ms, phrase[1]


def normalize_title(title: str) -> str:
    """Return the stored form of a title, which may be empty. Raises FilterInvalid."""
    return normalize_phrase(title) if title.strip() else ""


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
