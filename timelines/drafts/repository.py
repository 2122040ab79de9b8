"""Stores drafts by account (`timelines:{<account>}:drafts`), and the scheduled ones by time (`jobs:{due}:posts`)."""

from collections.abc import Sequence
from typing import NamedTuple

from socialsite.ids import AccountId
from socialsite.recipes.time_queue import TimeQueue, encode_pair
from socialsite.store import Store, load_script
from timelines import keys
from timelines.drafts.draft import DRAFTS_CAP, Draft, decode_draft, encode_draft

SAVE_DRAFT = load_script("save_draft.lua", __package__)
REPLACE_DRAFT = load_script("replace_draft.lua", __package__)
STORED, ABSENT = 1, 0


class DuePost(NamedTuple):
    """A scheduled post whose time has come."""

    account_id: AccountId
    draft_id: int


class Drafts:
    def __init__(self, store: Store) -> None:
        self._timelines = store.component("timelines")
        self.due = TimeQueue(store, keys.due_posts(), _parse_member, encode_pair)
        self.held = TimeQueue(store, keys.held_posts(), _parse_member, encode_pair)
        """The posts that wait for staff, by the time since which they wait."""

    async def all(self, account_id: AccountId) -> list[Draft]:
        """Return all drafts and scheduled posts, the last saved first."""
        values = await self._timelines.execute("HVALS", keys.drafts(account_id))
        return sorted(map(decode_draft, values), key=lambda draft: -draft.saved_ms)

    async def find(self, account_id: AccountId, draft_id: int) -> Draft | None:
        value = await self._timelines.execute("HGET", keys.drafts(account_id), draft_id)
        return None if value is None else decode_draft(value)

    async def save(self, account_id: AccountId, draft: Draft, *, is_new: bool) -> bool | None:
        """Store a draft. Return False if it was deleted meanwhile, and None if the account has too many."""
        key = keys.drafts(account_id)
        arguments = [draft.id, encode_draft(draft), DRAFTS_CAP, "new" if is_new else ""]
        answer = await self._timelines.write(*SAVE_DRAFT.command([key], arguments))
        return None if answer < 0 else answer == STORED

    async def replace(self, account_id: AccountId, draft: Draft, changed: Draft | None) -> bool:
        """Replace a draft, or delete it if `changed` is None. Return False if it was changed meanwhile.

        The script compares stored bytes: another release encodes the same draft with other fields.
        """
        key = keys.drafts(account_id)
        stored = await self._timelines.execute("HGET", key, draft.id)
        if stored is None or decode_draft(stored) != draft:
            return False
        arguments = [draft.id, stored, encode_draft(changed) if changed else b""]
        return bool(await self._timelines.write(*REPLACE_DRAFT.command([key], arguments)))

    async def delete(self, account_id: AccountId, draft_id: int) -> bool:
        return bool(await self._timelines.write("HDEL", keys.drafts(account_id), draft_id))

    async def delete_all(self, account_id: AccountId) -> None:
        """Delete all drafts. Their due entries find no draft, and are removed at their time."""
        await self._timelines.execute("UNLINK", keys.drafts(account_id))

    async def find_many(self, posts: Sequence[DuePost]) -> list[Draft | None]:
        commands = [("HGET", keys.drafts(each.account_id), each.draft_id) for each in posts]
        return [None if value is None else decode_draft(value) for value in await self._timelines.execute_all(commands)]


def _parse_member(member: bytes) -> DuePost:
    account_id, draft_id = map(int, member.split(b":"))
    return DuePost(AccountId(account_id), draft_id)
