"""A web process that suspends an account is killed by SIGKILL after any of its replies. A worker completes the rest."""

import pytest

from socialsite.admin.audit_log import AuditLog
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
            for account_id, id in await services.repositories.sanctions.find_due(1 << 53, 10):
                await services.repositories.sanctions.schedule(account_id, id, services.clock.now_ms() - 1)
            await sanctions.complete_due()
            rows = await sanctions.list_all(person.id)
            stored += len(rows)
            account = await services.accounts.get(person.id)
            assert account.is_active == (not rows)
            assert all(row.is_complete for row in rows)
            assert [mail.kind for mail in await services.mail.list_mails(person.id)] == ["sanction"] * len(rows)
            logged = [e for e in await AuditLog(services.store).page(100) if e.target == f"account:{person.id}"]
            assert len(logged) >= len(rows)  # the audit log is written first
            assert await services.repositories.sanctions.find_due(1 << 53, 10) == []
            if not was_killed:
                break
    assert 8 < killed < MAX_REPLIES
    assert stored > 5
