"""Protocols of services and repositories, for features that cannot import them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from accounts.domain import Author
from socialsite.ids import AccountId
from socialsite.store import Read
from timelines.posts.post import Post

Value = TypeVar("Value")


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
    """NotificationService. Withdrawn follows need no call: notifications of them are hidden when read."""

    async def followed(self, *, follower_id: AccountId, followed_id: AccountId) -> None: ...

    async def follow_requested(self, *, requester_id: AccountId, target_id: AccountId) -> None:
        """`requester_id` requests to follow the private account `target_id`."""
        ...


class PostMeter(Protocol):
    """Counts events of this process (socialsite/analytics)."""

    def count_post(self, author_id: int) -> None:
        """Called by the process that wrote the post, which is the web process or a worker, so it counts once."""
        ...

    def count_deliveries(self, entries: int, latency_ms: int) -> None:
        """`entries` timeline entries were written, `latency_ms` after the post was published."""
        ...


class ReactionNotifier(Protocol):
    """NotificationService. Each call may be repeated."""

    async def liked(self, *, account_id: AccountId, post: Post, now_ms: int) -> None: ...

    async def boosted(self, *, boost: Post) -> None: ...


class SharedCache(Protocol):
    """The signature of socialsite.web.cache.get_or_compute."""

    async def __call__(
        self, key: str, value_type: type[Value], ttl_s: float, compute: Callable[[], Awaitable[Value]]
    ) -> Value: ...
