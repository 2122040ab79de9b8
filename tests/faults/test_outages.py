"""Masters die, replicas lag and slots move under a steady load without breaking a guarantee.

One run of each; `python -m tests.support.reliability` makes more and prints the table of
docs/reference/reliability.md.
"""

import random

import pytest

from tests.support import outages
from tests.support.load import MIN_POSTS_AND_FOLLOWS
from tests.support.outages import OutageResult
from tests.support.programs import need

pytestmark = pytest.mark.slow

MASTERS = 3


def require_kept(result: OutageResult) -> None:
    print(result)
    assert result.outcome.audit.is_clean, result.outcome.audit
    require_fair(result)


def require_fair(result: OutageResult) -> None:
    """Check that enough requests were sent and that every failure was a 503."""
    assert result.outcome.audit.acknowledged > MIN_POSTS_AND_FOLLOWS, result.outcome.audit
    assert result.outcome.follows > MIN_POSTS_AND_FOLLOWS, result.outcome.audit
    assert not result.outcome.beyond_allowed, result.outcome.audit


@pytest.mark.nightly
def test_a_killed_master_loses_no_write_that_a_replica_confirmed() -> None:
    require_kept(outages.a_master_is_killed(random.randrange(MASTERS), confirmed=True))


@pytest.mark.nightly
def test_a_lagging_replica_that_takes_over_has_all_acknowledged_writes() -> None:
    require_kept(outages.a_lagging_replica_takes_over(random.randrange(MASTERS), confirmed=True))


@pytest.mark.nightly
def test_moving_slots_lose_no_write() -> None:
    need("redis-cli")
    require_kept(outages.slots_are_moved(random.randrange(MASTERS)))


@pytest.mark.nightly
def test_a_failover_by_sentinel_loses_no_write_that_a_replica_confirmed() -> None:
    require_kept(outages.sentinel_fails_over(confirmed=True))


@pytest.mark.nightly
@pytest.mark.parametrize("case", ["a_master_is_killed", "a_lagging_replica_takes_over"])
def test_without_confirmation_users_get_no_error_but_503(case: str) -> None:
    """docs/reference/reliability.md publishes the measured losses without confirmation; they have no bound."""
    require_fair(getattr(outages, case)(random.randrange(MASTERS), confirmed=False))


@pytest.mark.nightly
def test_without_confirmation_users_get_no_error_but_503_while_sentinel_fails_over() -> None:
    require_fair(outages.sentinel_fails_over(confirmed=False))
