"""Follows, requests and likes are told of even where the process that took them dies before it says so."""

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
    """The process ends here: nothing of ours catches it."""


class Dying:
    """Notifications that a process does not live to write."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        async def die(**told: Any) -> None:
            raise Died

        return die


class DyingServices(Services):
    notifications = Dying()  # type: ignore[assignment]


class PendingNotificationScenario:
    """bob does something that alice is told of."""

    def __init__(self, services: Services, alice: Person, bob: Person, post: Post, kind: str) -> None:
        self.services, self.alice, self.bob, self.post, self.kind = services, alice, bob, post, kind
        self.now_ms = services.clock.now_ms()

    async def done(self) -> None:
        await self._done(Services(self.services.store, self.services.clock, ServiceConfig()))

    async def done_by_one_who_dies(self) -> None:
        with pytest.raises(Died):
            await self._done(DyingServices(self.services.store, self.services.clock, ServiceConfig()))

    async def taken_back(self) -> None:
        if self.kind == "like":
            await self.services.reactions.unlike(account_id=self.bob.id, post_id=self.post.id)
        else:
            await self.bob.unfollows(self.alice)

    async def written(self) -> list[str]:
        """What stands among alice's notifications, seen or not."""
        _, found, _ = await self.services.repositories.notifications.read(self.alice.id, 1 << 53, 9)
        return [each.kind for each in found]

    @property
    def worker(self) -> PendingNotificationService:
        """Its turn once what is owed now is overdue."""
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


async def test_what_a_dead_process_did_not_tell_a_worker_tells_once(
    scene: PendingNotificationScenario,
) -> None:
    await scene.done_by_one_who_dies()
    assert await scene.services.pending_notifications.deliver_overdue() == 0  # the process may be at it yet
    for _ in range(2):
        await scene.worker.deliver_overdue()
        assert await scene.written() == [scene.kind]


async def test_what_is_repeated_meanwhile_is_told_all_the_same(scene: PendingNotificationScenario) -> None:
    await scene.done_by_one_who_dies()
    await scene.done()
    await scene.worker.deliver_overdue()
    assert await scene.written() == [scene.kind]


async def test_what_was_taken_back_is_not_told(scene: PendingNotificationScenario) -> None:
    await scene.done_by_one_who_dies()
    await scene.taken_back()
    assert await scene.worker.deliver_overdue() == 1
    assert await scene.written() == []


async def test_what_was_told_is_not_owed(scene: PendingNotificationScenario) -> None:
    await scene.done()
    assert await scene.written() == [scene.kind]
    assert await scene.worker.deliver_overdue() == 0
