"""Which checks hold for which keys."""

import re
from collections.abc import Iterable, Mapping

from socialsite.store import Key
from timelines.services.auditing.accounts import AccountChecks
from timelines.services.auditing.cached import CachedChecks
from timelines.services.auditing.edges import EdgeChecks
from timelines.services.auditing.findings import Check
from timelines.services.auditing.lists import ListChecks
from timelines.services.auditing.posts import PostChecks
from timelines.services.auditing.profiles import ProfileChecks, PublicChecks
from timelines.services.auditing.repairs import Places
from timelines.services.auditing.sessions import SessionChecks
from timelines.services.auditing.tags import TagChecks

CACHES = re.compile(
    r"timelines:\{\d+\}:home|timelines:\{l\d+\}:posts|timelines:\{[0-9a-f]{32}\}:tag|public:\{public\}:posts"
)
"""Keys that may be deleted at any time: the repair of one that cannot be read at all."""


class Families:
    """Patterns of keys and their checks."""

    def __init__(self, places: Places, public: PublicChecks) -> None:
        accounts, sessions, posts = AccountChecks(places), SessionChecks(places), PostChecks(places)
        profiles, edges = ProfileChecks(places), EdgeChecks(places)
        lists, cached, tags = ListChecks(places), CachedChecks(places), TagChecks(places)
        self._checks: tuple[tuple[re.Pattern[str], Check], ...] = tuple(
            (re.compile(pattern), check)
            for pattern, check in (
                (r"follows:\{p\d+\}:following:\d+", edges.following),
                (r"follows:\{p\d+\}:followers:\d+", edges.followers),
                (r"follows:\{p\d+\}:members:\d+", edges.members),
                (r"follows:\{p\d+\}:listed:\d+", edges.listed),
                (r"posts:\{\d+\}:post", posts.posts),
                (r"posts:\{\d+\}:replies", posts.replies),
                (r"posts:\{a\d+\}:idempotency:[0-9a-f]+", posts.idempotency),
                (r"accounts:\{\d+\}:account", accounts.accounts),
                (r"accounts:\{[0-9a-f]{32}\}:handle", accounts.handles),
                (r"timelines:\{(\d+\}:profile|q\d+\}:profile:\d+)", profiles.profiles),
                (r"timelines:\{q\d+\}:profile:\d+", profiles.profiles),
                (r"timelines:\{\d+\}:home", cached.homes),
                (r"timelines:\{[0-9a-f]{32}\}:tag", tags.tags),
                (r"timelines:\{l\d+\}:posts", cached.list_timelines),
                (r"timelines:\{l\d+\}:list", lists.lists),
                (r"timelines:\{\d+\}:lists", lists.indexes),
                (r"sessions:\{\d+\}:session:[0-9a-f]{64}", sessions.sessions),
                (r"sessions:\{\d+\}:index", sessions.indexes),
                (r"public:\{public\}:posts", public.public),
            )
        )

    def sorted(self, keys: Iterable[Key]) -> Mapping[Check, list[Key]]:
        """The keys by what they are to be held against; others are left out."""
        groups: dict[Check, list[Key]] = {}
        for key in dict.fromkeys(keys):
            if check := self._check_of(key):
                groups.setdefault(check, []).append(key)
        return groups

    def _check_of(self, key: Key) -> Check | None:
        return next((check for pattern, check in self._checks if pattern.fullmatch(key)), None)
