"""A process that deletes an account is killed by SIGKILL after any of its replies from the store."""

from accounts.domain import ACTIVE, DELETED
from socialsite.container import Services
from tests.support.dying_process import dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.world import Person, World

MAX_REPLIES = 40
DELETE = """
async def act(services, line):
    await services.accounts.delete(account_id=int(line))
"""


async def test_a_deletion_is_complete_or_has_not_begun_after_a_crash_at_any_step(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    """After an even number of replies the worker continues alone, after an odd one the person repeats the deletion."""
    (reader,) = await world.people("reader")
    states = []
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, DELETE) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            leaving = await world.person(f"leaving_{replies}")
            await leaving.follows(reader)
            await leaving.publishes("hello")
            await world.deliver_all()
            if not await run_and_die(proxy, stdin, stdout, b"%d" % leaving.id, replies):
                break
            account = await services.accounts.find(leaving.id)
            if replies % 2 and account is not None and account.state == ACTIVE:
                await services.accounts.delete(account_id=leaving.id)
            await world.deliver_all()
            states.append(await check_all_or_nothing(services, leaving, reader))
    assert states[0] == ACTIVE
    assert states[1:] == [DELETED] * (len(states) - 1)
    assert 4 < len(states) < MAX_REPLIES


async def check_all_or_nothing(services: Services, leaving: Person, reader: Person) -> str:
    """Return the state of the account, whose data must be complete, or completely deleted."""
    account = await services.accounts.find(leaving.id)
    assert account is not None
    is_active = account.state == ACTIVE
    assert len(await leaving.profile_ids()) == is_active
    assert await services.repositories.follows.is_following(leaving.id, reader.id) == is_active
    return account.state
