"""Hydration: reads posts by their ids, with authors, counts and the rights of each viewer.

Every request reads posts, authors and rights again. Most pages need one round trip. The process caches only facts
that never change, such as the author of a post and the original of a boost (`PostFactsCache`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Protocol, cast

from accounts.accounts.service import AccountService
from socialsite.ids import AccountId, PostId
from socialsite.store import Read, Store
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.posts.counts import read_counts
from timelines.posts.poll_votes import read_choices, read_tallies
from timelines.posts.post import FOLLOWERS, Post
from timelines.posts.post_archive import ArchiveUnavailable
from timelines.posts.quotes import read_consents
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState
from timelines.previews.preview import link_of
from timelines.previews.repository import ExpiredPreviews, read_previews
from timelines.reading.viewer_rights import LoadedPosts, ViewerContext, ViewerRights
from timelines.visibility.boosters import read_earlier_boosters
from timelines.visibility.rights import FOLLOWED_CONTEXTS, LANGUAGE_CONTEXTS, AllowedAuthors, ViewContext
from timelines.visibility.viewer_state import MAX_AUTHORS, read_viewer_relations

FACTS_CAP = 50_000
"""The facts cache is cleared above this number of posts. A full cache takes about 5 MB."""

NO_QUOTES: Final[Mapping[PostId, PostId]] = MappingProxyType({})


class ListMembers(Protocol):
    """The members of lists (timelines/lists/repository.py)."""

    def members_among(self, list_id: ListId, ids: Collection[AccountId], /) -> Read[set[AccountId]]: ...


class PostFactsCache:
    """A cache of the authors of posts and the originals of boosts that this process has read."""

    def __init__(self) -> None:
        self.author_of: dict[PostId, AccountId] = {}
        self.original_of: dict[PostId, tuple[PostId, AccountId]] = {}
        """The original and its author by the id of the boost."""
        self.parent_of: dict[PostId, tuple[PostId, AccountId]] = {}
        """The parent and its author by the id of the reply."""
        self.quoted_of: dict[PostId, tuple[PostId, AccountId]] = {}
        """The quoted post and its author by the id of the quote."""
        self.link_of: dict[PostId, str] = {}
        """The link of a post that has a preview. It is replaced when an edited version is loaded."""

    def add(self, posts: Iterable[Post]) -> None:
        if len(self.author_of) > FACTS_CAP:
            self.author_of.clear()
            self.original_of.clear()
            self.parent_of.clear()
            self.quoted_of.clear()
            self.link_of.clear()
        for post in posts:
            self.author_of[post.id] = post.author_id
            if post.boost_of is not None and post.boosted_author_id is not None:
                self.original_of[post.id] = post.boost_of, post.boosted_author_id
            if post.in_reply_to is not None and post.reply_to_author_id is not None:
                self.parent_of[post.id] = post.in_reply_to, post.reply_to_author_id
            details = post.details
            if details is not None and details.quote_of is not None and details.quoted_author_id is not None:
                self.quoted_of[post.id] = details.quote_of, details.quoted_author_id
            if (link := link_of(post)) is not None:
                self.link_of[post.id] = link
            else:
                self.link_of.pop(post.id, None)

    def originals_of(self, post_ids: Sequence[PostId]) -> list[PostId]:
        """Return the originals of the known boosts among `post_ids`."""
        if not self.original_of:
            return []
        return [self.original_of[post_id][0] for post_id in post_ids if post_id in self.original_of]

    def quotes_among(self, post_ids: Iterable[PostId]) -> dict[PostId, PostId]:
        """Return the quoted post of each known quote among `post_ids` and the posts that they quote."""
        quoted_of = self.quoted_of
        quotes = {post_id: quoted_of[post_id][0] for post_id in post_ids if post_id in quoted_of} if quoted_of else {}
        return quotes | {id: quoted_of[id][0] for id in quotes.values() if id in quoted_of} if quotes else quotes

    def links_among(self, post_ids: Iterable[PostId]) -> dict[PostId, str]:
        """Return the link of each known post with a link among `post_ids`."""
        if not self.link_of:
            return {}
        return {post_id: self.link_of[post_id] for post_id in post_ids if post_id in self.link_of}

    def replied_authors_of(self, post_ids: Iterable[PostId]) -> set[AccountId]:
        """Return the authors of the parents of the replies among `post_ids`, if the cache has them."""
        parent_of = self.parent_of
        return {parent_of[post_id][1] for post_id in post_ids if post_id in parent_of}

    def parents_of(self, post_ids: Iterable[PostId]) -> set[PostId]:
        """Return the parents of the posts that the cache knows as replies to other accounts."""
        replies = [(post_id, *self.parent_of[post_id]) for post_id in post_ids if post_id in self.parent_of]
        return {parent for reply, parent, author in replies if author != self.author_of[reply]}

    def authors_of(self, post_ids: Iterable[PostId]) -> tuple[set[AccountId], bool]:
        """Return the cached authors, and whether the author of every post is cached."""
        authors: set[AccountId | None] = set(map(self.author_of.get, post_ids))
        if None not in authors:
            return cast("set[AccountId]", authors), True
        return {author for author in authors if author is not None}, False


@dataclass(kw_only=True, frozen=True, slots=True)
class Sources:
    """The repositories that hydration reads, and the facts cache of the process."""

    store: Store
    posts: PostRepository
    authors: AccountService
    follows: Follows
    members: ListMembers
    expired_previews: ExpiredPreviews
    link_previews: bool = False
    facts: PostFactsCache = field(default_factory=PostFactsCache)


class HydrationState:
    """All data that one request or live message reads about its posts, for one or more viewers.

    A page has one viewer. A live message has one viewer for each timeline that it may appear on. Posts, counts and
    authors are read once for all viewers. The relations of a viewer are read once for all timelines of the viewer.
    """

    def __init__(
        self, sources: Sources, viewers: Sequence[ViewerContext], now_ms: int, *, counts_may_lag: bool = False
    ) -> None:
        self.loaded = LoadedPosts()
        self.rights = [ViewerRights(self.loaded, viewer, now_ms) for viewer in viewers]
        """The rights of each viewer, in order. They have no reference to this object, so that it is freed at once."""
        self._sources = sources
        self._now_ms = now_ms
        self._counts_may_lag = counts_may_lag
        self._loaded_author_ids: set[AccountId] = set()
        self._rights_by_viewer: dict[AccountId, list[ViewerRights]] = {}
        self._homes: dict[AccountId, list[ViewerRights]] = {}
        self._rights_by_rule: list[ViewerRights] = []
        self._rights_by_language = [
            rights for rights in self.rights if rights.context in LANGUAGE_CONTEXTS and rights.viewer_id is not None
        ]
        """The rights whose viewers' languages are not read yet."""
        self._read_parent_ids: set[PostId] = set()
        self._shows_parents = any(rights.shows_parents for rights in self.rights)
        if len(viewers) == 1:
            viewer_id, context = viewers[0][:2]
            self._shows_boosts_once = context in FOLLOWED_CONTEXTS
            self._rights_by_rule = self.rights
            if viewer_id is not None:
                self._rights_by_viewer[viewer_id] = self.rights
        else:
            self._shows_boosts_once = any(rights.context in FOLLOWED_CONTEXTS for rights in self.rights)
            self._group_rights()

    def _group_rights(self) -> None:
        """Group the rights by viewer and by the way they are read.

        Rights of homes are read from the followers of the authors, all others by the rule of their timeline.
        """
        for rights in self.rights:
            viewer_id = rights.viewer_id
            if viewer_id is not None:
                self._rights_by_viewer.setdefault(viewer_id, []).append(rights)
            if viewer_id is not None and rights.context is ViewContext.HOME:
                self._homes.setdefault(viewer_id, []).append(rights)
            else:
                self._rights_by_rule.append(rights)

    async def load(self, post_ids: Sequence[PostId], author_ids: Iterable[AccountId] = ()) -> None:
        """Read the posts, the originals of boosts, quoted posts, their authors and the rights of all viewers.

        If the caller passes the authors of the posts in `author_ids`, this saves a round trip.
        """
        facts = self._sources.facts
        shown_ids = [*post_ids, *facts.originals_of(post_ids)]
        quotes = facts.quotes_among(shown_ids)
        wanted_ids = list(dict.fromkeys([*shown_ids, *quotes.values()]))
        known_author_ids, is_all = facts.authors_of(wanted_ids)
        known_author_ids.update(author_ids)
        await self._read(wanted_ids, known_author_ids, (), quotes, self._find_unread_parents(post_ids, wanted_ids))
        if not is_all:
            await self._read_rest(post_ids, wanted_ids)
        if self._shows_boosts_once:
            posts = map(self.loaded.posts.get, post_ids)
            if boosts := [post for post in posts if post is not None and post.boost_of is not None]:
                await self._read_earlier_boosters(boosts)
        await self._read_exceptions(has_new_posts=not is_all)

    async def load_tombstones(self, tombstones: dict[PostId, Post]) -> None:
        """Read the authors of deleted posts and the rights of all viewers."""
        self.loaded.add(tombstones, {}, {})
        await self.load_accounts(post.author_id for post in tombstones.values())
        await self._read_exceptions()

    async def load_accounts(self, account_ids: Iterable[AccountId]) -> None:
        """Read more accounts and the rights of all viewers to see them."""
        missing_ids = list(set(account_ids) - self._loaded_author_ids)
        for start in range(0, len(missing_ids), MAX_AUTHORS):
            await self._read((), missing_ids[start : start + MAX_AUTHORS])

    async def _read(
        self,
        post_ids: Sequence[PostId],
        author_ids: Collection[AccountId],
        replied_author_ids: Collection[AccountId] = (),
        quotes: Mapping[PostId, PostId] = NO_QUOTES,
        parent_ids: Collection[PostId] = (),
    ) -> None:
        """Read posts, authors and rights in one round trip per node.

        Authors of parents come from `replied_author_ids`, or else from the facts cache. Their account data and the
        viewer's relations to them are read. `quotes` has the quoted post of each quote whose consent is read,
        `parent_ids` the parents of which entries show a line.
        """
        sources, viewer_ids = self._sources, self._rights_by_viewer
        parent_author_ids = replied_author_ids or sources.facts.replied_authors_of(post_ids)
        related_ids = {*author_ids, *parent_author_ids}
        self._read_parent_ids.update(parent_ids)
        parent_ids = set(parent_ids).difference(post_ids)  # a boost or a quote of the page may contain a parent
        links = sources.facts.links_among(post_ids) if sources.link_previews else {}
        choosers, self._rights_by_language = self._rights_by_language, []
        stored_posts, counts, authors, *results = await sources.store.read(
            sources.posts.read_many([*post_ids, *parent_ids]),
            read_counts(post_ids).allow_lag(self._counts_may_lag),
            sources.authors.read_authors(related_ids),
            *[rights.read_allowed(author_ids) for rights in self._rights_by_rule],
            *[read_viewer_relations(id, post_ids, related_ids, self._now_ms) for id in viewer_ids],
            *self._optional_reads(author_ids, choosers, quotes, links),
        )
        if links:
            self.loaded.links |= links
            self.loaded.previews |= results.pop()
        if quotes:
            self.loaded.consents |= results.pop()
        for rights in reversed(choosers):
            rights.languages = results.pop().languages
        posts = await self._load_existing(stored_posts, parent_ids)
        self.loaded.parents |= {post_id: posts.pop(post_id) for post_id in parent_ids if post_id in posts}
        self.loaded.add(posts, counts, authors)
        self._loaded_author_ids.update(author_ids)
        self._add_rights(author_ids, results)

    def _optional_reads(
        self,
        author_ids: Collection[AccountId],
        choosers: Sequence[ViewerRights],
        quotes: Mapping[PostId, PostId],
        links: Mapping[PostId, str],
    ) -> list[Read[Any]]:
        """Return the reads that most pages do not need: followers for homes, languages, consents, previews."""
        sources, reads = self._sources, list[Read[Any]]()
        if self._homes:  # one read for each author needs fewer commands than one for each home
            home_ids = list(self._homes)
            reads += [sources.follows.followers_among(id, home_ids) for id in author_ids]
        reads += [sources.authors.read_preferences(rights.viewer_id) for rights in choosers if rights.viewer_id]
        if quotes:
            reads.append(read_consents(quotes))
        if links:
            reads.append(read_previews(links, sources.expired_previews))
        return reads

    async def _load_existing(
        self, stored: Mapping[PostId, Post | PostState], parent_ids: Collection[PostId]
    ) -> dict[PostId, Post]:
        """Return the posts among the stored values, without the parents if one is in an unavailable archive."""
        load = self._sources.posts.load_existing
        try:
            return await load(stored)
        except ArchiveUnavailable:
            if not parent_ids:
                raise
            return await load({post_id: post for post_id, post in stored.items() if post_id not in parent_ids})

    def _add_rights(self, author_ids: Collection[AccountId], results: Sequence[Any]) -> None:
        if len(self.rights) == 1:
            self.rights[0].allow(results[0])
            if len(results) == 2:
                self.rights[0].add_relations(results[1])
            return
        replies = iter(results)
        for rights, allowed_ids in zip(self._rights_by_rule, islice(replies, len(self._rights_by_rule)), strict=True):
            rights.allow(allowed_ids)
        for same_viewer, relations in zip(
            self._rights_by_viewer.values(), islice(replies, len(self._rights_by_viewer)), strict=True
        ):
            for rights in same_viewer:
                rights.add_relations(relations)
        for author_id, follower_ids in zip(author_ids, replies, strict=False):  # no replies if there are no homes
            for viewer_id in {*follower_ids, author_id} & self._homes.keys():
                for rights in self._homes[viewer_id]:
                    rights.allow({author_id})

    async def _read_rest(self, post_ids: Sequence[PostId], read_ids: Sequence[PostId]) -> None:
        """Read the authors, originals and quoted posts that were unknown before the posts `read_ids` were read."""
        facts = self._sources.facts
        facts.add(self.loaded.posts.values())
        posts = self.loaded.posts.values()
        original_ids = {post.boost_of for post in posts if post.boost_of is not None}.difference(read_ids)
        author_ids = {post.author_id for post in posts}
        author_ids |= {post.boosted_author_id for post in posts if post.boosted_author_id is not None}
        replied_author_ids = facts.replied_authors_of(self.loaded.posts) - self.loaded.authors.keys()
        quotes = self._find_unread_quotes(post_ids)
        author_ids = (author_ids | self._quoted_authors(quotes)) - self._loaded_author_ids
        parent_ids = self._find_unread_parents(post_ids, read_ids)
        if original_ids or author_ids or replied_author_ids or quotes or parent_ids:
            missing_ids = original_ids | set(quotes.values()).difference(read_ids)
            await self._read(sorted(missing_ids), author_ids, replied_author_ids, quotes, parent_ids)
            facts.add(self.loaded.posts.values())
        while True:  # of originals, and of quoted posts
            quotes, parent_ids = self._find_unread_quotes(post_ids), self._find_unread_parents(post_ids, ())
            if not (quotes or parent_ids):
                break
            missing_ids = set(quotes.values()) - self.loaded.posts.keys()
            author_ids = self._quoted_authors(quotes) - self._loaded_author_ids
            replied_author_ids = facts.replied_authors_of(self.loaded.posts) - self.loaded.authors.keys()
            await self._read(sorted(missing_ids), author_ids, replied_author_ids, quotes, parent_ids)
            facts.add(self.loaded.posts.values())

    def _find_unread_parents(self, post_ids: Sequence[PostId], read_ids: Iterable[PostId]) -> set[PostId]:
        """Return the known parents of the posts, and of originals, that are not read yet and are not in `read_ids`."""
        facts = self._sources.facts
        if not (self._shows_parents and facts.parent_of):
            return set()
        parent_ids = facts.parents_of([*post_ids, *facts.originals_of(post_ids)])
        return parent_ids - self._read_parent_ids - self.loaded.posts.keys() - set(read_ids)

    def _find_unread_quotes(self, post_ids: Sequence[PostId]) -> dict[PostId, PostId]:
        """Return the quotes among the posts, their originals and the quoted posts whose consent is not read yet."""
        facts = self._sources.facts
        quotes = facts.quotes_among([*post_ids, *facts.originals_of(post_ids)])
        return {quote: quoted for quote, quoted in quotes.items() if quote not in self.loaded.consents}

    def _quoted_authors(self, quotes: Iterable[PostId]) -> set[AccountId]:
        return {self._sources.facts.quoted_of[quote][1] for quote in quotes}

    async def _read_earlier_boosters(self, boosts: Sequence[Post]) -> None:
        """Read which accounts boosted the same posts earlier, and whether each viewer may see these accounts."""
        read = read_earlier_boosters([(post.shown_id, post.id) for post in boosts])
        (self.loaded.earlier_boosters,) = await self._sources.store.read(read)
        await self.load_accounts(id for booster_ids in self.loaded.earlier_boosters.values() for id in booster_ids)

    async def _read_exceptions(self, *, has_new_posts: bool = False) -> None:
        """Read rights that only few pages need.

        These are the follows of restricted authors, the accounts to which a list shows replies, and the members of
        exclusive lists.
        """
        homes: list[ViewerRights] = []
        others: list[ViewerRights] = []
        limited: list[tuple[ViewerRights, AllowedAuthors]] = []
        detailed = [post for post in self.loaded.posts.values() if post.details is not None]
        if detailed:
            await self._read_polls([post.id for post in detailed if post.extra.poll])
        edited = [post for post in detailed if post.extra.version]
        if self._sources.link_previews and (edited or has_new_posts):
            self._sources.facts.add(edited)
            await self._read_new_previews()
        for rights in self.rights:
            rights.reset_cache()
            if rights.read_replyable is not None:
                limited.append((rights, rights.read_replyable))
            if rights.relations is not None:
                (homes if rights.context is ViewContext.HOME else others).append(rights)
        if limited:
            await self._read_replyable(limited)
        if others and (author_ids := self._restricted_author_ids()):
            await self._read_follows(others, author_ids)
        if any(rights.relations.exclusive_list_ids for rights in homes if rights.relations is not None):
            await self._remove_members_of_exclusive_lists(homes)

    async def _read_polls(self, poll_ids: Iterable[PostId]) -> None:
        """Read the counts of the polls, and the choices of each viewer."""
        loaded = self.loaded
        post_ids = [post_id for post_id in poll_ids if post_id not in loaded.tallies]
        if not post_ids:
            return
        viewer_ids = list(self._rights_by_viewer)
        reads: list[Read[Any]] = [read_tallies(post_ids), *(read_choices(id, post_ids) for id in viewer_ids)]
        tallies, *choices = await self._sources.store.read(*reads)
        loaded.tallies |= tallies
        for viewer_id, chosen in zip(viewer_ids, choices, strict=True):
            for rights in self._rights_by_viewer[viewer_id]:
                rights.poll_choices |= chosen

    async def _read_new_previews(self) -> None:
        """Read the previews of posts whose link was unknown before they were loaded, or was edited."""
        loaded, links = self.loaded, self._sources.facts.links_among(self.loaded.posts)
        new_links = {post_id: link for post_id, link in links.items() if loaded.links.get(post_id) != link}
        for post_id in (loaded.links.keys() - links.keys()) | new_links.keys():
            loaded.previews.pop(post_id, None)
        if new_links:
            loaded.links |= new_links
            (previews,) = await self._sources.store.read(read_previews(new_links, self._sources.expired_previews))
            loaded.previews |= previews

    async def _read_replyable(self, limited: Sequence[tuple[ViewerRights, AllowedAuthors]]) -> None:
        """Read, for lists that restrict replies, the accounts to which replies are shown."""
        posts = self.loaded.posts.values()
        replied_ids = {post.reply_to_author_id for post in posts if post.reply_to_author_id is not None}
        if not replied_ids:
            return
        results = await self._sources.store.read(*(read_replyable(replied_ids) for _, read_replyable in limited))
        for (rights, _), replyable_ids in zip(limited, results, strict=True):
            rights.replyable_ids |= replyable_ids

    def _restricted_author_ids(self) -> set[AccountId]:
        """Return the authors of posts that only followers may see."""
        author_ids = {post.author_id for post in self.loaded.posts.values() if post.audience == FOLLOWERS}
        private_ids = {author.id for author in self.loaded.authors.values() if author.followers_only}
        return author_ids | (private_ids & self._loaded_author_ids)

    async def _read_follows(self, viewers: Sequence[ViewerRights], author_ids: Collection[AccountId]) -> None:
        """Read which viewers follow which authors. The rights of homes already contain these follows."""
        follows, viewer_ids = self._sources.follows, {rights.viewer_id for rights in viewers if rights.viewer_id}
        if len(viewer_ids) == 1:  # one read for the viewer needs fewer commands than one for each author
            (viewer_id,) = viewer_ids
            followed_ids = await follows.followed_among(viewer_id, author_ids)
            for rights in viewers:
                rights.followed_ids |= followed_ids
            return
        reads = [follows.followers_among(author_id, viewer_ids) for author_id in author_ids]
        for author_id, follower_ids in zip(author_ids, await self._sources.store.read(*reads), strict=True):
            for rights in viewers:
                if rights.viewer_id in follower_ids:
                    rights.followed_ids.add(author_id)

    async def _remove_members_of_exclusive_lists(self, homes: Iterable[ViewerRights]) -> None:
        """Hide members of exclusive lists from homes: their posts appear only on the list."""
        owners = [(rights, id) for rights in homes if rights.relations for id in rights.relations.exclusive_list_ids]
        members = self._sources.members
        reads = [members.members_among(id, rights.allowed_ids - {rights.viewer_id}) for rights, id in owners]
        for (rights, _), member_ids in zip(owners, await self._sources.store.read(*reads), strict=True):
            rights.allowed_ids -= member_ids
