"""Stores drafts by account (`timelines:{<account>}:drafts`), and the scheduled ones by time (`jobs:{due}:posts`)."""

from typing import NamedTuple

from socialsite.ids import AccountId
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

    @property
    def member(self) -> str:
        return f"{self.account_id}:{self.draft_id}"


class Drafts:
    def __init__(self, store: Store) -> None:
        self._timelines = store.component("timelines")
        self._jobs = store.component("jobs")

    async def all(self, account_id: AccountId) -> list[Draft]:
        """Return all drafts and scheduled posts, the last saved first."""
        key = keys.drafts(account_id)
        values = await self._timelines[key].execute("HVALS", key)
        return sorted(map(decode_draft, values), key=lambda draft: -draft.saved_ms)

    async def find(self, account_id: AccountId, draft_id: int) -> Draft | None:
        key = keys.drafts(account_id)
        value = await self._timelines[key].execute("HGET", key, draft_id)
        return None if value is None else decode_draft(value)

    async def save(self, account_id: AccountId, draft: Draft, *, is_new: bool) -> bool | None:
        """Store a draft. Return False if it was deleted meanwhile, and None if the account has too many."""
        key = keys.drafts(account_id)
        arguments = [draft.id, encode_draft(draft), DRAFTS_CAP, "new" if is_new else ""]
        (answer,) = await self._timelines.write(key, SAVE_DRAFT.command([key], arguments))
        return None if answer < 0 else answer == STORED

    async def replace(self, account_id: AccountId, draft: Draft, changed: Draft | None) -> bool:
        """Replace a draft, or delete it if `changed` is None. Return False if it was changed meanwhile."""
        key = keys.drafts(account_id)
        arguments = [draft.id, encode_draft(draft), encode_draft(changed) if changed else b""]
        (answer,) = await self._timelines.write(key, REPLACE_DRAFT.command([key], arguments))
        return bool(answer)

    async def delete(self, account_id: AccountId, draft_id: int) -> bool:
        key = keys.drafts(account_id)
        (deleted,) = await self._timelines.write(key, ("HDEL", key, draft_id))
        return bool(deleted)

    async def delete_all(self, account_id: AccountId) -> None:
        """Delete all drafts. Their due entries find no draft, and are removed at their time."""
        key = keys.drafts(account_id)
        await self._timelines[key].execute("UNLINK", key)

    async def schedule(self, due: DuePost, at_ms: int) -> None:
        key = keys.due_posts()
        await self._jobs.write(key, ("ZADD", key, at_ms, due.member))

    async def due_before(self, now_ms: int, limit: int) -> list[DuePost]:
        key = keys.due_posts()
        reply = await self._jobs[key].execute("ZRANGE", key, "-inf", now_ms, "BYSCORE", "LIMIT", 0, limit)
        pairs = (member.split(b":") for member in reply)
        return [DuePost(AccountId(int(account)), int(draft)) for account, draft in pairs]

    async def complete(self, due: DuePost) -> None:
        await self._jobs[keys.due_posts()].execute("ZREM", keys.due_posts(), due.member)
