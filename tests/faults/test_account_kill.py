"""A process that changes an account is killed by SIGKILL after any of its replies, and the change is repeated."""

import pytest

from accounts.mail.links import confirmation_token
from accounts.mail.values import DIGEST_PERIODS_MS
from accounts.security.events import SecurityEvents
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.management.commands.disable_factors import Command as DisableFactors
from tests.support.account_world import PASSWORD
from tests.support.dying_process import dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.sockets import sign_in_cookie
from tests.support.world import World

pytestmark = pytest.mark.slow

MAX_REPLIES = 40
ACTS = """
async def act(services, line):
    from accounts.mail.links import confirmation_token
    from socialsite.management.commands.disable_factors import Command
    act, id, text = line.decode().split()
    if act == "address":
        await services.mail.confirm_address(confirmation_token(int(id), text))
    elif act == "digest":
        await services.mail.choose_digest(int(id), text)
    else:
        await Command().perform(services, {"handle": text, "dry_run": False})
"""


async def test_the_former_address_gets_a_mail_if_a_process_is_killed_at_any_step(
    services: Services, redis_server: RedisServer
) -> None:
    account = await services.accounts.sign_up(handle="alice", password=PASSWORD, now_ms=1)
    alice, former, killed = AccountId(account.id), "alice0@example.org", 0
    await services.mail.mails.change(alice, address=former)
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, ACTS) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            new = f"alice{replies + 1}@example.org"
            await services.mail.mails.change(alice, pending=new)
            was_killed = await run_and_die(proxy, stdin, stdout, f"address {alice} {new}".encode(), replies)
            killed += was_killed
            if (await services.mail.find(alice)).address == former:  # its owner presses the button again
                await services.mail.confirm_address(confirmation_token(alice, new))
            told = [mail.address for mail in await services.mail.list_mails(alice) if mail.kind == "address_changed"]
            assert former in told
            former = new
            if not was_killed:
                break
    assert 5 < killed < MAX_REPLIES


async def test_a_chosen_summary_has_a_time_if_a_process_is_killed_at_any_step(
    services: Services, redis_server: RedisServer
) -> None:
    account = await services.accounts.sign_up(handle="alice", password=PASSWORD, now_ms=1)
    alice, killed = AccountId(account.id), 0
    later_ms = services.clock.now_ms() + 2 * DIGEST_PERIODS_MS["weekly"]
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, ACTS) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            await services.mail.choose_digest(alice, "off")
            was_killed = await run_and_die(proxy, stdin, stdout, f"digest {alice} daily".encode(), replies)
            killed += was_killed
            is_chosen = (await services.mail.find(alice)).digest == "daily"
            assert not is_chosen or await services.mail.mails.digests.oldest(10, until_ms=later_ms)
            if not was_killed:
                break
    assert is_chosen
    assert 1 < killed < MAX_REPLIES


async def test_factors_that_an_operator_disables_end_with_the_sessions_and_a_trace_at_any_step(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    killed = 0
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, ACTS) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            person = await world.person(f"person{replies}")
            await sign_in_cookie(person)
            assert await services.repositories.factors.replace(person.id, "totp", None, b"x") == 1
            line = f"factors {person.id} {person.handle}".encode()
            was_killed = await run_and_die(proxy, stdin, stdout, line, replies)
            killed += was_killed
            await DisableFactors().perform(services, {"handle": person.handle, "dry_run": False})
            assert await services.sessions.list_sessions(person.id) == []
            assert not (await services.factors.find(person.id)).encoded
            assert "factors_disabled" in [each.kind for each in await services[SecurityEvents].list_newest(person.id)]
            if not was_killed:
                break
    assert 5 < killed < MAX_REPLIES
