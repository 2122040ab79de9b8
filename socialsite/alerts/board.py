"""Alerts as values: what is wrong with the site, since when, and whether staff got a message."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from socialsite import keys
from socialsite.clock import DAY_MS
from socialsite.store import Key, Repository, load_script

NAMES = (
    "store", "persistence", "memory", "replication", "disk", "backup", "certificate", "workers", "queues",
    "dead_letters", "mails", "integrity", "reports", "appeals",
)  # fmt: skip
REMIND_AFTER_MS = DAY_MS
CLEAR_STEP_MS = 600_000
"""The time without a fault after which an alert ends that ended twice within a day. Each further end adds this time.

So an alert that begins and ends often does not use up the mails of a day."""
SET_SCRIPT = load_script("set_value.lua", __package__)
EventKind = Literal["begin", "remind", "end"]


class Finding(msgspec.Struct, frozen=True, array_like=True):
    """The result of a check: a number, and the names of affected things, such as addresses of servers."""

    count: int = 1
    subject: str = ""


class Alert(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault. `since_ms` is the time of the first check that found it, `found_ms` of the last one.

    `told_ms` is the time of the last message or 0, `clear_ms` of the first check that no longer found it or 0.
    """

    since_ms: int
    finding: Finding
    told_ms: int = 0
    clear_ms: int = 0
    found_ms: int = 0


class Event(NamedTuple):
    """A message to staff about an alert. `at_ms` is the same if the check is repeated."""

    name: str
    kind: EventKind
    alert: Alert
    at_ms: int


class Board(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of all alerts. `started_ms` is the time of the first check of the site."""

    started_ms: int = 0
    alerts: dict[str, Alert] = {}
    past: tuple[tuple[str, int], ...] = ()
    """The names of alerts that ended within a day, and the times of their ends."""
    replicas: dict[str, tuple[int, int]] = {}
    """Number of a node -> the most replicas that it had, and the time when it had them last."""
    summary_ms: int = 0
    """The time of the last daily summary."""

    @property
    def active(self) -> dict[str, Alert]:
        """The alerts with a message to staff, in the order of NAMES."""
        return {name: self.alerts[name] for name in NAMES if name in self.alerts and self.alerts[name].told_ms}

    def advance(self, results: Mapping[str, Finding | None], now_ms: int) -> tuple["Board", list[Event]]:
        """Return the next state, and the messages to staff. A name without a result keeps its state."""
        alerts, events = dict(self.alerts), []
        past = [(name, end_ms) for name, end_ms in self.past if end_ms > now_ms - DAY_MS]
        for name, finding in results.items():
            former = alerts.pop(name, None)
            ends = sum(each == name for each, _end_ms in past)
            alert, kind = advance(former, finding, now_ms, min_clear_ms=max(0, ends - 1) * CLEAR_STEP_MS)
            if alert is not None:
                alerts[name] = alert
            if kind is not None and (shown := alert or former) is not None:
                at_ms = {"begin": shown.since_ms, "remind": now_ms - now_ms % DAY_MS, "end": shown.clear_ms}[kind]
                events.append(Event(name, kind, shown, at_ms))
                if kind == "end":
                    past.append((name, shown.clear_ms))
        return replace(self, started_ms=self.started_ms or now_ms, alerts=alerts, past=tuple(past)), events


def advance(
    alert: Alert | None, finding: Finding | None, now_ms: int, min_clear_ms: int = 0
) -> tuple[Alert | None, EventKind | None]:
    """Return the alert after a check.

    The alert begins with the second check in a row that finds the fault. It ends with a check without the fault, at
    least `min_clear_ms` after the first such check.
    """
    if finding is None:
        if alert is None or not alert.told_ms:
            return None, None
        if alert.clear_ms and now_ms - alert.clear_ms >= min_clear_ms:
            return None, "end"
        return replace(alert, clear_ms=alert.clear_ms or now_ms), None
    if alert is None:
        return Alert(now_ms, finding, found_ms=now_ms), None
    alert = replace(alert, finding=finding, clear_ms=0, found_ms=now_ms)
    if alert.told_ms and 0 <= now_ms - alert.told_ms < REMIND_AFTER_MS:  # below 0 if the clock was set back
        return alert, None
    return replace(alert, told_ms=now_ms), "remind" if alert.told_ms else "begin"


class AlertRepository(Repository):
    async def load(self) -> Board:
        """Return the board. The board of another release counts as empty: its alerts are found again."""
        stored = await self._jobs.execute("GET", keys.alert_board())
        try:
            return Board() if stored is None else msgspec.json.decode(stored, type=Board)
        except msgspec.MsgspecError:
            return Board()

    async def save(self, board: Board) -> None:
        await self._set(keys.alert_board(), msgspec.json.encode(board))

    async def last_backup_ms(self) -> int:
        return int(await self._jobs.execute("GET", keys.last_backup()) or 0)

    async def record_backup(self, at_ms: int) -> None:
        await self._set(keys.last_backup(), at_ms)

    async def _set(self, key: Key, value: bytes | int) -> None:
        await self._jobs[key].execute(*SET_SCRIPT.command([key], [value]))
