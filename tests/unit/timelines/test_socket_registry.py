"""What waits for a replay, and what never comes."""

from socialsite.ids import AccountId, PostId
from socialsite.web.socket_writer import TextFrame
from timelines.live.channels import Channel
from timelines.live.socket_registry import (
    MAX_QUEUED_ENTRIES,
    MAX_REMEMBERED_DELETIONS,
    MAX_REMEMBERED_SENT_POSTS,
    LiveSocket,
    SocketRegistry,
    Subscription,
)
from timelines.pages.page import TimelinePage
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


class Seen:
    """An outlet that remembers."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.is_closed = False

    def send(self, frame: TextFrame) -> None:
        self.frames.append(frame.text)

    def close(self, code: int) -> None: ...
    async def wait_until_drained(self) -> None: ...
    def detach(self) -> None: ...


def subscription() -> tuple[Subscription, Seen]:
    seen = Seen()
    return Subscription(LiveSocket(seen, AccountId(1), None, "en"), "public"), seen


async def nothing(**cut: int | None) -> TimelinePage:
    return TimelinePage((), None, None)


def offer(found: Subscription, *ids: int) -> None:
    for number in ids:
        found.send_or_queue(PostId(number), TextFrame(b"%d" % number))


def test_entries_wait_for_the_replay_and_none_comes_twice() -> None:
    found, seen = subscription()
    offer(found, 5, 6, 7)
    assert seen.frames == []
    found.resume(lambda post_id: post_id == 5)
    offer(found, 8)
    assert seen.frames == [b"6", b"7", b"8"]
    assert found.last_id == 8


def test_an_entry_deleted_while_it_waited_never_comes() -> None:
    room = SocketRegistry()
    found, seen = subscription()
    offer(found, 5, 6)
    room.mark_deleted(PostId(5))
    found.resume(room.is_deleted)
    assert seen.frames == [b"6"]


def test_a_late_entry_does_not_move_the_cursor_back() -> None:
    found, _ = subscription()
    found.resume(lambda post_id: False)
    offer(found, 9, 3)
    assert found.last_id == 9


def test_too_much_waiting_is_replayed_again_instead() -> None:
    found, seen = subscription()
    offer(found, *range(1, MAX_QUEUED_ENTRIES + 2))
    assert found.needs_replay
    assert len(found.queue or ()) <= MAX_QUEUED_ENTRIES
    assert seen.frames == []


def test_a_second_loss_during_a_replay_asks_for_another() -> None:
    found, _ = subscription()
    found.pause()
    assert found.needs_replay
    found.needs_replay = False
    found.resume(lambda post_id: False)
    found.pause()
    assert found.queue is not None
    assert not found.needs_replay


def test_deletions_remembered_are_bounded() -> None:
    room = SocketRegistry()
    for number in range(MAX_REMEMBERED_DELETIONS + 10):
        room.mark_deleted(PostId(number))
    assert not room.is_deleted(PostId(9))
    assert room.is_deleted(PostId(10))
    assert room.is_deleted(PostId(MAX_REMEMBERED_DELETIONS + 9))


def test_a_room_that_everybody_left_keeps_nothing() -> None:
    room = SocketRegistry()
    socket = LiveSocket(Seen(), AccountId(1), "ab", "en")
    room.add(socket)
    room.set_watched_posts(socket, [PostId(1), PostId(2)])
    assert room.sockets_watching(PostId(2)) == [socket]
    room.set_watched_posts(socket, [PostId(3)])
    assert room.sockets_watching(PostId(2)) == []
    assert room.sockets_of_account(AccountId(1)) == [socket]
    room.remove(socket)
    assert not room.sockets
    assert not room._sockets_by_account
    assert not room._sockets_by_watched_post
    assert not room._version_by_account


def test_what_waits_is_looked_at_again_when_a_relation_changes() -> None:
    room = SocketRegistry()
    found, seen = subscription()
    found.socket.subscriptions["public"] = found
    room.add(found.socket)
    offer(found, 5)
    moment = room.relation_version
    room.invalidate_relations(AccountId(1), AccountId(2))
    assert found.needs_replay
    found.resume(lambda post_id: False)
    assert seen.frames == []
    assert room.have_relations_changed(AccountId(1), moment)
    assert not room.have_relations_changed(AccountId(1), room.relation_version)
    assert not room.have_relations_changed(AccountId(2), moment)  # nobody of theirs is here
    assert not room.have_relations_changed(None, moment)


def test_a_change_is_forgotten_with_the_last_socket() -> None:
    room = SocketRegistry()
    socket = LiveSocket(Seen(), AccountId(1), "ab", "en")
    room.add(socket)
    room.invalidate_relations(AccountId(1))
    room.remove(socket)
    assert not room._version_by_account


def test_counts_follow_the_entries_that_were_sent_lately() -> None:
    room, (home, _) = SocketRegistry(), subscription()
    room.add_subscription(home, Channel("home:1", None, nothing, ViewerContext(AccountId(1), ViewContext.HOME)))
    for number in range(1, MAX_REMEMBERED_SENT_POSTS + 2):
        room.record_sent(PostId(number), ["home:1"])
    assert room.subscriptions_showing(PostId(MAX_REMEMBERED_SENT_POSTS + 1)) == [home]
    assert room.subscriptions_showing(PostId(1)) == []
    room.remove_subscription(home)
    assert room.subscriptions_showing(PostId(MAX_REMEMBERED_SENT_POSTS + 1)) == []
