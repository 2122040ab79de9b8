"""Keyword filters of an account. Each read applies them to the texts of a page (timelines/visibility)."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec.structs import replace

from socialsite.characters import normalize
from socialsite.ids import AccountId, PostId
from socialsite.limits import ActionLimits
from socialsite.service import Service
from timelines.errors import FilterInvalid, FilterNotFound, FiltersCapReached
from timelines.filters.repository import Filters
from timelines.live_updates.service import LiveService
from timelines.text.tokenizer import normalize_spelling
from timelines.visibility.filter import FILTERS_CAP, PHRASE_LENGTH_CAP, FilterAction, KeywordFilter, encode_filter

Phrase = tuple[str, bool]
"""A phrase, and whether it matches whole words only."""


class FilterService(Service):
    """Reads and changes filters. `cap` can be exceeded by the number of concurrent requests."""

    filters: Filters
    live: LiveService
    limits: ActionLimits
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
        await self._require_room(account_id, 1)
        added = await self._add(account_id, KeywordFilter(0, phrase, action, until_ms, whole_word))
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
        stored = await self.find(account_id, number)
        changed = replace(
            stored, phrase=normalize_phrase(phrase), action=action, until_ms=until_ms, whole_word=whole_word
        )
        if not await self._replace(account_id, changed):
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
        """Return the filters of a group, which differ in their phrases or posts only. Raises FilterNotFound."""
        members = [each for each in await self.filters.all(account_id) if each.group_id == group_id]
        if not members:
            raise FilterNotFound
        return members

    async def add_group(
        self, account_id: AccountId, shared: KeywordFilter, phrases: Sequence[Phrase]
    ) -> list[KeywordFilter]:
        """Add a group. `shared` has what its filters have in common. Raises FilterInvalid, FiltersCapReached.

        A group without phrases is stored as one filter that matches nothing, until posts or phrases are added.
        """
        if phrases:
            added = await self._add_members(account_id, replace(shared, title=normalize_title(shared.title)), phrases)
        else:
            await self._require_room(account_id, 1)
            added = [await self._add(account_id, replace(shared, title=normalize_phrase(shared.title)))]
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
        common = replace(common, title=normalize_title(common.title), group=group_id, post_id=0)
        if not {*changes, *removed} <= {each.id for each in members}:
            raise FilterNotFound
        edited = [
            _with_phrase(replace(common, id=each.id), changes.get(each.id, (each.phrase, each.whole_word)))
            if each.phrase
            else replace(common, id=each.id, phrase="", title=common.title or each.title, post_id=each.post_id)
            for each in members
            if each.id not in removed
        ]
        for each in edited:
            await self._replace(account_id, each)
        if added:
            edited += await self._add_members(account_id, common, added)
        for number in removed:
            await self.filters.remove(account_id, number)
        await self.live.filters_changed(account_id)
        return edited

    async def add_post(self, account_id: AccountId, group_id: int, post_id: PostId) -> KeywordFilter:
        """Add a post to a group, and return its filter. Raises FilterNotFound, FiltersCapReached."""
        members = await self.group(account_id, group_id)
        for each in members:
            if each.post_id == post_id:
                return each
        await self._require_room(account_id, 1)
        title = members[0].title or members[0].phrase
        draft = replace(members[0], phrase="", title=title, group=group_id, post_id=post_id)
        added = await self._add(account_id, draft)
        await self.live.filters_changed(account_id)
        return added

    async def delete_group(self, account_id: AccountId, group_id: int) -> None:
        """Delete the filters of a group. Raises FilterNotFound."""
        for each in await self.group(account_id, group_id):
            await self.filters.remove(account_id, each.id)
        await self.live.filters_changed(account_id)

    async def _add_members(
        self, account_id: AccountId, shared: KeywordFilter, phrases: Sequence[Phrase]
    ) -> list[KeywordFilter]:
        drafts = [_with_phrase(shared, phrase) for phrase in phrases]
        await self._require_room(account_id, len(drafts))
        added: list[KeywordFilter] = []
        for draft in drafts:
            group = draft.group or (added[0].id if added else 0)
            added.append(await self._add(account_id, replace(draft, group=group)))
        return added

    async def find(self, account_id: AccountId, number: int, *, of_post: bool = False) -> KeywordFilter:
        """Return the filter with this number, of a phrase or with `of_post` of a post. Raises FilterNotFound."""
        for each in await self.filters.all(account_id):
            if each.id == number and (each.post_id if of_post else each.phrase):
                return each
        raise FilterNotFound

    async def _add(self, account_id: AccountId, draft: KeywordFilter) -> KeywordFilter:
        await self.limits.enforce_bytes("filters", account_id, len(encode_filter(draft)))
        return await self.filters.add(account_id, draft)

    async def _replace(self, account_id: AccountId, changed: KeywordFilter) -> bool:
        await self.limits.enforce_bytes("filters", account_id, len(encode_filter(changed)))
        return await self.filters.replace(account_id, changed)

    async def _require_room(self, account_id: AccountId, added: int) -> None:
        if len(await self.filters.all(account_id)) + added > self.cap:
            raise FiltersCapReached


def _with_phrase(shared: KeywordFilter, phrase: Phrase) -> KeywordFilter:
    return replace(shared, phrase=normalize_phrase(phrase[0]), whole_word=phrase[1])


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
            "A phrase has at most %(most)d character.", "A phrase has at most %(most)d characters.", PHRASE_LENGTH_CAP
        )
        raise FilterInvalid({"phrase": text % {"most": PHRASE_LENGTH_CAP}})
    if not normalize_spelling(phrase).split():
        raise FilterInvalid({"phrase": _("Enter a word or a phrase.")})
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in phrase):
        raise FilterInvalid({"phrase": _("This phrase has characters that cannot be shown.")})
    return phrase
