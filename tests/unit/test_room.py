"""What waits for a replay, and what never comes."""

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.web.socket_writer import Frame
from timelines.live.channels import OpenTimeline
from timelines.live.socket_registry import GONE_CAP, HELD_CAP, SENT_CAP, Room, Socket, Subscription
from timelines.pages.page import TimelinePage
from timelines.reading.batch_hydration import Seat
from timelines.visibility.rights import Place


class Seen:
    """An outlet that remembers."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.is_closed = False

    def push(self, frame: Frame) -> None:
        self.frames.append(frame.text)

    def close(self, code: int) -> None: ...
    async def drained(self) -> None: ...
    def release(self) -> None: ...


def subscription() -> tuple[Subscription, Seen]:
    seen = Seen()
    return Subscription(Socket(seen, AccountId(1), None, "en"), "public"), seen


async def nothing(**cut: int | None) -> TimelinePage:
    return TimelinePage((), None, None)


def offer(found: Subscription, *ids: int) -> None:
    for number in ids:
        found.offer(PostId(number), Frame(b"%d" % number))


def test_entries_wait_for_the_replay_and_none_comes_twice() -> None:
    found, seen = subscription()
    offer(found, 5, 6, 7)
    assert seen.frames == []
    found.flow(lambda post_id: post_id == 5)
    offer(found, 8)
    assert seen.frames == [b"6", b"7", b"8"]
    assert found.last == 8


def test_an_entry_deleted_while_it_waited_never_comes() -> None:
    room = Room()
    found, seen = subscription()
    offer(found, 5, 6)
    room.lose(PostId(5))
    found.flow(room.is_gone)
    assert seen.frames == [b"6"]


def test_a_late_entry_does_not_move_the_cursor_back() -> None:
    found, _ = subscription()
    found.flow(lambda post_id: False)
    offer(found, 9, 3)
    assert found.last == 9


def test_too_much_waiting_is_replayed_again_instead() -> None:
    found, seen = subscription()
    offer(found, *range(1, HELD_CAP + 2))
    assert found.replay_again
    assert len(found.held or ()) <= HELD_CAP
    assert seen.frames == []


def test_a_second_loss_during_a_replay_asks_for_another() -> None:
    found, _ = subscription()
    found.hold()
    assert found.replay_again
    found.replay_again = False
    found.flow(lambda post_id: False)
    found.hold()
    assert found.held is not None
    assert not found.replay_again


def test_deletions_remembered_are_bounded() -> None:
    room = Room()
    for number in range(GONE_CAP + 10):
        room.lose(PostId(number))
    assert not room.is_gone(PostId(9))
    assert room.is_gone(PostId(10))
    assert room.is_gone(PostId(GONE_CAP + 9))


def test_a_room_that_everybody_left_keeps_nothing() -> None:
    room = Room()
    socket = Socket(Seen(), AccountId(1), "ab", "en")
    room.enter(socket)
    room.watch(socket, [PostId(1), PostId(2)])
    assert room.watching(PostId(2)) == [socket]
    room.watch(socket, [PostId(3)])
    assert room.watching(PostId(2)) == []
    assert room.of_account(AccountId(1)) == [socket]
    room.leave(socket)
    assert not room.sockets
    assert not room._by_account
    assert not room._by_watched
    assert not room._changed_at


def test_what_waits_is_looked_at_again_when_a_relation_changes() -> None:
    room = Room()
    found, seen = subscription()
    found.socket.subscriptions["public"] = found
    room.enter(found.socket)
    offer(found, 5)
    moment = room.moment
    room.change_relation(AccountId(1), AccountId(2))
    assert found.replay_again
    found.flow(lambda post_id: False)
    assert seen.frames == []
    assert room.has_changed(AccountId(1), moment)
    assert not room.has_changed(AccountId(1), room.moment)
    assert not room.has_changed(AccountId(2), moment)  # nobody of theirs is here
    assert not room.has_changed(None, moment)


def test_a_change_is_forgotten_with_the_last_socket() -> None:
    room = Room()
    socket = Socket(Seen(), AccountId(1), "ab", "en")
    room.enter(socket)
    room.change_relation(AccountId(1))
    room.leave(socket)
    assert not room._changed_at


def test_counts_follow_the_entries_that_were_sent_lately() -> None:
    room, (home, _) = Room(), subscription()
    room.listen(home, OpenTimeline("home:1", None, nothing, Seat(AccountId(1), Place.HOME)))
    for number in range(1, SENT_CAP + 2):
        room.note_sent(PostId(number), ["home:1"])
    assert room.shown_on(PostId(SENT_CAP + 1)) == [home]
    assert room.shown_on(PostId(1)) == []
    room.forget(home)
    assert room.shown_on(PostId(SENT_CAP + 1)) == []
