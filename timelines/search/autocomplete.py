"""Finds accounts and hashtags by prefix, for the composer and for the search page."""

from collections.abc import Collection, Sequence

from accounts.accounts.service import AccountService
from accounts.domain import Author
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Service
from socialsite.store import Store
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.graph.repository import Follows
from timelines.hashtags.public_hashtags import PublicHashtags
from timelines.search.names import NameIndex
from timelines.text.accents import fold_accents
from timelines.text.token_scanner import remove_begun_host
from timelines.text.tokenizer import NAME_LENGTH_CAP, join_tokens, tokenize
from timelines.visibility.rights import ViewerRelations
from timelines.visibility.viewer_state import read_viewer_relations

CANDIDATES_PER_PARTITION = 20
"""The number of matches that are read from each partition. The results are chosen from them."""


class AutocompleteService(Service):
    store: Store
    names: NameIndex
    hashtag_timelines: HashtagTimelines
    public_hashtags: PublicHashtags
    authors: AccountService
    follows: Follows
    clock: TimeSource
    limits: ActionLimits

    async def complete_accounts(
        self, prefix: str, *, viewer_id: AccountId | None, limit: int, caller: Caller | None = None
    ) -> list[Author]:
        """Return visible accounts whose handle or name starts with `prefix`.

        The exact handle comes first, then followed accounts, then other accounts, short handles first. Accounts that
        are limited, or chose not to be found, are shown to their followers. Raises RateLimited.
        """
        async with self.limits.refundable(caller, "complete"):
            return await self._complete_accounts(prefix, viewer_id, limit)

    async def _complete_accounts(self, prefix: str, viewer_id: AccountId | None, limit: int) -> list[Author]:
        start = join_tokens(tokenize(remove_begun_host(prefix)))[:NAME_LENGTH_CAP]
        if not start:
            return []
        ids = await self.names.find_accounts([f"@{start}", start], CANDIDATES_PER_PARTITION)
        authors, undiscoverable, followed, reader = await self._load_accounts(viewer_id, ids)
        hidden = undiscoverable | {each.id for each in authors.values() if each.limited}
        visible_authors = (
            each for each in authors.values() if each.id not in hidden or each.id in followed or each.id == viewer_id
        )
        candidates = (each for each in visible_authors if each.is_visible and not _is_blocked(each, reader))
        ranked = sorted(
            candidates, key=lambda each: (each.handle != start, each.id not in followed, *_rank_handle(each, start))
        )
        return ranked[:limit]

    async def complete_hashtags(self, prefix: str, *, limit: int, caller: Caller | None = None) -> list[str]:
        """Return hashtags that start with the normalized `prefix`.

        The exact match comes first, then variants with other accents, then the most used hashtags. The result has only
        hashtags of public posts, even if the viewer may see other posts. Raises RateLimited.
        """
        async with self.limits.refundable(caller, "complete"):
            return await self._complete_hashtags(prefix, limit) if prefix else []

    async def _complete_hashtags(self, prefix: str, limit: int) -> list[str]:
        bare = fold_accents(prefix)
        if not bare:  # `prefix` has only combining marks
            return []
        tags = await self.names.find_tags(prefix, CANDIDATES_PER_PARTITION)
        sizes = await self.hashtag_timelines.sizes(tags)
        used = [tag for tag in tags if sizes[tag]]
        ranked = sorted(used, key=lambda tag: (tag != prefix, fold_accents(tag) != bare, -sizes[tag], tag))
        return await self.public_hashtags.among(ranked[: max(limit, CANDIDATES_PER_PARTITION)], limit)

    async def _load_accounts(
        self, viewer_id: AccountId | None, ids: Sequence[AccountId]
    ) -> tuple[dict[AccountId, Author], set[AccountId], Collection[int], ViewerRelations | None]:
        """Return the accounts, and the viewer's relations to them.

        Between them are the ids of accounts that chose not to be found, and of accounts that the viewer follows.
        """
        reads = self.authors.read_authors(ids), self.authors.read_undiscoverable(ids)
        if viewer_id is None:
            authors, undiscoverable = await self.store.read(*reads)
            return authors, undiscoverable, (), None
        followed = self.follows.followed_among(viewer_id, ids)
        state = read_viewer_relations(viewer_id, [], ids, self.clock.now_ms())
        authors, undiscoverable, following, reader = await self.store.read(*reads, followed, state)
        return authors, undiscoverable, following, reader


def _is_blocked(author: Author, reader: ViewerRelations | None) -> bool:
    return reader is not None and (author.id in reader.blocks or author.id in reader.blocked_by)


def _rank_handle(author: Author, start: str) -> tuple[bool, int, str]:
    return not author.handle.startswith(start), len(author.handle), author.handle
