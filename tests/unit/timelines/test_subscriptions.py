"""A subscription that is to be repaired goes live again, whatever else ends at the same time."""

import asyncio

from socialsite.clock import FixedClock
from socialsite.ids import AccountId
from socialsite.web.socket_writer import TextFrame
from timelines.live.channels import Channel
from timelines.live.socket_registry import LiveSocket, SocketRegistry, Subscription
from timelines.live.subscriptions import SubscriptionManager
from timelines.pages.page import TimelinePage
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


class Outlet:
    is_closed = False

    def send(self, frame: TextFrame) -> None: ...
    def close(self, code: int) -> None: ...
    async def wait_until_drained(self) -> None: ...
    def detach(self) -> None: ...


class Live:
    async def rewind_ms(self, now_ms: int) -> int:
        return 60_000


async def nothing(**cut: int) -> TimelinePage:
    return TimelinePage((), None, None)


async def test_a_repair_begins_though_the_one_before_has_only_just_ended() -> None:
    """Its callback has not run yet: the subscription still knows the task that is done."""
    room = SocketRegistry()
    subscriber = SubscriptionManager(room, None, None, Live(), FixedClock(1_900_000_000_000))  # type: ignore[arg-type]
    found = Subscription(LiveSocket(Outlet(), AccountId(1), "ab", "en"), "public")
    room.add_subscription(found, Channel("public", None, nothing, ViewerContext(AccountId(1), ViewContext.PUBLIC)))
    found.resume(lambda post_id: False)
    found.task = asyncio.create_task(asyncio.sleep(0))
    await found.task
    await subscriber.replay_all()
    repair = found.task
    assert repair is not None
    await repair
    await asyncio.sleep(0)
    assert found.queue is None, "live again"
    assert found.task is None
