"""Stores reports in the list `timelines:{reports}:reports`, the newest first."""

import msgspec

from socialsite.store import Store
from timelines import keys
from timelines.reports.report import REPORTS_CAP, Report

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Report).decode


class Reports:
    def __init__(self, store: Store) -> None:
        self._timelines = store.component("timelines")

    async def add(self, report: Report) -> None:
        key = keys.reports()
        await self._timelines.write(key, ("LPUSH", key, _encode(report)), ("LTRIM", key, 0, REPORTS_CAP - 1))

    async def newest(self, limit: int) -> list[Report]:
        key = keys.reports()
        return [_decode(value) for value in await self._timelines[key].execute("LRANGE", key, 0, limit - 1)]
