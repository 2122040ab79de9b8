"""Stores lists of accounts: the hash of each list, the index of each owner, and memberships.

A membership is a pair edge list -> account, like a follow, so that fan-out finds the lists with an author in passes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from socialsite.ids import AccountId
from socialsite.store import Read, Reply, Repository, Store, load_script
from timelines import keys
from timelines.graph.edges import PairEdges
from timelines.graph.follow import FIRST_PASS
from timelines.graph.repository import CAP_TOLERANCE
from timelines.ids import ListId
from timelines.lists.account_list import LISTS_PER_ACCOUNT, AccountList, ListPage, Operation, ReplyPolicy

EDIT_LIST = load_script("edit_list.lua", __package__)
ERASE_LIST = load_script("erase_list.lua", __package__)
FIELDS = ("owner", "title", "created_ms", "deleted", "replies", "operation", "parts", "description", "public_ms")
DELETED_TRACE_MS = 24 * 3_600_000
"""The hash of a deleted list keeps its owner for this time, so that the deletion may be repeated."""


class Lists(Repository):
    """Stores lists without their members. A list that is marked as deleted is not returned; `erase` removes it."""

    async def add(self, account_list: AccountList) -> AccountList:
        """Store a list under a new id, and return it. The hash is written before the index."""
        account_list = replace(account_list, id=await self.next_id())
        key, index = keys.account_list(account_list.id), keys.list_index(account_list.owner_id)
        fields: dict[str, str | int] = {"owner": account_list.owner_id, "created_ms": account_list.created_ms}
        fields |= {name: value for name, value in _encode_settings(account_list).items() if value}
        await self._timelines.execute("HSET", key, *(part for pair in fields.items() for part in pair))
        await self._timelines.execute("ZADD", index, account_list.id, account_list.id)
        return account_list

    async def next_id(self) -> ListId:
        return ListId(await self._timelines.execute("INCR", keys.list_id_counter()))

    async def find(self, list_id: ListId) -> AccountList | None:
        return (await self.find_many([list_id]))[0]

    async def find_many(self, list_ids: Iterable[ListId]) -> list[AccountList | None]:
        """Return the lists in the order of `list_ids`; None for an absent or deleted list."""
        list_ids = list(list_ids)
        replies = await self._timelines.execute_all(
            ("HMGET", keys.account_list(list_id), *FIELDS) for list_id in list_ids
        )
        return [_parse_list(list_id, reply) for list_id, reply in zip(list_ids, replies, strict=True)]

    async def count(self, owner_id: AccountId) -> int:
        return int(await self._timelines.execute("ZCARD", keys.list_index(owner_id)))

    async def page(self, owner_id: AccountId, after: int | None, limit: int) -> ListPage:
        """Return the oldest lists after the id `after`. All lists of the owner are read, because an owner has few."""
        stored = await self.find_many(await self.owned_ids(owner_id, after))
        lists = [each for each in stored if each is not None]
        return ListPage(tuple(lists[:limit]), lists[limit - 1].id if len(lists) > limit else None)

    async def owned_ids(self, owner_id: AccountId, after: int | None = None) -> list[ListId]:
        """Return the ids in the owner's index, including ids of lists that are marked as deleted."""
        index, bound = keys.list_index(owner_id), f"({after or 0}"
        members = await self._timelines.execute(
            "ZRANGE", index, bound, "+inf", "BYSCORE", "LIMIT", 0, LISTS_PER_ACCOUNT + CAP_TOLERANCE
        )
        return [ListId(int(member)) for member in members]

    async def edit(self, before: AccountList, after: AccountList) -> bool:
        """Store the fields that differ. Return False if the list is deleted or has another owner."""
        changed = dict(_encode_settings(after).items() - _encode_settings(before).items())
        return await self._edit(after.owner_id, after.id, {"owner": after.owner_id, **changed})

    async def exclusive_ids(self, owner_id: AccountId) -> set[ListId]:
        """Return the owner's exclusive lists, which hide their members from home."""
        key = keys.exclusive_lists(owner_id)
        return {ListId(int(member)) for member in await self._timelines.execute("SMEMBERS", key)}

    async def set_exclusive(self, owner_id: AccountId, list_id: ListId, exclusive: bool) -> None:
        await self._timelines.write("SADD" if exclusive else "SREM", keys.exclusive_lists(owner_id), list_id)

    async def set_public(self, list_id: ListId, public_ms: int) -> None:
        """Add the list to the index of public lists, or remove it if `public_ms` is 0. The newest lists stay."""
        index = keys.public_lists()
        if not public_ms:
            await self._timelines.write("ZREM", index, list_id)
            return
        commands = ("ZADD", index, public_ms, list_id), ("ZREMRANGEBYRANK", index, 0, -keys.PUBLIC_LISTS_CAP - 1)
        await self._timelines[index].execute_all(commands)

    async def newest_public(self, limit: int) -> list[AccountList]:
        ids = await self._timelines.execute("ZRANGE", keys.public_lists(), 0, limit - 1, "REV")
        lists = await self.find_many(ListId(int(member)) for member in ids)
        return [each for each in lists if each is not None and each.public_ms]

    async def leave(self, account_id: AccountId, list_id: ListId, now_ms: int) -> None:
        """Store that the account left a list, so that nobody adds it again. The newest LEFT_LISTS_CAP stay."""
        key = keys.left_lists(account_id)
        commands = ("ZADD", key, now_ms, list_id), ("ZREMRANGEBYRANK", key, 0, -keys.LEFT_LISTS_CAP - 1)
        await self._timelines[key].execute_all(commands)

    async def has_left(self, account_id: AccountId, list_id: ListId) -> bool:
        return await self._timelines.execute("ZSCORE", keys.left_lists(account_id), list_id) is not None

    async def mark_deleted(self, owner_id: AccountId, list_id: ListId) -> bool:
        """Mark a list as deleted. Return False if it is erased or has another owner."""
        return await self._edit(owner_id, list_id, {"deleted": 1})

    async def is_indexed(self, owner_id: AccountId, list_id: ListId) -> bool:
        return await self._timelines.execute("ZSCORE", keys.list_index(owner_id), list_id) is not None

    async def erase(self, owner_id: AccountId, list_id: ListId) -> None:
        """Erase a deleted list. The index is changed last, so that a repetition after a crash finds the list.

        The hash keeps the owner and the mark for DELETED_TRACE_MS, so that the owner may repeat the deletion.
        """
        key, index = keys.account_list(list_id), keys.list_index(owner_id)
        await self._timelines[key].execute(*ERASE_LIST.command((key,), (DELETED_TRACE_MS,)))
        await self.set_public(list_id, 0)
        await self._timelines[index].execute_all(
            [("SREM", keys.exclusive_lists(owner_id), list_id), ("ZREM", index, list_id)]
        )

    async def _edit(self, owner_id: AccountId, list_id: ListId, fields: Mapping[str, str | int]) -> bool:
        key = keys.account_list(list_id)
        pairs = [part for pair in fields.items() for part in pair]
        return bool(await self._timelines[key].execute(*EDIT_LIST.command((key,), (owner_id, *pairs))))


class ListMembers:
    """Stores memberships: pair edges list -> account, in the same partitions as follows."""

    def __init__(self, store: Store, *, partitions: int, members_cap: int) -> None:
        edges = PairEdges[ListId, AccountId](
            store.partitioned_component("follows", partitions),
            outgoing=keys.list_members,
            incoming=keys.lists_with_account,
        )
        self._store, self._edges, self._read_limit = store, edges, members_cap + CAP_TOLERANCE
        self.add = edges.add
        """Add a member with a time (Unix ms), and return whether the member is new."""
        self.remove = edges.remove
        self.has = edges.has
        self.count = edges.outgoing.count
        self.page = edges.outgoing.page
        """Read a page of members after a cursor, newest first."""
        self.members_among = edges.outgoing.among
        self.listed_on_pass = edges.incoming.next_pass
        """Read the next `limit` lists that contain the account, for fan-out."""
        self.lists_with_accounts = edges.incoming.ids_of_many
        """Return the lists that contain one of these accounts, each once."""

    async def lists_with(self, list_ids: Sequence[ListId], account_id: AccountId) -> set[ListId]:
        """Return the lists that have the account as a member, in one round trip."""
        are_members = await self._store.read(*(self.has(list_id, account_id) for list_id in list_ids))
        return {list_id for list_id, is_member in zip(list_ids, are_members, strict=True) if is_member}

    async def counts(self, list_ids: Sequence[ListId]) -> dict[ListId, int]:
        """Return the number of members of each list, in one round trip."""
        return dict(zip(list_ids, await self._store.read(*map(self.count, list_ids)), strict=True))

    def member_ids(self, list_id: ListId) -> Read[list[AccountId]]:
        """Read all members in no particular order."""
        return self._edges.outgoing.ids(list_id, self._read_limit)

    async def member_ids_of(self, list_ids: Iterable[ListId]) -> dict[ListId, list[AccountId]]:
        """Return all members of each list, in one round trip."""
        list_ids = list(list_ids)
        return dict(zip(list_ids, await self._store.read(*map(self.member_ids, list_ids)), strict=True))

    async def remove_members(self, list_id: ListId, limit: int) -> int:
        """Remove up to `limit` members of a deleted list. Return how many were read; 0 means that no member is left."""
        page = await self._edges.outgoing.next_pass(list_id, FIRST_PASS, limit)
        await self._edges.remove_many((list_id, id) for id in page.ids)
        return len(page.ids)

    async def remove_listed(self, account_id: AccountId, limit: int) -> tuple[ListId, ...]:
        """Remove a deleted account from up to `limit` lists. Return these lists; () means that no list is left."""
        page = await self.listed_on_pass(account_id, FIRST_PASS, limit)
        await self._edges.remove_many((list_id, account_id) for list_id in page.ids)
        return page.ids


def _encode_settings(account_list: AccountList) -> dict[str, str | int]:
    """Return the hash fields with the title and the settings of a list."""
    fields: dict[str, str | int] = {
        "title": account_list.title,
        "replies": account_list.replies,
        "description": account_list.description,
        "public_ms": account_list.public_ms,
    }
    if account_list.operation is not None:
        fields |= {"operation": account_list.operation, "parts": " ".join(map(str, account_list.parts))}
    return fields


def _parse_list(list_id: ListId, reply: Reply) -> AccountList | None:
    owner, title, created_ms, deleted, replies, operation, parts, description, public_ms = reply
    if owner is None or deleted is not None:
        return None
    return AccountList(
        list_id,
        AccountId(int(owner)),
        title.decode(),
        int(created_ms),
        replies=cast(ReplyPolicy, replies.decode()) if replies else "all",
        operation=cast(Operation, operation.decode()) if operation else None,
        parts=tuple(ListId(int(part)) for part in parts.split()) if parts else (),
        description=description.decode() if description else "",
        public_ms=int(public_ms or 0),
    )
