"""Distinct rankings: members ranked by how many accounts used them lately. An account counts once in a window.

    series:{trends}:uses                    ZSET   account:member -> ms of the use that was counted
    series:{trends}:ranked:3600:1763650800  ZSET   member -> accounts of an interval (a time series, time_series.py)

Both have one tag, so that one script writes them. A use counts less by its age: half after the half-life.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from socialsite.recipes.time_series import RankedMetric, Rollup, ranked_key
from socialsite.store import Key, Store, load_script
from socialsite.store.key_families import DERIVED, key_by_word

COUNT, WITHDRAW, TOP = (
    load_script(f"distinct_ranking_{name}.lua", __package__) for name in ("count", "withdraw", "top")
)
MIN_ACCOUNTS: Final = 2


@dataclass(frozen=True, slots=True)
class RankingSpec:
    """The sizes of a ranking. An account counts once for a member within all intervals together.

    An interval keeps `members_cap` members after a trim, which runs above twice this number. `earlier_intervals`
    before the window are stored too, for `by_interval`.
    """

    name: str
    interval_s: int
    intervals: int
    half_life_s: float
    uses_cap: int
    members_cap: int
    earlier_intervals: int = 2

    @property
    def rollup(self) -> Rollup:
        return Rollup(self.interval_s, self.intervals + self.earlier_intervals)

    @property
    def window_ms(self) -> int:
        return self.interval_s * self.intervals * 1_000

    def interval_key(self, interval: int) -> Key:
        rollup = self.rollup
        return ranked_key(RankedMetric(self.name, (rollup,)), rollup, interval)


class RankedMember(NamedTuple):
    """A member, the number of accounts that used it in the window, and this number weighed by age."""

    member: str
    accounts: int
    weight: float


uses_key = key_by_word("series:{<kind>}:uses", "zset",
    "`<account>:<hashtag>` of a day (kind `trends`) or `<account>:<post>` of two days (kind `popular`), by the ms of"
    " the use that was counted; the newest stay", role=DERIVED, cap="USES_CAP", lifetime="24 h, 48 h")  # fmt: skip


class DistinctRanking:
    """Counts uses and returns the ranking. Each command is one script on one node."""

    def __init__(self, store: Store, spec: RankingSpec) -> None:
        self._series = store.component("series")
        self._spec = spec

    async def count(self, account_id: int, members: Sequence[object], at_ms: int) -> int:
        """Count the members that the account did not use within the window, and return their number."""
        if not members:
            return 0
        spec = self._spec
        interval = spec.rollup.interval_start(at_ms)
        uses = uses_key(spec.name)
        bounds = [at_ms, at_ms - spec.window_ms, spec.uses_cap, spec.window_ms]
        args = [*bounds, spec.rollup.expires_at(interval), spec.members_cap, account_id, *map(str, members)]
        return int(await self._series[uses].execute(*COUNT.command([uses, spec.interval_key(interval)], args)))

    async def withdraw(self, account_id: int, member: object) -> bool:
        """Undo the counted use of a member by the account. Return whether there was one."""
        uses, use = uses_key(self._spec.name), f"{account_id}:{member}"
        at = await self._series[uses].execute("ZSCORE", uses, use)
        if at is None:
            return False
        at_ms = int(float(at))
        keys = [uses, self._spec.interval_key(self._spec.rollup.interval_start(at_ms))]
        return bool(await self._series[uses].execute(*WITHDRAW.command(keys, [use, at_ms, str(member)])))

    async def top(self, now_ms: int, limit: int) -> list[RankedMember]:
        """Return the members with the highest weights that at least MIN_ACCOUNTS accounts used in the window."""
        spec = self._spec
        starts = self._starts(now_ms, spec.intervals)
        weights = [0.5 ** ((now_ms // 1_000 - start) / spec.half_life_s) for start in starts]
        keys = [spec.interval_key(start) for start in starts]
        flat = await self._series[keys[0]].execute(*TOP.command(keys, [limit, MIN_ACCOUNTS, *weights]))
        triples = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        return [RankedMember(member.decode(), int(float(count)), float(weight)) for member, count, weight in triples]

    async def by_interval(self, now_ms: int, members: Sequence[str], intervals: int) -> dict[str, tuple[int, ...]]:
        """Return the number of accounts of each member in each of the last intervals, the oldest first."""
        if not members:
            return {}
        starts = self._starts(now_ms, intervals)
        commands = [("ZMSCORE", self._spec.interval_key(start), *members) for start in starts]
        replies = await self._series.execute_all(commands)
        return {
            member: tuple(int(float(scores[place] or 0)) for scores in replies) for place, member in enumerate(members)
        }

    def _starts(self, now_ms: int, intervals: int) -> range:
        """Return the last intervals. The newest has just begun."""
        spec = self._spec
        return spec.rollup.intervals(now_ms - (intervals - 1) * spec.interval_s * 1_000, now_ms)
