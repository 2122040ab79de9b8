"""Notifications: members that are none, by or for accounts that never were.

What they are about is looked at by every reader, so a cause that is gone is no damage.
"""

from collections.abc import Sequence

from socialsite.store import Key
from timelines.audit.discrepancy import Finding
from timelines.audit.members import first_pages, name_of
from timelines.audit.reader import ABSENT, Looking, Scored
from timelines.audit.repairs import Places
from timelines.notifications.notification import Notification


class NoticeChecks:
    def __init__(self, places: Places) -> None:
        self._places = places

    async def notifications(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        findings: list[Finding] = []
        async for key, members in first_pages(look, list(found)):
            findings += await self._members(look, key, members)
        return findings

    async def _members(self, look: Looking, key: Key, members: Sequence[Scored]) -> list[Finding]:
        parsed = {member: Notification.parse(member, score) for member, score in members}
        people = {each.account_id for each in parsed.values() if each is not None}
        states = await look.states([int(key.tag), *people])
        findings: list[Finding] = []
        for member, each in parsed.items():
            if each is not None and ABSENT not in (states[each.account_id], states[int(key.tag)]):
                continue
            kind = "notification_garbage" if each is None else "notification_of_nobody"
            drop = self._places.run(("ZREM", key, member))
            findings.append(Finding(kind, key, name_of(member), drop))
        return findings
