"""A web process that suspends an account, or stores an appeal, is killed by SIGKILL after any of its replies.

A worker completes the rest.
"""

import pytest

from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.sanctions import SanctionService
from socialsite.container import Services
from tests.support.dying_process import dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.world import World

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

MAX_REPLIES = 40
SUSPEND = """
async def act(services, line):
    from socialsite.admin.audit_log import Actor
    from socialsite.admin.sanctions import SanctionService
    actor_id, account_id = map(int, line.split())
    await SanctionService(services).apply(Actor(actor_id, "abad1dea"), account_id, "suspend", "Please be kind.")
"""

APPEAL = """
async def act(services, line):
    account_id, id = map(int, line.split())
    await services.sanctions.appeal(account_id, id, "I think that this decision is wrong.")
"""


async def complete_due(services: Services) -> None:
    """Do what a worker does after the time in which the request would have completed its sanctions."""
    for account_id, id in await services.repositories.sanctions.find_due(1 << 53, 10):
        await services.repositories.sanctions.schedule(account_id, id, services.clock.now_ms() - 1)
    await SanctionService(services).complete_due()


async def test_a_stored_suspension_is_completed_and_told_once_if_its_process_is_killed_at_any_step(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    sam = await world.person("sam")
    await services.staff.set_role(sam.id, "moderator")
    sanctions, killed, stored = SanctionService(services), 0, 0
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, SUSPEND) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            person = await world.person(f"person{replies}")
            await services.repositories.mails.change(person.id, address=f"p{replies}@example.org", language="en")
            was_killed = await run_and_die(proxy, stdin, stdout, f"{sam.id} {person.id}".encode(), replies)
            killed += was_killed
            await complete_due(services)
            rows = await sanctions.list_all(person.id)
            stored += len(rows)
            account = await services.accounts.get(person.id)
            assert account.is_active == (not rows)
            assert all(row.is_complete for row in rows)
            assert [mail.kind for mail in await services.mail.list_mails(person.id)] == ["sanction"] * len(rows)
            logged = [e for e in (await AuditLog(services.store).search(100))[0] if e.target == f"account:{person.id}"]
            assert len(logged) >= len(rows)  # the audit log is written first
            assert await services.repositories.sanctions.find_due(1 << 53, 10) == []
            if not was_killed:
                break
    assert 8 < killed < MAX_REPLIES
    assert stored > 5


async def test_an_appeal_and_its_entry_in_the_queue_are_both_stored_or_neither_if_its_process_is_killed(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    sam = await world.person("sam")
    await services.staff.set_role(sam.id, "moderator")
    sanctions, killed, stored = SanctionService(services), 0, 0
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, APPEAL) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            person = await world.person(f"person{replies}")
            made = await sanctions.apply(Actor(sam.id, "abad1dea"), person.id, "warning", "Please be kind.")
            was_killed = await run_and_die(proxy, stdin, stdout, f"{person.id} {made.id}".encode(), replies)
            killed += was_killed
            await complete_due(services)
            (row,) = await sanctions.list_all(person.id)
            stored += row.is_appeal_open
            is_listed = await services.repositories.sanctions.is_listed_appeal(person.id, made.id)
            assert is_listed == row.is_appeal_open
            assert await services.repositories.sanctions.find_due(1 << 53, 10) == []
            if not was_killed:
                break
    assert 2 < killed < MAX_REPLIES
    assert stored > 1
