"""Imports a follow graph: `source<TAB>target` lines become accounts and follows between them.

An import may be stopped and repeated, because existing accounts and follows do not change. There is no fan-out: the
affected home timelines are deleted before and after each batch, as for a single follow, and the next read rebuilds
them.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from accounts.accounts.service import AccountService
from accounts.accounts.validation import InvalidHandle, normalize_handle
from socialsite.batches import batches
from socialsite.concurrency import run_all_to_end
from socialsite.ids import AccountId
from socialsite.service import Part
from timelines.cached_timelines.repository import CachedTimelines
from timelines.graph.repository import Follows
from timelines.importing.lines import LineFile, LineRefused, Tally
from timelines.importing.repository import GraphRanks

EDGES_PER_BATCH = 50_000
HOMES_PER_ROUND = 1_000
CACHED_HANDLES = 100_000
"""The maximum number of cached handles of nodes, since a node occurs in many lines."""

Edge = tuple[str, str]  # handles: follower, followed


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """The meaning of a line: the source follows the target.

    With `reverse` the target follows the source, and with `undirected` both follow each other.
    """

    handle_prefix: str = "n"
    undirected: bool = False
    reverse: bool = False
    dry_run: bool = False


class GraphImport(Part):
    """Imports a follow graph. It counts new `follows`, `standing` (existing follows), `self_loop` and `accounts`."""

    accounts: AccountService
    follows: Follows
    homes: CachedTimelines
    ranks: GraphRanks
    following_cap: int
    edges_per_batch: int = EDGES_PER_BATCH

    async def run(self, file: LineFile, options: GraphOptions, tally: Tally, now_ms: int) -> None:
        """Import the file. Raises OSError, EOFError or zlib.error if it cannot be read, and StoreError."""
        owners: dict[str, AccountId] = {}
        followers: Counter[str] = Counter()
        creating = asyncio.Lock()
        all_batches = batches(self._edges(file, options, tally), self.edges_per_batch)

        async def add_batches() -> None:
            with contextlib.closing(all_batches):  # if one batch fails, no other begins
                for batch in all_batches:
                    followers.update(followed for _, followed in batch)
                    if options.dry_run:
                        tally.counts["follows"] += len(batch)
                        owners.update((handle, AccountId(0)) for edge in batch for handle in edge)
                        continue
                    async with creating:
                        await self._create_accounts(batch, owners, now_ms)
                    await self._add(batch, owners, tally, now_ms)

        # Two coroutines share the batches, so that the client reads the next batch while the server stores the last.
        await run_all_to_end(add_batches(), add_batches())
        tally.counts["accounts"] = len(owners)
        if not options.dry_run:
            await self.ranks.record((owners[handle], count) for handle, count in followers.items())

    def _edges(self, file: LineFile, options: GraphOptions, tally: Tally) -> Iterator[Edge]:
        """Yield the follows of the file, at most `following_cap` for each follower."""
        following: dict[str, int] = {}
        for number, line in file.lines(tally):
            try:
                edges = parse_follows(line, options)
            except LineRefused as refused:
                tally.refuse(number, refused.reason)
                continue
            if not edges:
                tally.counts["self_loop"] += 1
            for edge in edges:
                follower = edge[0]
                count = following.get(follower, 0)
                if count >= self.following_cap:
                    tally.refuse(number, "following_cap")
                    continue
                following[follower] = count + 1
                yield edge

    async def _create_accounts(self, batch: list[Edge], owners: dict[str, AccountId], now_ms: int) -> None:
        unknown = set(chain.from_iterable(batch)).difference(owners)
        owners |= await self.accounts.import_accounts(handles=sorted(unknown), now_ms=now_ms)

    async def _add(self, batch: list[Edge], owners: dict[str, AccountId], tally: Tally, now_ms: int) -> None:
        follows = [(owners[follower], owners[followed], now_ms) for follower, followed in batch]
        follower_ids = sorted({follow[0] for follow in follows})
        await self._invalidate_homes(follower_ids)
        new = await self.follows.add_many(follows)
        await self._invalidate_homes(follower_ids)
        tally.counts["follows"] += new
        tally.counts["standing"] += len(follows) - new

    async def _invalidate_homes(self, account_ids: list[AccountId]) -> None:
        for batch in batches(account_ids, HOMES_PER_ROUND):
            await self.homes.invalidate_many(batch)


def parse_follows(line: bytes, options: GraphOptions) -> list[Edge]:
    """Return the follows of one line; an empty list for a self-loop. Raises LineRefused."""
    fields = line.split()
    if len(fields) != 2:
        raise LineRefused("columns")
    source, target = _parse_handle(fields[0], options.handle_prefix), _parse_handle(fields[1], options.handle_prefix)
    if source == target:
        return []
    if options.undirected:
        return [(source, target), (target, source)]
    return [(target, source)] if options.reverse else [(source, target)]


@lru_cache(maxsize=CACHED_HANDLES)
def _parse_handle(node: bytes, prefix: str) -> str:
    try:
        return normalize_handle(prefix + node.decode())
    except (InvalidHandle, UnicodeDecodeError):
        raise LineRefused("handle") from None
