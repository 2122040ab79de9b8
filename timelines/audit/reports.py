"""Checks reports: their index entries, the queue of staff, and the posts that are kept with them."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from socialsite.batches import batches
from socialsite.ids import AccountId, PostId
from socialsite.store import Key
from timelines import keys
from timelines.audit.context import Checks
from timelines.audit.discrepancy import Discrepancy, detail_of
from timelines.audit.reader import AuditReader
from timelines.reports.report import Report, decode_report
from timelines.reports.repository import index_entries

REPORTS_PER_ROUND = 500
INDEXES = (keys.open_reports(), keys.closed_reports(), keys.reports_about(), keys.reports_by())


class ReportChecks(Checks):
    async def rows(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each report has its index entries, and that the accounts of open reports are in the queue."""
        (ids,) = await reader.execute_all([("HKEYS", keys.reports())])
        for batch in batches(ids, REPORTS_PER_ROUND):
            reports = await self._read(reader, batch)
            entries = [
                (each, key, entry) for each in reports for key, entry in zip(INDEXES, index_entries(each), strict=True)
            ]
            entries += [(each, keys.report_queue(), str(each.target_id)) for each in reports if each.is_open]
            entries = [each for each in entries if each[2]]
            scores = await reader.execute_all((("ZSCORE", key, entry) for _, key, entry in entries))
            for report_id in {each.id for (each, *_), score in zip(entries, scores, strict=True) if score is None}:
                repair = partial(self._context.reports.restore_entries, report_id)
                yield Discrepancy("report_unindexed", keys.reports(), str(report_id), repair)

    async def entries(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each index entry is the one that its report needs."""
        async for key, members in reader.pages_of_many(checked):
            number = INDEXES.index(key)
            reports = await self._read(reader, [member.rpartition(b":")[2] for member, _ in members])
            expected = {index_entries(each)[number].encode() for each in reports}
            for member, _ in members:
                if member not in expected:
                    yield Discrepancy("report_gone", key, detail_of(member), self._context.remove(key, member))

    async def queue(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each account in the queue has an open report, which is the oldest one that the queue names."""
        async for key, members in reader.pages_of_many(checked):
            reports = {each.id: each for each in await self._read(reader, [b"%d" % float(id) for _, id in members])}
            for member, score in members:
                report = reports.get(PostId(int(float(score))))
                if report is None or not report.is_open or str(report.target_id).encode() != member:
                    repair = partial(self._context.reports.restore_queue, AccountId(int(member)))
                    yield Discrepancy("report_queue_wrong", key, detail_of(member), repair)

    async def posts(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that the kept posts belong to a report."""
        posts, reports = await reader.execute_all([("HKEYS", keys.reported_posts()), ("HKEYS", keys.reports())])
        for report_id in set(posts) - set(reports):
            repair = self._context.run(("HDEL", keys.reported_posts(), report_id))
            yield Discrepancy("report_posts_left", keys.reported_posts(), detail_of(report_id), repair, is_damage=False)

    async def _read(self, reader: AuditReader, ids: Sequence[bytes]) -> list[Report]:
        (values,) = await reader.execute_all([("HMGET", keys.reports(), *ids)]) if ids else ([],)
        return [decode_report(value) for value in values if value is not None]
