"""Popular posts: posts that several accounts liked, boosted or answered in the last two days.

An account counts once for a post, never for its own. The worker writes the rankings every REFILL_INTERVAL_S seconds
from the counts, with the rules of recommendations: only public posts that are no answers and have no sensitive
pictures, of accounts that may be suggested, one of each author. Each reader gets a ranking through the read pipeline,
as the public timeline.
docs/reference/decisions/popular-posts.md has the reasons and the figures.
"""

import logging
from collections.abc import Mapping

from accounts.accounts.service import AccountService
from accounts.domain import Author
from socialsite.ids import AccountId, PostId, TimeSource, ms_from_id
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Service
from socialsite.site.service import SiteService
from socialsite.store import Store, StoreError
from timelines.pages.page import HydratedPost
from timelines.pages.pictures import is_sensitive
from timelines.popular.repository import ALL_LANGUAGES, NO_LANGUAGE, RANKING_CAP, PopularPosts
from timelines.posts.post import FOLLOWERS, Post
from timelines.posts.repository import PostRepository
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext

log = logging.getLogger(__name__)

REFILL_INTERVAL_S = 20.0
MAX_CANDIDATES = 500
MAX_LANGUAGES = 10
"""The most languages of a reader whose rankings are united. A reader of more languages gets the ranking of all."""


class PopularPostsService(Service):
    popular: PopularPosts
    store: Store
    posts: PostRepository
    accounts: AccountService
    pipeline: ReadPipeline
    clock: TimeSource
    site: SiteService

    async def count(self, account_id: AccountId, post: Post, at_ms: int) -> None:
        """Count an account that reacted to a post. Store errors are logged, not raised."""
        if _may_be_popular(post):
            await self._count(account_id, post.id, post.author_id, at_ms)

    async def count_answer(self, post: Post) -> None:
        """Count the author of a published post that answers a first post of a thread."""
        parent_id, author_id = post.in_reply_to, post.reply_to_author_id
        if parent_id is not None and author_id is not None and post.root_id == parent_id and post.audience != FOLLOWERS:
            await self._count(post.author_id, parent_id, author_id, ms_from_id(post.id))

    async def _count(self, account_id: AccountId, post_id: PostId, author_id: AccountId, at_ms: int) -> None:
        """Count the account, unless it wrote the post or staff limited it."""
        if account_id == author_id:
            return
        try:
            actor = (await self.accounts.find_authors([account_id])).get(account_id)
            if actor is not None and actor.is_visible and not actor.limited:
                await self.popular.count(account_id, post_id, at_ms)
        except StoreError as error:
            log.warning("a reaction was not counted: %s", error)

    async def withdraw(self, account_id: AccountId, post_id: PostId) -> None:
        """Undo the count of an account that removed its reactions. Store errors are logged, not raised."""
        try:
            await self.popular.withdraw(account_id, post_id)
        except StoreError as error:
            log.warning("a reaction was not withdrawn: %s", error)

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("popular", REFILL_INTERVAL_S, self.refill),)

    async def refill(self) -> None:
        weights = await self.popular.candidates(self.clock.now_ms(), MAX_CANDIDATES)
        posts = await self.posts.find_shown(list(weights))
        author_ids = {post.author_id for post in posts.values()}
        authors = await self.accounts.find_shown_authors(author_ids)
        (hidden,) = await self.store.read(self.accounts.read_undiscoverable(author_ids))
        rankings: dict[str, dict[PostId, float]] = {ALL_LANGUAGES: {}}
        ranked_authors = hidden | self._held_accounts()
        for post_id, weight in weights.items():
            post = posts.get(post_id)
            if post is None or post.author_id in ranked_authors or not _is_recommended(post, authors):
                continue
            ranked_authors.add(post.author_id)
            for name in (ALL_LANGUAGES, post.extra.language or NO_LANGUAGE):
                ranking = rankings.setdefault(name, {})
                if len(ranking) < RANKING_CAP:
                    ranking[post_id] = weight
        await self.popular.replace(rankings)

    async def read(
        self, viewer_id: AccountId | None, languages: tuple[str, ...], preferred: str = "", *, offset: int, limit: int
    ) -> tuple[list[HydratedPost], int | None]:
        """Return popular posts as the viewer sees them, and the offset of the next page or None.

        `languages` are those that the viewer reads. Without them, posts in the preferred language come first. A page
        is shorter by the posts that are hidden from the viewer.
        """
        offset = min(offset, RANKING_CAP)
        chosen = languages if len(languages) <= MAX_LANGUAGES else ()
        ids = await self.popular.read(chosen, preferred, offset, limit + 1)
        site = self.site.settings
        shown_ids = [post_id for post_id in ids[:limit] if str(post_id) not in site.held_posts]
        entries = await self.pipeline.read_posts(shown_ids, ViewerContext(viewer_id, ViewContext.PUBLIC))
        held = self._held_accounts()
        shown = [each for each in entries if each.author.id not in held and not _is_marked(each.post, each.author)]
        return shown, offset + limit if len(ids) > limit else None

    def _held_accounts(self) -> set[AccountId]:
        """Return the accounts that staff hides in recommendations."""
        return {AccountId(int(id)) for id in self.site.settings.held_accounts}


def _may_be_popular(post: Post) -> bool:
    """Return whether the post itself may be recommended: it is public, and neither an answer nor a boost."""
    return post.is_discoverable and post.in_reply_to is None and post.boost_of is None


def _is_recommended(post: Post, authors: Mapping[AccountId, Author]) -> bool:
    author = authors.get(post.author_id)
    if author is None or not author.is_visible or author.followers_only or _is_marked(post, author):
        return False
    return _may_be_popular(post)


def _is_marked(post: Post, author: Author) -> bool:
    """Return whether the author or staff marked the pictures as sensitive, or staff hid the text behind a warning."""
    return is_sensitive(post, author) or post.extra.is_folded
