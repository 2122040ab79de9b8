"""The repository of posts, reserved ids, tombstones and idempotency keys (docs/reference/architecture.md)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import cast

from socialsite.ids import AccountId, PostId
from socialsite.store import Command, Store, load_script
from socialsite.store.key_families import list_keys_of_post
from timelines import keys
from timelines.posts.counts import LEAVE_SET, add_member_command, count_script_keys
from timelines.posts.post import Post, decode_post, encode_post
from timelines.posts.post_archive import NoPostArchive, PostArchive
from timelines.posts.stored_values import (
    PENDING,
    PostCache,
    PostState,
    decode_stored,
    get_post_command,
    parse_tombstone,
)

RESERVATION_TTL_S = 3600
IDEMPOTENCY_TTL_S = 25 * 3600

WRITE_POST_SCRIPT = load_script("write_post.lua", __package__)
DELETE_POST_SCRIPT = load_script("delete_post.lua", __package__)
SUPERSEDE_POST_SCRIPT = load_script("supersede_post.lua", __package__)
EDIT_POST_SCRIPT = load_script("edit_post.lua", __package__)
UNARCHIVE_POST_SCRIPT = load_script("unarchive_post.lua", __package__)
REPLACE_VALUE_SCRIPT = load_script("swap_key.lua", __package__)
WAS_ARCHIVED, WAS_EDITED = 2, 3


class WriteResult(Enum):
    NEW = 1
    EXISTS = 2
    EDITED = 3
    """The post exists, and its stored version is newer than the version of the writer."""
    DELETED = 0
    SUPERSEDED = -1

    @property
    def exists(self) -> bool:
        return self.value > 0


class EditResult(Enum):
    NEW = 1
    EXISTS = 2
    DELETED = 0
    CONFLICT = -1
    """Another version is stored."""
    ARCHIVED = -2


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """The value of an idempotency key: the post id of the first request, and the digest of that request.

    `audience` is the default audience that a reply without an audience had in the first request.
    """

    post_id: PostId
    request_digest: str
    audience: int | None = None

    def __str__(self) -> str:
        value = f"{self.post_id}:{self.request_digest}"
        return value if self.audience is None else f"{value}:{self.audience}"


class PostRepository:
    """The repository of `posts:{<id>}:post` and of idempotency keys. It reads archived posts from the archive."""

    def __init__(self, store: Store, archive: PostArchive | None = None) -> None:
        self._archive = archive or NoPostArchive()
        self._store = store
        self._posts = store.component("posts")
        self._cache = PostCache()
        self.read_many = self._cache.read_many
        """Read the post or the state at each id. `load_existing` returns the posts of the result."""

    async def reserve_id(self, post_id: PostId) -> bool:
        """Reserve an id for an hour. Returns False if the id is in use."""
        return bool(await self._posts.execute("SET", keys.post(post_id), PENDING, "NX", "EX", RESERVATION_TTL_S))

    async def write(self, post: Post, value: bytes | None = None) -> WriteResult:
        """Store the post. `value` is the encoded post, if another release encoded it."""
        answer = await self._posts.write(*WRITE_POST_SCRIPT.command([keys.post(post.id)], [value or encode_post(post)]))
        return WriteResult(answer)

    async def delete(self, post_id: PostId, author_id: AccountId, *, include_reserved: bool = False) -> bool:
        """Replace the post by a tombstone. Returns False if there is no post.

        If `include_reserved` is set, also replace a reserved id whose post was never written.
        """
        changed = keys.post, keys.boosts, keys.post_counts, keys.replies, keys.boosts_to_delete, keys.post_versions
        args = [author_id, "claimed"] if include_reserved else [author_id]
        touched = [*(build_key(post_id) for build_key in changed), *list_keys_of_post(post_id)]
        answer = await self._posts.write(*DELETE_POST_SCRIPT.command(touched, args))
        if answer in (WAS_ARCHIVED, WAS_EDITED):  # `_unarchive` leaves the body of an edited post there
            await self._archive.remove([post_id], may_be_absent=answer == WAS_EDITED)
        return bool(answer)

    # Versions

    async def find_value(self, post_id: PostId) -> bytes | None:
        """Return the encoded post, or None if there is none. A body in the archive is moved back to the store."""
        key = keys.post(post_id)
        value = await self._posts.execute("GET", key)
        if decode_stored(value) is PostState.ARCHIVED:
            await self._unarchive(post_id)
            value = await self._posts.execute("GET", key)
        return value if isinstance(decode_stored(value), Post) else None

    async def edit(self, post_id: PostId, former: bytes, value: bytes) -> EditResult:
        """Replace `former`, the value that the editor read, by `value`, and append it to the versions of the post.

        If the poll begins a new round, its votes are deleted.
        """
        key = keys.post(post_id)
        old, new = decode_post(former).extra, decode_post(value).extra
        is_new_round = old.poll is not None and (new.poll is None or new.poll.round != old.poll.round)
        touched = [key, keys.post_versions(post_id), keys.poll_votes(post_id), keys.poll_tally(post_id)]
        edit = EDIT_POST_SCRIPT.command(touched, [former, value, old.version, int(is_new_round)])
        answer = await self._posts.write(*edit)
        if EditResult(answer) is EditResult.ARCHIVED:
            await self._unarchive(post_id)
            answer = await self._posts.write(*edit)
        return EditResult(answer)

    async def find_versions(self, post_id: PostId) -> list[Post]:
        """Return all versions of a post, oldest first. Returns an empty list if the post does not exist."""
        key = keys.post(post_id)
        versions = keys.post_versions(post_id)
        # The newest version is read first. If the post is edited in between, the list has this version, too.
        newest = await self.find(post_id)
        if newest is None or not newest.extra.version:
            return [] if newest is None else [newest]
        former = await self._posts[key].execute("LRANGE", versions, 0, newest.extra.version - 1)
        return [*map(decode_post, former), newest]

    async def _unarchive(self, post_id: PostId) -> None:
        """Move the body of an archived post back to the store.

        The copy in the archive is left for the next run of `archive`, since a run at this moment may need it.
        """
        body = (await self._archive.get([post_id])).get(post_id)
        if body is not None:
            key = keys.post(post_id)
            marker = b"%d" % decode_post(body).author_id
            await self._posts.write(*UNARCHIVE_POST_SCRIPT.command([key], [marker, body]))

    async def find_tombstone(self, account_id: AccountId, post_id: PostId) -> Post | None:
        """Return the author and parent of a deleted post of the account, from its tombstone. Waits for replicas."""
        stored_value = await self._posts.write("GET", keys.post(post_id))
        if not stored_value or stored_value.split(b":")[:2] != [b"deleted", b"%d" % account_id]:
            return None
        return Post(post_id, account_id, "", parse_tombstone(post_id, stored_value).in_reply_to)

    async def find_state(self, post_id: PostId) -> Post | PostState:
        stored = decode_stored(await self._posts.execute("GET", keys.post(post_id)))
        if stored is PostState.ARCHIVED:
            return (await self.load_archived([post_id])).get(post_id, stored)
        return stored

    async def find(self, post_id: PostId) -> Post | None:
        state = await self.find_state(post_id)
        return state if isinstance(state, Post) else None

    async def find_many(self, post_ids: Sequence[PostId]) -> dict[PostId, Post]:
        """Return the posts that exist, in one round trip per node."""
        replies = await self._posts.execute_all([get_post_command(post_id) for post_id in post_ids])
        return await self.load_existing(dict(zip(post_ids, map(decode_stored, replies), strict=True)))

    async def find_shown(self, post_ids: Sequence[PostId]) -> dict[PostId, Post]:
        """Return the posts that exist, for a page: without posts whose key has a wrong type."""
        (stored,) = await self._store.read(self.read_many(post_ids))
        return await self.load_existing(stored)

    async def find_changed(self, post_ids: Collection[PostId]) -> tuple[dict[PostId, int], dict[PostId, Post]]:
        """Return the versions of the edited posts, and the deleted posts with the fields of their tombstones."""
        versions: dict[PostId, int] = {}
        deleted: dict[PostId, Post] = {}
        ids = list(post_ids)
        replies = await self._posts.execute_all([get_post_command(post_id) for post_id in ids])
        for post_id, reply in zip(ids, replies, strict=True):
            stored = decode_stored(reply)
            if stored is PostState.DELETED:
                deleted[post_id] = parse_tombstone(post_id, reply)
            elif isinstance(stored, Post) and stored.extra.version:
                versions[post_id] = stored.extra.version
        return versions, deleted

    async def load_existing(self, found: Mapping[PostId, Post | PostState]) -> dict[PostId, Post]:
        """Return the posts among the stored values.

        Archived posts, and posts that were edited after they were cached, are read in one more round trip each.
        """
        if {Post}.issuperset(map(type, found.values())):
            return cast("dict[PostId, Post]", dict(found))
        posts = {post_id: post for post_id, post in found.items() if type(post) is Post}
        if edited := [post_id for post_id, state in found.items() if state is PostState.EDITED]:
            posts |= await self.find_many(edited)
        old = [post_id for post_id, state in found.items() if state is PostState.ARCHIVED]
        return posts | await self.load_archived(old) if old else posts

    async def load_archived(self, post_ids: Sequence[PostId]) -> dict[PostId, Post]:
        """Read archived posts. Raises ArchiveUnavailable."""
        bodies = await self._archive.get(post_ids)
        posts = {PostId(post_id): decode_post(body) for post_id, body in bodies.items()}
        missing = [post_id for post_id in post_ids if post_id not in posts]
        # A post may be deleted or moved back into the store between the two reads. Read the store again.
        replies = await self._posts.execute_all([get_post_command(post_id) for post_id in missing])
        again = (decode_stored(reply) for reply in replies)
        return posts | {post.id: post for post in again if isinstance(post, Post)}

    # Idempotency keys

    async def claim_idempotency_key(
        self, account_id: AccountId, key_digest: str, offered: IdempotencyRecord
    ) -> IdempotencyRecord:
        """Return the record of the first request with this key. If this request is the first, store `offered`."""
        key = keys.idempotency_record(account_id, key_digest)
        claim = ("SET", key, str(offered), "NX", "GET", "EX", IDEMPOTENCY_TTL_S)
        stored_id = await self._posts.write(*claim)
        return offered if stored_id is None else parse_idempotency_record(stored_id)

    async def withdraw_claim(self, account_id: AccountId, key_digest: str | None, claim: IdempotencyRecord) -> None:
        """Delete a reserved id, and let its idempotency key expire. Call this before anything else is written."""
        commands: list[Command] = [("DEL", keys.post(claim.post_id))]
        if key_digest is not None:
            key = keys.idempotency_record(account_id, key_digest)
            commands.append(REPLACE_VALUE_SCRIPT.command([key], [str(claim), str(claim), 1]))
        await self._posts.execute_all(commands)

    async def find_idempotency_record(self, account_id: AccountId, key_digest: str) -> IdempotencyRecord | None:
        """Return the record of the first request with this key, or None if there was none."""
        value = await self._posts.execute("GET", keys.idempotency_record(account_id, key_digest))
        return None if value is None else parse_idempotency_record(value)

    async def replace_idempotency_record(
        self, account_id: AccountId, key_digest: str, current: IdempotencyRecord, offered: IdempotencyRecord
    ) -> IdempotencyRecord:
        """Replace the record of an abandoned id, and return the stored record.

        If several requests do this at the same time, the first one wins, and all of them return its record.
        """
        key = keys.idempotency_record(account_id, key_digest)
        args = [str(current), str(offered), IDEMPOTENCY_TTL_S]
        return parse_idempotency_record(await self._posts.write(*REPLACE_VALUE_SCRIPT.command([key], args)))

    async def abandon_id(self, post_id: PostId) -> WriteResult:
        """Mark a reserved id as superseded if its post was never written.

        Returns SUPERSEDED on success, EXISTS if the post was written meanwhile, and DELETED if it was deleted.
        """
        answer = await self._posts.write(*SUPERSEDE_POST_SCRIPT.command([keys.post(post_id)]))
        return {1: WriteResult.SUPERSEDED, 0: WriteResult.EXISTS, -1: WriteResult.DELETED}[int(answer)]

    # Replies

    async def add_reply(self, parent_id: PostId, reply_id: PostId) -> None:
        await self._posts.write(*add_member_command(keys.replies, parent_id, reply_id, reply_id))

    async def remove_reply(self, parent_id: PostId, reply_id: PostId) -> None:
        await self._posts.execute_all([LEAVE_SET.command(count_script_keys(parent_id, keys.replies), [reply_id])])


def parse_idempotency_record(value: bytes) -> IdempotencyRecord:
    post_id, digest = value.decode().split(":", 1)
    beginning, _, audience = digest.rpartition(":")
    if beginning and audience.isdigit():
        return IdempotencyRecord(PostId(int(post_id)), beginning, int(audience))
    return IdempotencyRecord(PostId(int(post_id)), digest)
