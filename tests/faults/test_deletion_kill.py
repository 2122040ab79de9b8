"""A process that deletes an account is killed by SIGKILL after any of its replies from the store."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from accounts.domain import ACTIVE, DELETED
from socialsite.container import Services
from tests.support.fault_proxy import Fault, FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually
from tests.support.world import Person, World

ROOT = Path(__file__).resolve().parents[2]
MAX_REPLIES = 40
DELETING = """
import asyncio, os, sys
import django
django.setup()
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls

async def delete():
    async with open_services(StoreUrls(sys.argv[1]), ServiceConfig()) as services:
        print(os.getpid(), flush=True)
        account_id = int(os.read(0, 64))  # blocks the loop, so that no background task sends a command meanwhile
        await services.accounts.delete(account_id=account_id)
        print("deleted", flush=True)
        os._exit(0)

while True:
    child = os.fork()
    if child == 0:
        asyncio.run(delete())
    os.waitpid(child, 0)
"""


@contextmanager
def deleting_processes(url: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Start a process that forks one process after another; each deletes the account whose id it reads."""
    command = [sys.executable, "-c", DELETING, url]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        try:
            yield parent.stdin, parent.stdout
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


async def test_a_deletion_is_complete_or_has_not_begun_after_a_crash_at_any_step(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    """After an even number of replies the worker continues alone, after an odd one the person repeats the deletion."""
    (reader,) = await world.people("reader")
    states = []
    with FaultProxy(redis_server.socket) as proxy, deleting_processes(proxy.url) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            leaving = await world.person(f"leaving_{replies}")
            await leaving.follows(reader)
            await leaving.publishes("hello")
            await world.deliver_all()
            if not await delete_and_die(proxy, stdin, stdout, leaving, replies):
                break
            account = await services.accounts.find(leaving.id)
            if replies % 2 and account is not None and account.state == ACTIVE:
                await services.accounts.delete(account_id=leaving.id)
            await world.deliver_all()
            states.append(await check_all_or_nothing(services, leaving, reader))
    assert states[0] == ACTIVE
    assert states[1:] == [DELETED] * (len(states) - 1)
    assert 4 < len(states) < MAX_REPLIES


async def delete_and_die(proxy: FaultProxy, stdin: IO[bytes], stdout: IO[bytes], leaving: Person, replies: int) -> bool:
    """Kill the process after it received so many replies. Return False if the deletion ended before."""
    pid = int(stdout.readline())
    proxy.drop_replies_after(replies, Fault.DROP)
    stdin.write(b"%d" % leaving.id)
    stdin.flush()
    os.set_blocking(stdout.fileno(), False)
    answer: list[bytes] = []

    def is_over() -> bool:
        answer.extend(filter(None, [stdout.readline()]))
        return bool(answer) or proxy.until_swallowed is None

    await eventually(is_over, 20)
    os.set_blocking(stdout.fileno(), True)
    if answer:
        return False
    os.kill(pid, signal.SIGKILL)
    proxy.set_fault(Fault.PASS)
    return True


async def check_all_or_nothing(services: Services, leaving: Person, reader: Person) -> str:
    """Return the state of the account, whose data must be complete, or completely deleted."""
    account = await services.accounts.find(leaving.id)
    assert account is not None
    is_active = account.state == ACTIVE
    assert len(await leaving.profile_ids()) == is_active
    assert await services.repositories.follows.is_following(leaving.id, reader.id) == is_active
    return account.state
