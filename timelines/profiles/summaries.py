"""Reads what clients show beside each post of an account: its profile and its counts.

A timeline of 40 posts has up to 40 authors, so a process caches their summaries. The counts may be CACHE_MS old. The
profile is never outdated, because the caller passes the current version of the account.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

import msgspec

from accounts.accounts.service import AccountService
from accounts.domain import Author, QuotePolicy
from accounts.models import Account
from socialsite.ids import AccountId, TimeSource, ms_from_id
from socialsite.service import Service
from socialsite.store import Store
from timelines.author_timelines.repository import AuthorTimelineRepository
from timelines.graph.follow import FollowCounts
from timelines.graph.repository import Follows
from timelines.pages.page import ABOVE_ALL_IDS

CACHE_MS, CACHE_SIZE = 60_000, 4_096
"""Lifetime and number of cached summaries of a process."""


class AccountSummary(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The profile of an account and its counts. `last_post_ms` is the time of its newest post (Unix ms) or None."""

    author: Author
    texts: tuple[str, ...]
    """The texts of the profile, in the order of PROFILE_TEXTS."""
    header: str
    created_ms: int
    is_bot: bool
    quote_policy: QuotePolicy
    followers: int
    following: int
    posts: int
    last_post_ms: int | None
    is_discoverable: bool = True

    @property
    def id(self) -> AccountId:
        return self.author.id


class AccountSummaryService(Service):
    """Reads summaries of accounts in any state. Callers leave out the accounts that their viewer may not see."""

    store: Store
    accounts: AccountService
    follows: Follows
    author_timelines: AuthorTimelineRepository
    clock: TimeSource
    _cache: dict[AccountId, tuple[int, AccountSummary]] = field(init=False, default_factory=dict)

    async def find(self, authors: Mapping[AccountId, Author | None]) -> dict[AccountId, AccountSummary]:
        """Return the summaries of the accounts that exist, in at most one round trip.

        The argument maps each account to its current facts, or to None if the caller does not know them.
        """
        now_ms, cache = self.clock.now_ms(), self._cache
        summaries: dict[AccountId, AccountSummary] = {}
        missing: list[AccountId] = []
        for account_id, author in authors.items():
            cached = cache.get(account_id)
            if cached is None or cached[0] < now_ms or (author is not None and author != cached[1].author):
                missing.append(account_id)
            else:
                summaries[account_id] = cached[1]
        return summaries | await self.find_fresh(missing) if missing else summaries

    def forget(self, account_id: AccountId) -> None:
        """Drop the cached summary of an account whose counts this process changes."""
        self._cache.pop(account_id, None)

    async def find_fresh(self, ids: Iterable[AccountId]) -> dict[AccountId, AccountSummary]:
        """Return the current summaries of the accounts that exist, and cache them."""
        account_ids = list(dict.fromkeys(ids))
        accounts, *counts = await self.store.read(
            self.accounts.read_many(account_ids),
            *(self.follows.counts(id) for id in account_ids),
            *(self.author_timelines.count(id) for id in account_ids),
            *(self.author_timelines.read(id, ABOVE_ALL_IDS, 1, upward=False) for id in account_ids),
        )
        size, expires_ms = len(account_ids), self.clock.now_ms() + CACHE_MS
        rows = zip(account_ids, counts[:size], counts[size : 2 * size], counts[2 * size :], strict=True)
        loaded = {
            id: _summary(accounts[id], follows, posts, ms_from_id(newest[0]) if newest else None)
            for id, follows, posts, newest in rows
            if id in accounts
        }
        if len(self._cache) + len(loaded) > CACHE_SIZE:
            self._cache.clear()
        self._cache |= {id: (expires_ms, summary) for id, summary in loaded.items()}
        return loaded


def _summary(account: Account, follows: FollowCounts, posts: int, last_post_ms: int | None) -> AccountSummary:
    return AccountSummary(
        author=account.author,
        texts=tuple(account.texts.values()),
        header=account.header,
        created_ms=account.created_ms,
        is_bot=account.preferences.is_bot,
        quote_policy=account.preferences.quote_policy,
        followers=follows.followers,
        following=follows.following,
        posts=posts,
        last_post_ms=last_post_ms,
        is_discoverable=account.preferences.is_discoverable,
    )
