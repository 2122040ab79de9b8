"""When an alert begins and ends, and how often it sends a message."""

from socialsite.alerts.board import NAMES, Board, Finding
from socialsite.alerts.messages import SENTENCES, TITLES, describe
from socialsite.clock import DAY_MS

MINUTE_MS = 60_000
FULL = Finding(1, "/media")


def tell(board: Board, results: list[Finding | None], start_ms: int = MINUTE_MS) -> tuple[Board, list[str]]:
    """Return the board after checks of the disk, one per minute, and the kinds of messages of each check."""
    told = []
    for number, finding in enumerate(results):
        board, events = board.advance({"disk": finding}, start_ms + number * MINUTE_MS)
        told.append(",".join(event.kind for event in events))
    return board, told


def test_an_alert_begins_with_the_second_check_and_one_message() -> None:
    board, told = tell(Board(), [FULL, FULL, FULL, FULL])
    assert told == ["", "begin", "", ""]
    assert board.active["disk"].since_ms == MINUTE_MS


def test_an_alert_ends_after_two_checks_without_it_and_with_one_message() -> None:
    board, told = tell(Board(), [FULL, FULL, None, FULL, None, None, None])
    assert told == ["", "begin", "", "", "", "end", ""]
    assert not board.alerts
    assert [name for name, _end_ms in board.past] == ["disk"]


def test_a_single_failed_check_sends_no_message() -> None:
    assert tell(Board(), [FULL, None, FULL, None]) == (Board(started_ms=MINUTE_MS), ["", "", "", ""])


def test_a_lasting_alert_sends_one_message_a_day() -> None:
    board, _ = tell(Board(), [FULL, FULL])
    board, told = tell(board, [FULL, FULL], start_ms=2 * MINUTE_MS + DAY_MS)
    assert told == ["remind", ""]
    assert tell(board, [None] * 2, start_ms=3 * DAY_MS)[1] == ["", "end"]


def test_an_alert_that_begins_and_ends_all_day_fills_no_mailbox() -> None:
    board, told = tell(Board(), [FULL, FULL, None, None] * 360)
    assert sum(map(bool, told)) <= 6, "the mails of a day are limited, and other alerts need some of them"
    assert "disk" in board.active
    board, told = tell(board, [None] * 30, start_ms=DAY_MS + 2 * MINUTE_MS)
    assert told.count("end") == 1


def test_a_clock_that_was_ahead_delays_no_reminder() -> None:
    board, _ = tell(Board(), [FULL, FULL], start_ms=400 * DAY_MS)
    assert tell(board, [FULL, FULL])[1] == ["remind", ""]


def test_a_check_that_cannot_be_made_changes_nothing() -> None:
    board, _ = tell(Board(), [FULL, FULL])
    assert board.advance({}, DAY_MS) == (board, [])
    assert board.advance({"store": None}, DAY_MS) == (board, [])


def test_an_ended_alert_is_forgotten_after_a_day() -> None:
    board, _ = tell(Board(), [FULL, FULL, None, None])
    assert board.past
    assert not tell(board, [None], start_ms=DAY_MS + 5 * MINUTE_MS)[0].past


def test_every_alert_has_a_title_and_a_sentence() -> None:
    assert set(TITLES) == set(SENTENCES) == set(NAMES)
    for name in NAMES:
        assert "%(" not in describe(name, Finding(2, "x"))
