"""Print the table of docs/reference/reliability.md: `python -m tests.support.reliability` (see `-h`)."""

import argparse
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from tests.support import outages
from tests.support.outages import OutageResult

CASES: dict[str, Callable[[int], OutageResult]] = {
    "kill -9 of a master": partial(outages.a_master_is_killed, confirmed=False),
    "kill -9 of a master, REQUIRE_REPLICAS=1": partial(outages.a_master_is_killed, confirmed=True),
    "a lagging replica takes over": partial(outages.a_lagging_replica_takes_over, confirmed=False),
    "a lagging replica takes over, REQUIRE_REPLICAS=1": partial(outages.a_lagging_replica_takes_over, confirmed=True),
    f"reshard of {outages.RESHARD_SLOTS} slots": outages.slots_are_moved,
    "failover by Sentinel": lambda _: outages.sentinel_fails_over(confirmed=False),
    "failover by Sentinel, REQUIRE_REPLICAS=1": lambda _: outages.sentinel_fails_over(confirmed=True),
}
COLUMNS = (
    *("what happened", "posts", "deletions", "follows", "lost", "doubled", "ghosts", "refusals"),
    *("no write s", "no read s", "over s"),
)


def row(name: str, results: Sequence[OutageResult]) -> str:
    """Return a row with the sums of all runs and the longest times."""
    outcomes = [result.outcome for result in results]
    audits = [outcome.audit for outcome in outcomes]
    succeeded = (
        sum(audit.acknowledged for audit in audits),
        sum(outcome.deletions for outcome in outcomes),
        sum(outcome.follows for outcome in outcomes),
    )
    wrong = [sum(len(getattr(audit, what)) for audit in audits) for what in ("lost", "doubled", "ghosts")]
    refused: Counter[str] = Counter()
    for outcome in outcomes:
        for answer, count in outcome.refusals.items():
            refused[answer.removeprefix("read ").removeprefix("follow ").removeprefix("delete ")] += count
    refusals = ", ".join(f"{count} x {answer}" for answer, count in sorted(refused.items())) or "none"
    times = (
        max(outcome.no_write_s for outcome in outcomes),
        max(outcome.no_read_s for outcome in outcomes),
        max(result.outage_s for result in results),
    )
    cells = [name, *map(str, (*succeeded, *wrong)), refusals, *(f"{seconds:.1f}" for seconds in times)]
    return line(cells)


def line(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run every case `--runs` times, each time with another master, and print each row when it is complete."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.reliability", description=main.__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", default="", help="only cases whose name has this in it")
    arguments = parser.parse_args()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    print(line(COLUMNS), line(["---"] * len(COLUMNS)), sep="\n")
    for name, case in CASES.items():
        if arguments.case in name:
            print(row(name, [case(number % 3) for number in range(arguments.runs)]), flush=True)


if __name__ == "__main__":
    main()
