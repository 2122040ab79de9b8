"""Reading a timeline in four steps: skeleton (ids), hydrate, filter, present.

`ReadPipeline.read_page` reads home, author, list, public and hashtag timelines, each with its own skeleton. Threads,
bookmarks, search and notifications find their ids themselves and use only the last three steps (`read_posts`). A live
message uses these three steps for many viewers together (`read_post_for_viewers`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from accounts.domain import DELETED, Author
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.service import Service
from timelines.errors import PostNotFound
from timelines.pages.page import HydratedPost, PageRequest, Quote, TimelinePage, ViewerState, build_page, fetch_size
from timelines.posts.post import Post
from timelines.reading.hydration import HydrationState, Sources
from timelines.reading.skeletons import Skeleton
from timelines.reading.viewer_rights import LoadedPosts, ViewerContext, ViewerRights
from timelines.visibility.boosters import LaterBoosts, RemovedBoost, read_later_boosts
from timelines.visibility.filter import KeywordFilter
from timelines.visibility.rights import ViewContext, requires_follow

MAX_ROUNDS = 40
"""The maximum number of reads for one page. If too many posts are hidden, the page ends early with a cursor."""
MAX_SELECTIVE_ROUNDS = 8
"""The same for a page of selected posts, of which there may be few among thousands."""
VIEWERS_PER_BATCH = 500
"""The maximum number of viewers in one round trip. A full batch takes a few ms on the server."""
OWN_POST, NO_ACTIONS = ViewerState(own=True), ViewerState(own=False)


class VisiblePost(msgspec.Struct, frozen=True, gc=False):
    """A post that the viewer may see. `original` is the original of a boost and its author.

    If a keyword filter folds the post, `keyword_filter` is this filter. The page then shows the text after
    a click.
    """

    post: Post
    author: Author
    original: tuple[Post, Author] | None = None
    keyword_filter: KeywordFilter | None = None
    matching_filters: tuple[KeywordFilter, ...] = ()


class ReadPipeline(Service):
    """Reads pages and posts for one viewer, or one post for many viewers."""

    sources: Sources
    clock: TimeSource

    async def read_page(self, skeleton: Skeleton, request: PageRequest, viewer: ViewerContext) -> TimelinePage:
        """Return one page. The page is full unless the timeline ends or MAX_ROUNDS is reached."""
        viewer = viewer._replace(shows_parents=request.shows_parents)
        entries: list[HydratedPost] = []
        bound, is_end, selection = request.bound, False, request.selection
        rounds = MAX_SELECTIVE_ROUNDS if selection else MAX_ROUNDS
        for round_number in range(rounds):  # one entry above the limit shows that there is a next page
            size = fetch_size(request, len(entries), round_number)
            post_ids = await skeleton.next_ids(bound, size, upward=request.upward)
            state = await self.hydrate(post_ids, [viewer], may_lag=request.may_lag)
            visible_posts = filter_posts(state.loaded, state.rights[0], post_ids)
            presented = present(state.loaded, state.rights[0], visible_posts)
            entries += filter(selection.includes, presented) if selection else presented
            is_end = len(post_ids) < size
            if is_end or len(entries) > request.limit:
                break
            bound = post_ids[-1]
        return build_page(request, entries, bound=bound, ended=is_end)

    async def read_posts(self, post_ids: Sequence[PostId], viewer: ViewerContext) -> list[HydratedPost]:
        """Return the posts that the viewer may see, in the order of `post_ids`."""
        state = await self.hydrate(post_ids, [viewer])
        return present(state.loaded, state.rights[0], filter_posts(state.loaded, state.rights[0], post_ids))

    async def read_post_for_viewers(
        self, post_id: PostId, author_id: AccountId | None, viewers: Sequence[ViewerContext]
    ) -> list[HydratedPost | None]:
        """Return the post for each viewer; None for viewers who may not see the post.

        If the caller passes `author_id`, this saves a round trip.
        """
        entries: list[HydratedPost | None] = []
        author_ids = () if author_id is None else (author_id,)
        for start in range(0, len(viewers), VIEWERS_PER_BATCH):
            state = await self.hydrate([post_id], viewers[start : start + VIEWERS_PER_BATCH], author_ids)
            post = state.loaded.posts.get(post_id)
            for rights in state.rights:
                visible = None if post is None else filter_post(rights, post)
                entries.append(None if visible is None else present_post(state.loaded, rights, visible))
        return entries

    async def find_visible(self, viewer_id: AccountId | None, post_id: PostId) -> HydratedPost | None:
        """Return the post if the viewer may see the page of the post. Such a viewer may also reply to the post."""
        entries = await self.read_posts([post_id], ViewerContext(viewer_id, ViewContext.POST))
        return entries[0] if entries else None

    async def get_visible(self, viewer_id: AccountId | None, post_id: PostId) -> HydratedPost:
        """Return what `find_visible` finds. Raises PostNotFound."""
        entry = await self.find_visible(viewer_id, post_id)
        if entry is None:
            raise PostNotFound
        return entry

    async def find_audience(self, viewer_id: AccountId | None, post_id: PostId) -> bool | None:
        """Return None if the viewer may not see the post, else whether everybody may see it."""
        entry = await self.find_visible(viewer_id, post_id)
        return None if entry is None else not requires_follow(entry.post, entry.author)

    async def hydrate(
        self,
        post_ids: Sequence[PostId],
        viewers: Sequence[ViewerContext],
        author_ids: Iterable[AccountId] = (),
        *,
        may_lag: bool = False,
    ) -> HydrationState:
        """Read the posts, their authors and counts, and the rights of the viewers."""
        state = HydrationState(self.sources, viewers, self.clock.now_ms(), counts_may_lag=may_lag)
        if post_ids:
            await state.load(post_ids, author_ids)
        return state

    # Only live messages use these.

    async def find_deleted(
        self, post_ids: Collection[PostId], viewers: Sequence[ViewerContext]
    ) -> list[dict[PostId, Post]]:
        """Return, for each viewer, the deleted posts that the viewer or a visitor could see before their deletion.

        The posts have only the fields of their tombstones.
        """
        return (await self.find_changed(post_ids, viewers))[1]

    async def find_changed(
        self, post_ids: Collection[PostId], viewers: Sequence[ViewerContext]
    ) -> tuple[dict[PostId, int], list[dict[PostId, Post]]]:
        """Return the versions of the edited posts without a check of rights, and the result of `find_deleted`."""
        versions, tombstones = await self.sources.posts.find_changed(post_ids)
        visible: list[dict[PostId, Post]] = []
        for start in range(0, len(viewers), VIEWERS_PER_BATCH):
            state = HydrationState(self.sources, viewers[start : start + VIEWERS_PER_BATCH], self.clock.now_ms())
            await state.load_tombstones(tombstones)
            visible += [{id: post for id, post in tombstones.items() if each.could_see(post)} for each in state.rights]
        return versions, visible

    async def load_later_boosts(self, removed: Iterable[RemovedBoost]) -> list[LaterBoosts]:
        """Return, for each removed boost, the later boosts that it may have hidden. The first visible one is shown."""
        return await self.sources.store.read(*(read_later_boosts(original, boost) for boost, original in removed))

    async def deleted_accounts(self, account_ids: Collection[AccountId]) -> set[AccountId]:
        """Return the accounts that are deleted. Their follows and list memberships may be incomplete."""
        authors = await self.sources.authors.find_authors(account_ids) if account_ids else {}
        return {id for id, author in authors.items() if author.state == DELETED}

    async def timelines_showing_author(self, author_id: AccountId, viewers: Mapping[str, ViewerContext]) -> set[str]:
        """Return the names of the timelines that may show the author. Only follows and lists are checked."""
        names: set[str] = set()
        named_viewers = list(viewers.items())
        for start in range(0, len(named_viewers), VIEWERS_PER_BATCH):
            names |= await self._names_allowing(author_id, named_viewers[start : start + VIEWERS_PER_BATCH])
        return names

    async def _names_allowing(self, author_id: AccountId, viewers: Sequence[tuple[str, ViewerContext]]) -> set[str]:
        homes = {each.viewer_id: name for name, each in viewers if each.context is ViewContext.HOME and each.viewer_id}
        others = [(name, each) for name, each in viewers if each.context is not ViewContext.HOME]
        followers, *allowed = await self.sources.store.read(
            self.sources.follows.followers_among(author_id, list(homes)),
            *(each.allowed([author_id]) for _, each in others),
        )
        home_ids = {author_id, *followers} & homes.keys()
        names = {name for (name, _), authors in zip(others, allowed, strict=True) if author_id in authors}
        return names | {homes[id] for id in home_ids}


def filter_posts(loaded: LoadedPosts, rights: ViewerRights, post_ids: Iterable[PostId]) -> list[VisiblePost]:
    """Return the posts that exist and that the viewer may see, in the order of `post_ids`."""
    posts = [post for post_id in post_ids if (post := loaded.posts.get(post_id)) is not None]
    boosts = [post for post in posts if post.boost_of is not None]
    if boosts or not rights.is_plain:
        return [visible for post in posts if (visible := filter_post(rights, post)) is not None]
    # On most pages only the author decides. This path saves 1 us for each post.
    if not rights.sees_every_allowed_post:
        author_of = rights.visible_author
        return [VisiblePost(post, author) for post in posts if (author := author_of(post)) is not None]
    authors, allowed_ids = loaded.authors, rights.allowed_ids
    return [
        VisiblePost(post, author)
        for post in posts
        if post.author_id in allowed_ids and (author := authors.get(post.author_id)) is not None and author.is_visible
    ]


def filter_post(rights: ViewerRights, post: Post) -> VisiblePost | None:
    """Return the post if the viewer may see it."""
    author, original = rights.visible_author(post), None
    if author is None or not rights.reads_language(post):
        return None
    if post.boost_of is None:
        if not rights.allows_reply(post):
            return None
    else:
        original = rights.visible_original(post)
        if original is None or not rights.is_first_appearance(post):
            return None
    matches = rights.matching_filters(post if original is None else original[0])
    if not matches:
        return VisiblePost(post, author, original)
    applied = rights.applied_filter(matches)
    is_hidden = applied is not None and applied.action == "hide"
    return None if is_hidden else VisiblePost(post, author, original, applied, matches)


def present(loaded: LoadedPosts, rights: ViewerRights, visible_posts: Sequence[VisiblePost]) -> list[HydratedPost]:
    """Return the posts with their counts and the viewer's reactions, ready for pages and JSON."""
    if not rights.is_plain or loaded.tallies or loaded.consents or loaded.previews:
        return [present_post(loaded, rights, visible) for visible in visible_posts]
    counts, viewer_id = loaded.counts, rights.viewer_id
    others = None if viewer_id is None else NO_ACTIONS
    return [
        HydratedPost(each.post, each.author, counts[each.post.id], OWN_POST if each.author.id == viewer_id else others)
        if each.original is None and each.post.in_reply_to is None
        else present_post(loaded, rights, each)
        for each in visible_posts
    ]


def present_post(loaded: LoadedPosts, rights: ViewerRights, visible: VisiblePost) -> HydratedPost:
    post, author = visible.original or (visible.post, visible.author)
    shown = HydratedPost(
        post,
        author,
        loaded.counts[post.id],
        _viewer_state(rights, post),
        None,
        visible.keyword_filter,
        _replied_author(loaded, post),
        rights.poll_state(post) if loaded.tallies else None,
        present_quote(loaded, rights, post) if loaded.consents else None,
        loaded.previews.get(post.id),
        visible.matching_filters,
        None if post.in_reply_to is None else rights.visible_parent(post),
    )
    if visible.original is None:
        return shown
    boost, booster, matches = visible.post, visible.author, visible.matching_filters
    return HydratedPost(
        boost, booster, shown.counts, shown.viewer, shown, visible.keyword_filter, matching_filters=matches
    )


def present_quote(loaded: LoadedPosts, rights: ViewerRights, post: Post) -> Quote | None:
    """Return the post that the post quotes, as the viewer sees it, or None if it quotes none."""
    if post.id not in loaded.consents:
        return None
    state, visible = rights.visible_quote(post)
    if visible is None:
        return Quote(state)
    quoted, author = visible
    poll = rights.poll_state(quoted) if loaded.tallies else None
    viewer, matches = _viewer_state(rights, quoted), rights.matching_filters(quoted)
    applied = rights.quoted_filter(post, quoted, matches) if matches else None
    counts = loaded.counts[quoted.id]
    inner_state = rights.visible_quote(quoted)[0] if quoted.id in loaded.consents else None
    entry = HydratedPost(quoted, author, counts, viewer, None, applied, poll=poll, matching_filters=matches)
    return Quote(state, entry, inner_state)


def _replied_author(loaded: LoadedPosts, post: Post) -> Author | None:
    """Return the author of the parent of a reply, if this account is visible."""
    author = loaded.authors.get(post.reply_to_author_id) if post.reply_to_author_id is not None else None
    return author if author is not None and author.is_visible else None


def _viewer_state(rights: ViewerRights, post: Post) -> ViewerState | None:
    relations = rights.relations
    if relations is None:
        return None
    own = post.author_id == relations.viewer_id
    addressed = not own and post.reply_to_author_id == relations.viewer_id
    if not (addressed or relations.has_states):
        return OWN_POST if own else NO_ACTIONS
    return ViewerState(
        own=own,
        liked=post.id in relations.liked,
        boosted=post.id in relations.boosted,
        bookmarked=post.id in relations.bookmarked,
        addressed=addressed,
        muted=post.thread_id in relations.muted_threads,
    )
