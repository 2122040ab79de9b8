"""What the services of follows and lists ask of their neighbours, and no more."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from accounts.domain import Author
from socialsite.ids import AccountId
from socialsite.store import Read
from timelines.posts.post import Post


class Authors(Protocol):
    """AccountService."""

    async def find_authors(self, ids: Iterable[AccountId]) -> Mapping[AccountId, Author]: ...


class AuthorReads(Protocol):
    """AccountRepository."""

    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]: ...


class TimelineCache(Protocol):
    """CachedTimelines: owners are account ids for home timelines, list ids for list timelines."""

    async def invalidate(self, owner: int) -> object: ...


class FollowNotifier(Protocol):
    """NotificationService, for whoever takes follows. What is taken back needs no word: it is looked at."""

    async def followed(self, *, follower_id: AccountId, followed_id: AccountId) -> None: ...

    async def follow_requested(self, *, requester_id: AccountId, target_id: AccountId) -> None:
        """`requester_id` wants to follow a private account."""
        ...


class PostMeter(Protocol):
    """The meter of this process (socialsite/statistics)."""

    def count_post(self, author_id: int) -> None:
        """Told by whoever wrote the post: the publishing process or the worker, so it counts once."""
        ...

    def count_deliveries(self, entries: int, latency_ms: int) -> None:
        """`entries` reached their timelines, `late_ms` after the post was published."""
        ...


class ReactionNotifier(Protocol):
    """Notifications of reactions. Each may be told any number of times, also of what it knows already."""

    async def liked(self, *, account_id: AccountId, post: Post, now_ms: int) -> None: ...

    async def boosted(self, *, boost: Post) -> None: ...
