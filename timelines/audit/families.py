"""Which checks hold for which keys."""

import re
from collections.abc import Iterable, Mapping

from socialsite.store import Key
from timelines.audit.accounts import AccountChecks
from timelines.audit.cached import CachedChecks
from timelines.audit.discrepancy import Check
from timelines.audit.edges import EdgeChecks
from timelines.audit.lists import ListChecks
from timelines.audit.mirrors import MirrorChecks
from timelines.audit.notifications import NoticeChecks
from timelines.audit.posts import PostChecks
from timelines.audit.profiles import ProfileChecks, PublicChecks
from timelines.audit.reactions import ReactionChecks
from timelines.audit.repairs import Places
from timelines.audit.sessions import SessionChecks
from timelines.audit.tags import TagChecks
from timelines.audit.types import TypeChecks

Family = tuple[str, str, Check]
"""Pattern of its keys, their type, what they are held against."""

TYPE_ALONE = (
    (r"accounts:\{ids\}:accounts|timelines:\{ids\}:lists", "string"),
    (r"posts:\{[0-9a-f]+\}:source|limits:.*", "string"),
    (r"(posts|accounts):\{\d+\}:totals|series:\{s\d+\}:.*", "hash"),
    (r"jobs:\{audit\}:drift|series:\{b\d+\}:(buffer|batch):.*", "hash"),
    (r"timelines:\{\d+\}:notified", "string"),
    (r"timelines:\{\d+\}:(filters|position|preferences)", "hash"),
    (r"timelines:\{\d+\}:exclusive", "set"),
    (r"timelines:\{\d+\}:(bookmarks|mutes|quieted|tags)|series:\{trends\}:.*", "zset"),
    (r"posts:\{\d+\}:gone|timelines:\{pulled\}:authors", "zset"),
    (r"timelines:\{graph\}:ranks|series:\{b\d+\}:(pending|taken)", "zset"),
    (r"jobs:\{outbox\}:(stream|dead)|jobs:\{audit\}:trail", "stream"),
)
"""Nothing else tells what stands in these."""


class Families:
    """Patterns of keys, the types they have, and their checks."""

    def __init__(self, places: Places, public: PublicChecks) -> None:
        accounts = AccountChecks(places)
        self.types = TypeChecks(places, accounts)
        only = {kind: self.types.only(kind) for kind in {kind for _, kind in TYPE_ALONE}}
        families = (
            *_of_posts(PostChecks(places), ReactionChecks(places), NoticeChecks(places)),
            *_of_relations(EdgeChecks(places), MirrorChecks(places)),
            *_of_people(accounts, SessionChecks(places)),
            *_of_timelines(ProfileChecks(places), CachedChecks(places), TagChecks(places), public),
            *_of_lists(ListChecks(places)),
            *((pattern, kind, only[kind]) for pattern, kind in TYPE_ALONE),
        )
        self._checks = tuple((re.compile(pattern), kind, check) for pattern, kind, check in families)

    def sorted(self, keys: Iterable[Key]) -> Mapping[Check, list[Key]]:
        """The keys by what they are to be held against; others are left out."""
        groups: dict[Check, list[Key]] = {}
        for key in dict.fromkeys(keys):
            for pattern, _, check in self._checks:
                if pattern.fullmatch(key):
                    groups.setdefault(check, []).append(key)
                    break
        return groups

    def type_of(self, key: Key) -> str:
        """Of a key that `sorted` knows."""
        return next(kind for pattern, kind, _ in self._checks if pattern.fullmatch(key))


def _of_people(accounts: AccountChecks, sessions: SessionChecks) -> tuple[Family, ...]:
    return (
        (r"accounts:\{\d+\}:account", "hash", accounts.accounts),
        (r"accounts:\{[0-9a-f]{32}\}:handle", "string", accounts.handles),
        (r"sessions:\{\d+\}:session:[0-9a-f]{64}", "string", sessions.sessions),
        (r"sessions:\{\d+\}:index", "zset", sessions.indexes),
    )


def _of_relations(edges: EdgeChecks, mirrors: MirrorChecks) -> tuple[Family, ...]:
    return (
        (r"follows:\{p\d+\}:following:\d+", "zset", edges.following),
        (r"follows:\{p\d+\}:followers:\d+", "zset", edges.followers),
        (r"follows:\{p\d+\}:members:\d+", "zset", edges.members),
        (r"follows:\{p\d+\}:listed:\d+", "zset", edges.listed),
        (r"timelines:\{\d+\}:blocks", "zset", mirrors.blocks),
        (r"timelines:\{\d+\}:blockers", "zset", mirrors.blocked_by),
        (r"timelines:\{\d+\}:requests", "zset", mirrors.requests),
        (r"timelines:\{\d+\}:requested", "zset", mirrors.requested),
    )


def _of_posts(posts: PostChecks, reactions: ReactionChecks, notices: NoticeChecks) -> tuple[Family, ...]:
    return (
        (r"posts:\{\d+\}:post", "string", posts.posts),
        (r"posts:\{\d+\}:replies", "zset", posts.replies),
        (r"posts:\{a\d+\}:idempotency:[0-9a-f]+", "string", posts.idempotency),
        (r"posts:\{\d+\}:counts", "string", reactions.counts),
        (r"posts:\{\d+\}:likes", "zset", reactions.likes),
        (r"posts:\{\d+\}:boosts", "zset", reactions.boosts),
        (r"posts:\{\d+\}:fading", "zset", reactions.fading),
        (r"timelines:\{\d+\}:liked", "zset", reactions.liked),
        (r"timelines:\{\d+\}:boosted", "zset", reactions.boosted),
        (r"timelines:\{\d+\}:notifications", "zset", notices.notifications),
    )


def _of_timelines(
    profiles: ProfileChecks, cached: CachedChecks, tags: TagChecks, public: PublicChecks
) -> tuple[Family, ...]:
    return (
        (r"timelines:\{(\d+\}:profile|q\d+\}:profile:\d+)", "zset", profiles.profiles),
        (r"timelines:\{\d+\}:home", "list", cached.homes),
        (r"timelines:\{l\d+\}:posts", "list", cached.list_timelines),
        (r"timelines:\{[0-9a-f]{32}\}:tag", "zset", tags.tags),
        (r"public:\{public\}:posts", "zset", public.public),
    )


def _of_lists(lists: ListChecks) -> tuple[Family, ...]:
    return (
        (r"timelines:\{l\d+\}:list", "hash", lists.lists),
        (r"timelines:\{\d+\}:lists", "zset", lists.indexes),
    )
