"""Stores reports, the posts that they are about, and their queue (`timelines:{reports}:...`).

Each write replaces one report together with its index entries, if the stored value is still the one that was read.
"""

from collections.abc import Callable, Iterable, Sequence

from socialsite.errors import Unavailable
from socialsite.ids import MAX_ID, AccountId, PostId
from socialsite.store import Key, Reply, Repository, load_script
from timelines import keys
from timelines.posts.post import Post
from timelines.reports.report import (
    CATEGORIES,
    NOBODY,
    Claim,
    QueueEntry,
    Report,
    ReportCategory,
    decode_posts,
    decode_report,
    encode_posts,
    encode_report,
)

WRITE, CLAIM, READ_QUEUE, SAMPLE = (
    load_script(f"{name}.lua", __package__) for name in ("write_report", "claim_reports", "read_queue", "sample_open")
)
MAX_ATTEMPTS = 5
"""The maximum number of tries to replace a report that others change at the same time."""
ACCOUNTS_SCANNED_MAX = 1_000
"""The maximum number of accounts that one page of the queue reads."""


def index_entries(report: Report | None) -> tuple[str, ...]:
    """Return the members of a report in the indexes open, closed, about and by, "" for none."""
    if report is None:
        return ("",) * 4
    return (
        f"{report.target_id}:{report.category}:{report.id:016d}" if report.is_open else "",
        "" if report.is_open else str(report.id),
        _entry(report.target_id, report.id),
        "" if report.reporter_id == NOBODY else _entry(report.reporter_id, report.id),
    )


def _entry(account_id: AccountId, report_id: int) -> str:
    return f"{account_id}:{report_id:016d}"


def parse_claim(value: bytes | None) -> Claim | None:
    if not value:
        return None
    staff, until_ms, reason = value.decode().split(":", 2)
    return Claim(AccountId(int(staff)), int(until_ms), reason)


class Reports(Repository):
    # Writing

    async def add(self, report: Report, posts: Sequence[Post], newest_id: PostId | None = None) -> int:
        """Add a report. Return the number of reports, or 0 if the report exists.

        If `newest_id` is given, nothing is added if the reporter has a newer report than this (0: any report).
        """
        return await self._write(report, None, b"", report, posts, newest_id)

    async def replace(self, report_id: PostId, change: Callable[[Report], Report | None]) -> Report | None:
        """Replace a report by the result of `change`, or delete it if the result is None. Return the new report.

        Return None if the report does not exist or is deleted. Raises Unavailable if others change it all the
        time.
        """
        for _attempt in range(MAX_ATTEMPTS):
            value = await self._timelines.execute("HGET", keys.reports(), report_id)
            former = None if value is None else decode_report(value)
            changed = None if former is None else change(former)
            if former is None or changed == former or await self._write(former, former, value, changed):
                return changed
        raise Unavailable

    async def _write(
        self,
        report: Report,
        former: Report | None,
        value: bytes,
        changed: Report | None,
        posts: Sequence[Post] = (),
        newest_id: PostId | None = None,
    ) -> int:
        script_keys = (
            keys.reports(), keys.reported_posts(), keys.report_queue(), keys.report_claims(),
            keys.open_reports(), keys.closed_reports(), keys.reports_about(), keys.reports_by(),
        )  # fmt: skip
        newest = "-" if newest_id is None else _entry(report.reporter_id, newest_id) if newest_id else ""
        arguments = [
            report.id,
            value,
            encode_report(changed) if changed else b"",
            encode_posts(posts) if posts else b"",
            report.target_id,
            newest,
            report.reporter_id,
            changed.closed_ms if changed else 0,
            *index_entries(former),
            *index_entries(changed),
            *CATEGORIES,
        ]
        return int(await self._timelines.write(*WRITE.command(script_keys, arguments)))

    async def restore_entries(self, report_id: PostId) -> None:
        """Write the index entries of a report again, for the repair of an audit."""
        value = await self._timelines.execute("HGET", keys.reports(), report_id)
        if value is not None:
            report = decode_report(value)
            await self._write(report, None, value, report)

    async def restore_queue(self, account_id: AccountId) -> None:
        """Write the entry of an account in the queue again, for the repair of an audit."""
        await self._timelines.write("ZREM", keys.report_queue(), account_id)
        for report_id in await self.open_ids(account_id, 1):
            await self.restore_entries(report_id)

    async def sample_open(self, size: int) -> list[tuple[Report, Claim | None]]:
        """Return some of the open reports at random, each with the last claim on its account."""
        script_keys = keys.open_reports(), keys.report_claims()
        reply = await self._timelines.execute(*SAMPLE.command(script_keys, [size]))
        claims = {int(entry.rpartition(b":")[2]): claim for entry, claim in zip(reply[::2], reply[1::2], strict=True)}
        return [(each, parse_claim(claims[each.id])) for each in await self.find_many(list(claims))]

    async def delete(self, report_ids: Iterable[PostId]) -> None:
        for report_id in report_ids:
            await self.replace(report_id, lambda _: None)

    async def claim(self, account_id: AccountId, claim: Claim, now_ms: int) -> Claim | None:
        """Claim the open reports about an account. Return the current claim, or None if no report is open.

        A claim with a reason takes over the claim of another staff member.
        """
        script_keys = keys.report_claims(), keys.report_queue()
        arguments = [account_id, claim.staff_id, now_ms, claim.until_ms, claim.reason]
        return parse_claim(await self._timelines.write(*CLAIM.command(script_keys, arguments)))

    # Reading

    async def find_many(self, report_ids: Sequence[int]) -> list[Report]:
        """Return the reports that exist, in the order of the ids."""
        values = await self._timelines.execute("HMGET", keys.reports(), *report_ids) if report_ids else []
        return [decode_report(value) for value in values if value is not None]

    async def find_posts(self, report_id: PostId) -> tuple[Post, ...]:
        """Return the posts as they were when they were reported."""
        value = await self._timelines.execute("HGET", keys.reported_posts(), report_id)
        return decode_posts(value) if value else ()

    async def find_claim(self, account_id: AccountId) -> Claim | None:
        return parse_claim(await self._timelines.execute("HGET", keys.report_claims(), account_id))

    async def about(self, account_id: AccountId, limit: int) -> list[Report]:
        """Return the reports about an account, newest first."""
        return await self._newest(keys.reports_about(), account_id, limit, MAX_ID)

    async def by(self, account_id: AccountId, limit: int, before: int = MAX_ID) -> list[Report]:
        """Return the reports of a reporter, newest first."""
        return await self._newest(keys.reports_by(), account_id, limit, before)

    async def _newest(self, key: Key, account_id: AccountId, limit: int, before: int) -> list[Report]:
        edges = f"({_entry(account_id, before)}", f"({account_id}:"
        entries = await self._timelines.execute("ZREVRANGEBYLEX", key, *edges, "LIMIT", 0, limit)
        return await self.find_many([int(entry.rpartition(b":")[2]) for entry in entries])

    async def count(self, account_id: AccountId) -> tuple[int, int]:
        """Return the numbers of reports about the account and by the account."""
        edges = f"[{account_id}:", f"({account_id};"
        commands = [("ZLEXCOUNT", key, *edges) for key in (keys.reports_about(), keys.reports_by())]
        about, by = await self._timelines.execute_all(commands)
        return int(about), int(by)

    async def open_ids(self, account_id: AccountId, limit: int) -> list[PostId]:
        """Return the open reports about an account, in no order."""
        edges = f"[{account_id}:", f"({account_id};"
        entries = await self._timelines.execute("ZRANGEBYLEX", keys.open_reports(), *edges, "LIMIT", 0, limit)
        return [PostId(int(entry.rpartition(b":")[2])) for entry in entries]

    async def closed(self, limit: int, skip: int = 0) -> list[Report]:
        """Return closed reports without the `skip` newest, the last closed first."""
        ids = await self._timelines.execute("ZREVRANGE", keys.closed_reports(), skip, skip + limit - 1)
        return await self.find_many([int(id) for id in ids])

    async def closed_between(self, after_ms: int, before_ms: float, limit: int) -> list[PostId]:
        """Return the reports that were closed in this time, the first closed first."""
        edges = after_ms, f"({before_ms}"
        ids = await self._timelines.execute("ZRANGEBYSCORE", keys.closed_reports(), *edges, "LIMIT", 0, limit)
        return [PostId(int(id)) for id in ids]

    async def count_closed(self, since_ms: int) -> int:
        """Return the number of reports that were closed at this time or later."""
        return int(await self._timelines.execute("ZCOUNT", keys.closed_reports(), since_ms, "+inf"))

    async def queue(
        self, limit: int, after: int = 0, category: ReportCategory | None = None, claimed_by: AccountId | None = None
    ) -> tuple[list[QueueEntry], int | None]:
        """Return the accounts with open reports, the oldest report first, and the cursor `after` of the next page.

        If `claimed_by` is given, only accounts that this staff member has claimed last are returned.
        """
        script_keys = keys.report_queue(), keys.open_reports(), keys.report_claims()
        number = 0 if category is None else CATEGORIES.index(category) + 1
        arguments = [after, limit, ACCOUNTS_SCANNED_MAX, number, claimed_by or "", *CATEGORIES]
        reply = await self._timelines.execute(*READ_QUEUE.command(script_keys, arguments))
        width, values = 3 + len(CATEGORIES), reply[1:]
        entries = [_parse_entry(values[at : at + width]) for at in range(0, len(values), width)]
        return entries, int(float(reply[0])) if reply[0] else None

    async def count_open(self) -> tuple[int, PostId | None]:
        """Return the number of open reports, and the oldest of them."""
        commands = [("ZCARD", keys.open_reports()), ("ZRANGE", keys.report_queue(), 0, 0, "WITHSCORES")]
        count, oldest = await self._timelines.execute_all(commands)
        return int(count), PostId(int(float(oldest[1]))) if oldest else None


def _parse_entry(values: Sequence[Reply]) -> QueueEntry:
    account_id, oldest_id, claim, *counts = values
    numbers: dict[ReportCategory, int] = {
        category: int(count) for category, count in zip(CATEGORIES, counts, strict=True) if count
    }
    return QueueEntry(AccountId(int(account_id)), PostId(int(float(oldest_id))), numbers, parse_claim(claim))
