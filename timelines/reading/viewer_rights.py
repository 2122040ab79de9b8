"""The rules of one viewer: they decide which of the loaded posts this viewer may see on one timeline.

Homes and lists show a post and its boosts only once within a day. A boost is hidden if the timeline already shows its
original, or one of the 50 boosts of the original directly before it, and that entry is at most 24 hours older. The rule
reads sources and no caches, so that paging and lost caches change nothing. If the earlier boost is deleted, the next
boost appears.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import structs

from accounts.domain import Author
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId, ms_from_id
from timelines.pages.page import PollState, QuoteState
from timelines.posts.poll_votes import Tally
from timelines.posts.post import FOLLOWERS, PUBLIC, Post, PostCounts
from timelines.previews.preview import LinkPreview
from timelines.visibility import rights
from timelines.visibility.filter import KeywordFilter, find_filters, strongest_filter


class ViewerContext(NamedTuple):
    """A viewer and the timeline that the viewer reads. `viewer_id` is None for visitors.

    `allowed` reads which authors the timeline may show. `replyable` reads the accounts to which replies are shown. If
    it is None, all replies are shown. PageRequest explains `shows_parents`.
    """

    viewer_id: AccountId | None
    context: rights.ViewContext
    allowed: rights.AllowedAuthors = rights.allow_all
    replyable: rights.AllowedAuthors | None = None
    shows_parents: bool = True


class LoadedPosts:
    """The loaded posts with their counts and authors. All viewers share this data."""

    __slots__ = "authors", "consents", "counts", "earlier_boosters", "links", "parents", "posts", "previews", "tallies"

    def __init__(self) -> None:
        self.posts: dict[PostId, Post] = {}
        self.parents: dict[PostId, Post] = {}
        """Parents of replies, without counts and without the rights of the timeline."""
        self.counts: dict[PostId, PostCounts] = {}
        self.authors: dict[AccountId, Author] = {}
        self.earlier_boosters: dict[PostId, list[AccountId]] = {}
        """The accounts that boosted the same post earlier, by boost id. Filled only if a timeline shows boosts once."""
        self.tallies: dict[PostId, Tally] = {}
        """The counts of the polls."""
        self.links: dict[PostId, str] = {}
        """The link of each post whose preview was read."""
        self.previews: dict[PostId, LinkPreview] = {}
        self.consents: dict[PostId, bool | None] = {}
        """For each quote, True if the quoted author consents, False if the author revoked the quote, else None."""

    def add(
        self, posts: dict[PostId, Post], counts: dict[PostId, PostCounts], authors: dict[AccountId, Author]
    ) -> None:
        if self.posts or self.authors:
            self.posts |= posts
            self.counts |= counts
            self.authors |= authors
        else:  # most pages call this once, so there is nothing to merge
            self.posts, self.counts, self.authors = posts, counts, authors


class ViewerRights:
    """Decides which of the loaded posts one viewer may see on one timeline."""

    def __init__(self, loaded: LoadedPosts, viewer: ViewerContext, now_ms: int) -> None:
        self.viewer_id, self.context, self.read_allowed, self.read_replyable, shows_parents = viewer
        self.shows_parents = shows_parents and self.context in rights.PARENT_CONTEXTS
        self.relations: rights.ViewerRelations | None = None
        self.allowed_ids: set[AccountId] = set()
        self.followed_ids: set[AccountId] = set()
        self.replyable_ids: set[AccountId] = set()
        self.languages: tuple[str, ...] = ()
        """The languages that the viewer reads on public timelines. Empty for all."""
        self.poll_choices: dict[PostId, int] = {}
        """The viewer's choices by post, one bit for each option."""
        self._loaded = loaded
        self._now_ms = now_ms
        self._visible_authors: dict[AccountId, Author | None] = {}

    # Loading

    def allow(self, author_ids: set[AccountId]) -> None:
        """Add authors that the timeline may show. On a home these are followed accounts and the viewer."""
        self.allowed_ids |= author_ids
        if self.context is rights.ViewContext.HOME:
            self.followed_ids |= author_ids

    def add_relations(self, relations: rights.ViewerRelations) -> None:
        self.relations = relations if self.relations is None else self.relations.merged_with(relations)

    def reset_cache(self) -> None:
        """Clear the cached results of `visible_author`. Call this after more data was loaded."""
        self._visible_authors.clear()

    # Rules

    @property
    def is_plain(self) -> bool:
        """Return whether only the author decides, because there are no filters, reactions or rules for replies."""
        relations = self.relations
        is_unrestricted = self.read_replyable is None and not self.languages
        return is_unrestricted and (relations is None or not (relations.filters or relations.has_states))

    @property
    def sees_every_allowed_post(self) -> bool:
        """Return whether the viewer sees all posts of allowed and visible authors. Boosts are not included."""
        return rights.sees_every_followed_post(self.relations, self.context)

    def visible_author(self, post: Post, *, is_original: bool = False) -> Author | None:
        """Return the author if the viewer may see the post. `is_original` is set if the post is shown by a boost."""
        if is_original or post.audience != PUBLIC or post.boost_of is not None:
            return self._find_visible_author(post, is_original=is_original)
        authors = self._visible_authors  # the result is the same for all public posts of an author
        if post.author_id not in authors:
            authors[post.author_id] = self._find_visible_author(post)
        return authors[post.author_id]

    def _find_visible_author(self, post: Post, *, is_original: bool = False) -> Author | None:
        author_id = post.author_id
        author = self._loaded.authors.get(author_id)
        if author is None or not (is_original or author_id in self.allowed_ids):
            return None
        follows = author_id in self.followed_ids
        return (
            author
            if rights.may_see(post, author, viewer=self.relations, follows=follows, context=self.context)
            else None
        )

    def could_see(self, tombstone: Post) -> bool:
        """Return whether the viewer or a visitor could see the post before its deletion.

        `tombstone` has the fields of the post that its tombstone keeps.
        """
        author, follows = self._loaded.authors.get(tombstone.author_id), tombstone.author_id in self.followed_ids
        if author is None or not rights.requires_follow(tombstone, author):
            return tombstone.audience != FOLLOWERS
        return rights.may_see(tombstone, author, viewer=self.relations, follows=follows, context=self.context)

    def visible_original(self, boost: Post) -> tuple[Post, Author] | None:
        """Return the original of a boost, and its author, if the viewer may see it on this timeline."""
        original = None if boost.boost_of is None else self._loaded.posts.get(boost.boost_of)
        author = None if original is None else self.visible_author(original, is_original=True)
        if original is None or author is None or original.boost_of is not None:
            return None
        return (original, author) if rights.may_show_boost(boost, author, self.relations, self.context) else None

    def allows_reply(self, post: Post) -> bool:
        """Return whether the rule for replies allows the post.

        It always allows posts that are no replies, replies of an author to the author's own posts, and replies to the
        viewer.
        """
        if self.read_replyable is None or post.in_reply_to is None:
            return True
        return post.reply_to_author_id in (post.author_id, self.viewer_id, *self.replyable_ids)

    def reads_language(self, post: Post) -> bool:
        """Return whether the viewer reads the language of the post, wrote it, or the post has no language."""
        language = post.extra.language
        return not self.languages or language is None or language in self.languages or post.author_id == self.viewer_id

    def matching_filters(self, post: Post) -> tuple[KeywordFilter, ...]:
        """Return the viewer's filters that match the post, also those of other places. Own posts match none."""
        relations = self.relations
        if relations is None or not relations.filters or post.author_id == self.viewer_id:
            return ()
        return find_filters(relations.filters, post.searchable_text, self._now_ms, post.id)

    def applied_filter(self, matches: tuple[KeywordFilter, ...]) -> KeywordFilter | None:
        """Return the filter among `matches` that folds or hides the post on this timeline."""
        return strongest_filter(matches, rights.FILTER_PLACE_BY_CONTEXT.get(self.context))

    def visible_quote(self, post: Post) -> tuple[QuoteState, tuple[Post, Author] | None]:
        """Return the state of a quote, and the quoted post and its author if the viewer may see them.

        API clients also get a post of an account that the viewer blocked or muted, to show it on demand.
        """
        quoted = self._loaded.posts.get(post.extra.quote_of or PostId(0))
        consent = self._loaded.consents.get(post.id)
        if quoted is None or consent is False:
            return "deleted" if quoted is None else "revoked", None
        author = self._loaded.authors.get(quoted.author_id)
        if author is None or not consent or quoted.boost_of is not None:
            return "unauthorized", None
        state: QuoteState = "accepted"
        viewer, follows = self.relations, quoted.author_id in self.followed_ids
        if viewer is not None:
            if author.id in viewer.blocks:
                state, viewer = "blocked_account", structs.replace(viewer, blocks=frozenset())
            elif author.id in viewer.muted and not self._opens_on_purpose(post, quoted):
                state = "muted_account"
        if not rights.may_see(quoted, author, viewer=viewer, follows=follows, context=rights.ViewContext.POST):
            return "unauthorized", None
        return state, (quoted, author)

    def visible_parent(self, reply: Post) -> Post | None:
        """Return the post that a reply to another account answers, if its line may be shown.

        No filter may match the post. The viewer must see it in a thread, or for a public timeline on this timeline.
        """
        if not self.shows_parents or reply.reply_to_author_id == reply.author_id:
            return None
        parent_id = reply.in_reply_to or PostId(0)
        parent = self._loaded.parents.get(parent_id) or self._loaded.posts.get(parent_id)
        author = None if parent is None else self._loaded.authors.get(parent.author_id)
        if parent is None or author is None or self.matching_filters(parent):
            return None
        follows = author.id in self.followed_ids
        context = self.context if self.context in rights.DISCOVERY_CONTEXTS else rights.ViewContext.THREAD
        return (
            parent if rights.may_see(parent, author, viewer=self.relations, follows=follows, context=context) else None
        )

    def quoted_filter(self, post: Post, quoted: Post, matches: tuple[KeywordFilter, ...]) -> KeywordFilter | None:
        """Return the filter among `matches` that hides a quoted post. Filters apply to quotes as in a thread."""
        return None if self._opens_on_purpose(post, quoted) else strongest_filter(matches, "thread")

    def _opens_on_purpose(self, post: Post, quoted: Post) -> bool:
        """Return whether the viewer opened a page that shows quotes of the author's own posts."""
        return self.context in rights.DELIBERATE_CONTEXTS and quoted.author_id == post.author_id

    def poll_state(self, post: Post) -> PollState | None:
        """Return the poll of the post as the viewer sees it, or None if the post has no poll.

        The results are shown to the author, to voters, and to everybody after the end.
        """
        poll, tally = post.extra.poll, self._loaded.tallies.get(post.id)
        if poll is None or tally is None:
            return None
        choices, is_over = self.poll_choices.get(post.id, 0), self._now_ms >= poll.ends_ms
        is_own = post.author_id == self.viewer_id
        numbers = range(len(poll.options))
        votes = tuple(tally.get(b"%d" % number, 0) for number in numbers)
        return PollState(
            tally.get(b"voters", 0),
            votes if is_over or is_own or choices else None,
            tuple(number for number in numbers if choices >> number & 1),
            is_over,
            may_vote=not (is_over or is_own or choices) and self.viewer_id is not None,
        )

    def is_first_appearance(self, boost: Post) -> bool:
        """Return whether the timeline did not show the boosted post within the day before this boost."""
        if self.context not in rights.FOLLOWED_CONTEXTS:
            return True
        earlier_boosters = self._loaded.earlier_boosters.get(boost.id)
        if earlier_boosters is None:
            return True
        return not self._showed_original(boost) and not self._showed_boost(boost, earlier_boosters)

    def _showed_original(self, boost: Post) -> bool:
        """Return whether the viewer's timeline shows the original itself, at most a day before the boost."""
        original = self._loaded.posts.get(boost.shown_id)
        return (
            original is not None
            and ms_from_id(boost.id) - ms_from_id(original.id) <= DAY_MS
            and self.visible_author(original) is not None
            and self.allows_reply(original)
        )

    def _showed_boost(self, boost: Post, booster_ids: Iterable[AccountId]) -> bool:
        """Return whether the viewer's timeline shows an earlier boost by one of `booster_ids`."""
        return any(
            self.visible_author(Post(boost.id, booster_id, "", boost_of=boost.boost_of)) is not None
            for booster_id in booster_ids
        )
