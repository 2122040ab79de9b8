"""A subscription that needs a replay becomes live again, even if another task ends at the same time."""

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


async def test_a_replay_starts_although_the_previous_one_has_just_ended() -> None:
    """The callback of the previous task has not run yet: the subscription still refers to that task."""
    room = SocketRegistry()
    subscriber = SubscriptionManager(room, None, None, Live(), FixedClock(1_900_000_000_000))  # type: ignore[arg-type]
    stream = Subscription(LiveSocket(Outlet(), AccountId(1), "ab", "en"), "public")
    room.add_subscription(stream, Channel("public", None, nothing, ViewerContext(AccountId(1), ViewContext.PUBLIC)))
    stream.resume(lambda post_id: False)
    stream.task = asyncio.create_task(asyncio.sleep(0))
    await stream.task
    await subscriber.replay_all()
    repair = stream.task
    assert repair is not None
    await repair
    await asyncio.sleep(0)
    assert stream.queue is None, "live again"
    assert stream.task is None
