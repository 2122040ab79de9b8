"""Follows, requests and likes are notified even if the process dies before it writes the notification."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from tests.support.world import Person, World
from timelines.notifications.pending import OVERDUE_MS, PendingNotificationService
from timelines.posts.post import Post

KINDS = "follow", "request", "like"


class Died(BaseException):
    """The process dies here; no code of the site catches this exception."""


class Dying:
    """A notification service that dies before it writes."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        async def die(*args: Any, **told: Any) -> None:
            raise Died

        return die


def dying_services(services: Services) -> Services:
    dying = Services(services.store, services.clock, ServiceConfig())
    dying.pending_notifications.notifications = dying.reactions.notifications = Dying()  # type: ignore[assignment]
    return dying


class PendingNotificationScenario:
    """Bob performs an action that notifies Alice."""

    def __init__(self, services: Services, alice: Person, bob: Person, post: Post, kind: str) -> None:
        self.services, self.alice, self.bob, self.post, self.kind = services, alice, bob, post, kind
        self.now_ms = services.clock.now_ms()

    async def done(self) -> None:
        await self._done(Services(self.services.store, self.services.clock, ServiceConfig()))

    async def done_by_one_who_dies(self) -> None:
        with pytest.raises(Died):
            await self._done(dying_services(self.services))

    async def taken_back(self) -> None:
        if self.kind == "like":
            await self.services.reactions.unlike(account_id=self.bob.id, post_id=self.post.id)
        else:
            await self.bob.unfollows(self.alice)

    async def written(self) -> list[str]:
        """Return the kinds of Alice's stored notifications, visible or not."""
        _, found, _ = await self.services.repositories.notifications.read(self.alice.id, 1 << 53, 9)
        return [each.kind.name for each in found]

    @property
    def worker(self) -> PendingNotificationService:
        """Return the worker's service at a time when pending notifications are overdue."""
        clock = FixedClock(self.now_ms + 2 * OVERDUE_MS)
        return Services(self.services.store, clock, ServiceConfig()).pending_notifications

    async def _done(self, services: Services) -> None:
        if self.kind == "like":
            like = services.reactions.like
            await like(account_id=self.bob.id, post_id=self.post.id, now_ms=self.now_ms)
        else:
            follow = services.following.follow
            await follow(follower_id=self.bob.id, followed_id=self.alice.id, now_ms=self.now_ms)


@pytest.fixture(params=KINDS)
async def scene(world: World, services: Services, request: pytest.FixtureRequest) -> PendingNotificationScenario:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    if request.param == "request":
        await alice.locks()
    return PendingNotificationScenario(services, alice, bob, post, request.param)


async def test_a_worker_adds_the_notification_of_a_dead_process_once(scene: PendingNotificationScenario) -> None:
    await scene.done_by_one_who_dies()
    assert await scene.services.pending_notifications.deliver_overdue() == 0  # the process may still be writing it
    for _ in range(2):
        await scene.worker.deliver_overdue()
        assert await scene.written() == [scene.kind]


async def test_an_action_repeated_meanwhile_is_notified(scene: PendingNotificationScenario) -> None:
    await scene.done_by_one_who_dies()
    await scene.done()
    await scene.worker.deliver_overdue()
    assert await scene.written() == [scene.kind]


async def test_an_undone_action_is_not_notified(scene: PendingNotificationScenario) -> None:
    await scene.done_by_one_who_dies()
    await scene.taken_back()
    assert await scene.worker.deliver_overdue() == 1
    assert await scene.written() == []


async def test_a_written_notification_is_not_pending(scene: PendingNotificationScenario) -> None:
    await scene.done()
    assert await scene.written() == [scene.kind]
    assert await scene.worker.deliver_overdue() == 0
