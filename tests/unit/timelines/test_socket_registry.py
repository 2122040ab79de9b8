"""Entries that wait for a replay, entries that are never sent, and the bounds of SocketRegistry."""

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
    """A socket writer that records its frames."""

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


def test_entries_wait_for_the_replay_and_are_sent_once() -> None:
    stream, seen = subscription()
    offer(stream, 5, 6, 7)
    assert seen.frames == []
    stream.resume(lambda post_id: post_id == 5)
    offer(stream, 8)
    assert seen.frames == [b"6", b"7", b"8"]
    assert stream.last_id == 8


def test_an_entry_deleted_during_the_replay_is_not_sent() -> None:
    room = SocketRegistry()
    stream, seen = subscription()
    offer(stream, 5, 6)
    room.mark_deleted(PostId(5))
    stream.resume(room.is_deleted)
    assert seen.frames == [b"6"]


def test_a_late_entry_does_not_move_the_cursor_back() -> None:
    stream, _ = subscription()
    stream.resume(lambda post_id: False)
    offer(stream, 9, 3)
    assert stream.last_id == 9


def test_a_full_queue_causes_another_replay() -> None:
    stream, seen = subscription()
    offer(stream, *range(1, MAX_QUEUED_ENTRIES + 2))
    assert stream.needs_replay
    assert len(stream.queue or ()) <= MAX_QUEUED_ENTRIES
    assert seen.frames == []


def test_a_second_loss_during_a_replay_causes_another_replay() -> None:
    stream, _ = subscription()
    stream.pause()
    assert stream.needs_replay
    stream.needs_replay = False
    stream.resume(lambda post_id: False)
    stream.pause()
    assert stream.queue is not None
    assert not stream.needs_replay


def test_the_number_of_remembered_deletions_is_limited() -> None:
    room = SocketRegistry()
    for number in range(MAX_REMEMBERED_DELETIONS + 10):
        room.mark_deleted(PostId(number))
    assert not room.is_deleted(PostId(9))
    assert room.is_deleted(PostId(10))
    assert room.is_deleted(PostId(MAX_REMEMBERED_DELETIONS + 9))


def test_a_registry_without_sockets_is_empty() -> None:
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


def test_queued_entries_are_replayed_after_a_relation_changes() -> None:
    room = SocketRegistry()
    stream, seen = subscription()
    stream.socket.subscriptions["public"] = stream
    room.add(stream.socket)
    offer(stream, 5)
    moment = room.relation_version
    room.invalidate_relations(AccountId(1), AccountId(2))
    assert stream.needs_replay
    stream.resume(lambda post_id: False)
    assert seen.frames == []
    assert room.have_relations_changed(AccountId(1), moment)
    assert not room.have_relations_changed(AccountId(1), room.relation_version)
    assert not room.have_relations_changed(AccountId(2), moment)  # that account has no socket here
    assert not room.have_relations_changed(None, moment)


def test_the_relation_version_is_deleted_with_the_last_socket() -> None:
    room = SocketRegistry()
    socket = LiveSocket(Seen(), AccountId(1), "ab", "en")
    room.add(socket)
    room.invalidate_relations(AccountId(1))
    room.remove(socket)
    assert not room._version_by_account


def test_counts_are_sent_for_recently_sent_entries() -> None:
    room, (home, _) = SocketRegistry(), subscription()
    room.add_subscription(home, Channel("home:1", None, nothing, ViewerContext(AccountId(1), ViewContext.HOME)))
    for number in range(1, MAX_REMEMBERED_SENT_POSTS + 2):
        room.record_sent(PostId(number), ["home:1"])
    assert room.subscriptions_showing(PostId(MAX_REMEMBERED_SENT_POSTS + 1)) == [home]
    assert room.subscriptions_showing(PostId(1)) == []
    room.remove_subscription(home)
    assert room.subscriptions_showing(PostId(MAX_REMEMBERED_SENT_POSTS + 1)) == []
