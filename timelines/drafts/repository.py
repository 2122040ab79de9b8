"""Stores drafts by account (`timelines:{<account>}:drafts`), and the scheduled ones by time (`jobs:{due}:posts`)."""

from collections.abc import Sequence
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
        values = await self._timelines.execute("HVALS", keys.drafts(account_id))
        return sorted(map(decode_draft, values), key=lambda draft: -draft.saved_ms)

    async def find(self, account_id: AccountId, draft_id: int) -> Draft | None:
        value = await self._timelines.execute("HGET", keys.drafts(account_id), draft_id)
        return None if value is None else decode_draft(value)

    async def save(self, account_id: AccountId, draft: Draft, *, is_new: bool) -> bool | None:
        """Store a draft. Return False if it was deleted meanwhile, and None if the account has too many."""
        key = keys.drafts(account_id)
        arguments = [draft.id, encode_draft(draft), DRAFTS_CAP, "new" if is_new else ""]
        answer = await self._timelines.write_script(SAVE_DRAFT, [key], arguments)
        return None if answer < 0 else answer == STORED

    async def replace(self, account_id: AccountId, draft: Draft, changed: Draft | None) -> bool:
        """Replace a draft, or delete it if `changed` is None. Return False if it was changed meanwhile."""
        key = keys.drafts(account_id)
        arguments = [draft.id, encode_draft(draft), encode_draft(changed) if changed else b""]
        return bool(await self._timelines.write_script(REPLACE_DRAFT, [key], arguments))

    async def delete(self, account_id: AccountId, draft_id: int) -> bool:
        return bool(await self._timelines.write_one("HDEL", keys.drafts(account_id), draft_id))

    async def delete_all(self, account_id: AccountId) -> None:
        """Delete all drafts. Their due entries find no draft, and are removed at their time."""
        await self._timelines.execute("UNLINK", keys.drafts(account_id))

    # Posts that wait for staff

    async def enqueue_held(self, held: DuePost, at_ms: int) -> None:
        await self._jobs.write_one("ZADD", keys.held_posts(), "NX", at_ms, held.member)

    async def dequeue_held(self, held: DuePost) -> None:
        await self._jobs.write_one("ZREM", keys.held_posts(), held.member)

    async def held_after(self, after_ms: int, limit: int) -> list[tuple[DuePost, int]]:
        """Return the posts that wait for staff and their times, the oldest first, after a time."""
        key = keys.held_posts()
        reply = await self._jobs.execute("ZRANGE", key, f"({after_ms}", "+inf", "BYSCORE", "LIMIT", 0, limit)
        scores = await self._jobs.execute("ZMSCORE", key, *reply) if reply else []
        pairs = zip(map(_parse_member, reply), scores, strict=True)
        return [(held, int(float(score))) for held, score in pairs if score is not None]

    async def count_held(self) -> int:
        return int(await self._jobs.execute("ZCARD", keys.held_posts()))

    async def find_many(self, posts: Sequence[DuePost]) -> list[Draft | None]:
        commands = [("HGET", keys.drafts(each.account_id), each.draft_id) for each in posts]
        return [None if value is None else decode_draft(value) for value in await self._timelines.gather(commands)]

    # Scheduled posts

    async def schedule(self, due: DuePost, at_ms: int) -> None:
        await self._jobs.write_one("ZADD", keys.due_posts(), at_ms, due.member)

    async def due_before(self, now_ms: int, limit: int) -> list[DuePost]:
        reply = await self._jobs.execute("ZRANGE", keys.due_posts(), "-inf", now_ms, "BYSCORE", "LIMIT", 0, limit)
        return list(map(_parse_member, reply))

    async def complete(self, due: DuePost) -> None:
        await self._jobs[keys.due_posts()].execute("ZREM", keys.due_posts(), due.member)


def _parse_member(member: bytes) -> DuePost:
    account_id, draft_id = map(int, member.split(b":"))
    return DuePost(AccountId(account_id), draft_id)
