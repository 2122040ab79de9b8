"""Sessions against their accounts' indexes."""

from collections.abc import Sequence

from accounts import keys as account_keys
from accounts.domain import DELETED, SESSIONS_CAP
from socialsite.ids import AccountId
from socialsite.store import Key
from timelines.audit.discrepancy import Finding
from timelines.audit.reader import ABSENT, Looking
from timelines.audit.repairs import Places


class SessionChecks:
    def __init__(self, places: Places) -> None:
        self._places = places

    async def sessions(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        """A value that no index names opens nothing; one of an absent account should not be there at all."""
        indexes = [(account_keys.session_index(AccountId(int(key.tag))), session_id(key)) for key in found]
        scores = await look.gather(("ZSCORE", index, name) for index, name in indexes)
        values = await look.gather(("GET", key) for key in found)
        lives = await look.gather(("PTTL", key) for key in found)
        states = await look.states(int(key.tag) for key in found)
        findings: list[Finding] = []
        for key, score, value, left_ms in zip(found, scores, values, lives, strict=True):
            if value is None:
                continue
            drop = self._places.run(("DEL", key))
            if states[int(key.tag)] in (ABSENT, DELETED):
                findings.append(Finding("session_of_nobody", key, repair=drop))
            elif left_ms == -1:
                findings.append(Finding("session_eternal", key, repair=drop))
            elif self._places.sessions.parse_session(b"0", value) is None:
                findings.append(Finding("session_unreadable", key, repair=drop))
            elif score is None:
                findings.append(Finding("session_unindexed", key, repair=drop, is_damage=False))
        return findings

    async def indexes(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        """A session leaves its place in the index when its own time is up before the index's: a leftover."""
        rows = await look.gather(("ZRANGE", key, 0, 2 * SESSIONS_CAP) for key in found)
        lives = await look.gather(("PTTL", key) for key in found)
        states = await look.states(int(key.tag) for key in found)
        findings: list[Finding] = []
        for key, members, left_ms in zip(found, rows, lives, strict=True):
            if not members:
                continue
            if states[int(key.tag)] in (ABSENT, DELETED):
                findings.append(Finding("sessions_of_nobody", key, repair=self._places.run(("DEL", key))))
                continue
            if left_ms == -1:
                renewal = ("PEXPIRE", key, self._places.sessions.limits.idle_timeout_ms)
                findings.append(Finding("session_index_eternal", key, repair=self._places.run(renewal)))
            findings += await self._named(look, key, [member.decode() for member in members])
        return findings

    async def _named(self, look: Looking, index: Key, ids: Sequence[str]) -> list[Finding]:
        account_id = AccountId(int(index.tag))
        there = await look.gather(("EXISTS", account_keys.session(account_id, each)) for each in ids)
        return [
            Finding("session_gone", index, each, self._places.run(("ZREM", index, each)), is_damage=False)
            for each, stands in zip(ids, there, strict=True)
            if not stands
        ]


def session_id(key: Key) -> str:
    return key.rpartition(":")[2]
