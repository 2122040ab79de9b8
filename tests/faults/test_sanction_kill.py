"""A web process that suspends an account, or stores an appeal, is killed by SIGKILL after any of its replies.

A worker completes the rest.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.sanctions import SanctionService
from socialsite.container import Services
from tests.support.dying_process import dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.world import Person, World

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
    for reference, _at_ms in await services.repositories.sanctions.due.oldest(10):
        await services.repositories.sanctions.due.add(reference, services.clock.now_ms() - 1)
    await SanctionService(services).complete_due()


@pytest.fixture
async def sam(world: World, services: Services) -> Actor:
    moderator = await world.person("sam")
    await services.staff.set_role(moderator.id, "moderator")
    return Actor(moderator.id, "abad1dea")


async def kill_each(
    world: World, redis_server: RedisServer, act: str, prepare: Callable[[Person], Awaitable[str]]
) -> AsyncIterator[tuple[Person, bool]]:
    """Perform `act` with the line of `prepare` for one person after the other, and kill it one reply later each time.

    Yields the person, and whether the process was killed, after a worker has completed the request.
    """
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, act) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            person = await world.person(f"person{replies}")
            line = await prepare(person)
            was_killed = await run_and_die(proxy, stdin, stdout, line.encode(), replies)
            await complete_due(world.services)
            assert await world.services.repositories.sanctions.due.oldest(10) == []
            yield person, was_killed
            if not was_killed:
                return


async def test_a_stored_suspension_is_completed_and_mailed_once_if_its_process_is_killed_at_any_step(
    world: World, services: Services, redis_server: RedisServer, sam: Actor
) -> None:
    async def prepare(person: Person) -> str:
        await services.repositories.mails.change(person.id, address=f"p{person.id}@example.org", language="en")
        return f"{sam.account_id} {person.id}"

    killed = stored = 0
    async for person, was_killed in kill_each(world, redis_server, SUSPEND, prepare):
        rows = await services.repositories.sanctions.list_all(person.id)
        killed, stored = killed + was_killed, stored + len(rows)
        assert (await services.accounts.get(person.id)).is_active == (not rows)
        assert all(row.is_complete for row in rows)
        assert [mail.kind for mail in await services.mail.list_mails(person.id)] == ["sanction"] * len(rows)
        logged = [e for e in (await AuditLog(services.store).search(100))[0] if e.target == f"account:{person.id}"]
        assert len(logged) >= len(rows)  # the audit log is written first
    assert 8 < killed < MAX_REPLIES
    assert stored > 5


async def test_an_appeal_and_its_entry_in_the_queue_are_both_stored_or_neither_if_its_process_is_killed(
    world: World, services: Services, redis_server: RedisServer, sam: Actor
) -> None:
    async def prepare(person: Person) -> str:
        made = await SanctionService(services).apply(sam, person.id, "warning", "Please be kind.")
        return f"{person.id} {made.id}"

    killed = stored = 0
    async for person, was_killed in kill_each(world, redis_server, APPEAL, prepare):
        (row,) = await services.repositories.sanctions.list_all(person.id)
        killed, stored = killed + was_killed, stored + row.is_appeal_open
        assert await services.repositories.sanctions.appeals.contains((person.id, row.id)) == row.is_appeal_open
    assert 2 < killed < MAX_REPLIES
    assert stored > 1
