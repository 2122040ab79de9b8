"""Quotes: the consent of the quoted author, its revocation, and the list of the quotes of a post.

The author of a post chooses who may quote it; a post without a choice follows the preference of its author at the
moment of the quote. Posts that not everybody may see are quoted by their author only. The quote is stored before its
post is written. Readers see the quoted post only if the quote is stored, and if they may see the quoted post.
"""

from functools import partial
from typing import NamedTuple, Unpack

from django.utils.translation import gettext as _
from msgspec import structs

from accounts.accounts.service import AccountService
from accounts.domain import QuotePolicy
from socialsite.ids import AccountId, PostId
from socialsite.service import Service
from socialsite.store import Store
from timelines.errors import PostInvalid, PostNotFound
from timelines.graph.repository import Follows
from timelines.live_updates.service import LiveService
from timelines.pages.page import HydratedPost, PagePart, PageRequest, TimelinePage
from timelines.posts.post import Post
from timelines.posts.quotes import QuoteRepository, QuoteResult
from timelines.posts.repository import PostRepository
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.skeletons import StoredSkeleton
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext, requires_follow


class QuoteApproval(NamedTuple):
    """The accounts that may quote a post, and whether the viewer is one of them."""

    policy: QuotePolicy
    is_allowed: bool


class QuoteService(Service):
    store: Store
    quotes: QuoteRepository
    posts: PostRepository
    pipeline: ReadPipeline
    accounts: AccountService
    follows: Follows
    live: LiveService

    async def find_approval(self, entry: HydratedPost, viewer_id: AccountId | None) -> QuoteApproval:
        """Return who may quote the post that the entry shows. The viewer may see the entry."""
        post, author = entry.shown.post, entry.shown.author
        if requires_follow(post, author):
            return QuoteApproval("nobody", viewer_id == author.id)
        policy = post.extra.quote_policy
        if policy is None:
            (preferences,) = await self.store.read(self.accounts.read_preferences(author.id))
            policy = preferences.quote_policy
        if viewer_id is None or viewer_id == author.id or policy != "followers":
            return QuoteApproval(policy, viewer_id is not None and (viewer_id == author.id or policy == "public"))
        return QuoteApproval(policy, author.id in await self.follows.followed_among(viewer_id, [author.id]))

    async def authorize(self, post: Post) -> Post:
        """Store the quote of a post that is about to be written, and return the post with the quoted author.

        A quote of a boost becomes a quote of the original. Raises PostInvalid if the author may not see or quote the
        post, or if it has too many quotes.
        """
        quoted_id = post.extra.quote_of
        entry = None if quoted_id is None else await self.pipeline.find_visible(post.author_id, quoted_id)
        if entry is None:
            raise _refused(_("The post you quote does not exist, or no longer does."))
        if not (await self.find_approval(entry, post.author_id)).is_allowed:
            raise _refused(_("The author of this post does not allow you to quote it."))
        quoted = entry.shown.post
        match await self.quotes.add(quoted.id, post.id):
            case QuoteResult.NO_POST:
                raise _refused(_("The post you quote does not exist, or no longer does."))
            case QuoteResult.CAP_REACHED:
                raise _refused(_("This post was quoted as often as this site allows."))
        details = structs.replace(post.extra, quote_of=quoted.id, quoted_author_id=quoted.author_id)
        return structs.replace(post, details=details)

    async def revoke(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost | None:
        """Remove a post of the account from the post `post_id`, which quotes it. The call may be repeated.

        Return the quote, or None if the account may not see it. Raises PostNotFound if the post does not quote a post
        of the account.
        """
        post = await self.posts.find(post_id)
        if post is None or post.extra.quote_of is None or post.extra.quoted_author_id != account_id:
            raise PostNotFound
        await self.quotes.revoke(post.extra.quote_of, post.id)
        await self.live.counts_changed(post.id)
        return await self.pipeline.find_visible(account_id, post.id)

    async def list_quotes(
        self, post_id: PostId, *, viewer_id: AccountId | None, **part: Unpack[PagePart]
    ) -> TimelinePage:
        """Return the posts that quote a post and that the viewer may see. The caller checks the rights to the post."""
        skeleton = StoredSkeleton(partial(self.quotes.read, post_id))
        return await self.pipeline.read_page(
            skeleton, PageRequest(**part), ViewerContext(viewer_id, ViewContext.THREAD)
        )

    async def count(self, post_id: PostId) -> int:
        """Return the number of quotes of a post, without revoked quotes."""
        return (await self.quotes.count_many([post_id]))[post_id]


def _refused(reason: str) -> PostInvalid:
    return PostInvalid({"quoted_status_id": reason})
