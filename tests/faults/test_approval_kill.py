"""A process that approves an account, or stores a report, is killed by SIGKILL after any of its replies.

A repetition of the approval lets the account in. A report is stored with all its index entries, or not at all.
"""

from contextlib import suppress

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import Caller
from tests.support.dying_process import dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.visitor import PASSWORD
from tests.support.world import World
from timelines.audit.audit import Audit
from timelines.errors import AlreadyReported

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

MAX_REPLIES = 40
APPROVE = """
async def act(services, line):
    decider_id, account_id = map(int, line.split())
    await services.joining.approve(account_id, decider_id)
"""
REPORT = """
async def act(services, line):
    reporter_id, target_id, post_id = map(int, line.split())
    await services.reports.report(
        reporter_id=reporter_id, target_id=target_id, category="spam", comment="rude", post_ids=[post_id]
    )
"""


async def test_an_approval_whose_process_is_killed_is_finished_by_the_page_of_staff(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    sam = await world.person("sam")
    await services.staff.set_role(sam.id, "moderator")
    await services.site.change(joining="approval")
    killed = approved = 0
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, APPROVE) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            account = await services.joining.sign_up(
                handle=f"person{replies}", password=PASSWORD, display_name="",
                reason="I would like to talk about trains.", caller=Caller(None, "192.0.2.7"),
            )  # fmt: skip
            id = AccountId(account.id)
            await services.repositories.mails.change(id, address=f"p{replies}@example.org", language="en")
            was_killed = await run_and_die(proxy, stdin, stdout, f"{sam.id} {id}".encode(), replies)
            killed += was_killed
            page, _next = await services.joining.waiting(0, 50)
            is_active = (await services.accounts.get(id)).is_active
            approved += is_active
            assert [each.author.id for each in page] == ([] if is_active else [id])
            assert await services.joining.count_waiting() == len(page)
            if not is_active:
                await services.joining.approve(id, sam.id)
            found = await services.autocomplete.complete_accounts(f"person{replies}", viewer_id=sam.id, limit=5)
            assert [mail.kind for mail in await services.mail.list_mails(id)] == ["approved"]
            assert found
            if not was_killed:
                break
    assert 5 < killed < MAX_REPLIES
    assert approved > 2


async def test_a_report_whose_process_is_killed_is_stored_whole_or_not_at_all(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    bob, killed = await world.person("bob"), 0
    post = await bob.publishes("a rude post")
    await world.deliver_all()
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, REPORT) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            person = await world.person(f"person{replies}")
            was_killed = await run_and_die(proxy, stdin, stdout, f"{person.id} {bob.id} {post.id}".encode(), replies)
            killed += was_killed
            own = await services.reports.own(person.id, 10)
            with suppress(AlreadyReported):
                await services.reports.report(
                    reporter_id=person.id, target_id=bob.id, category="spam", comment="rude", post_ids=[post.id]
                )
                assert own == []
            (report,) = await services.reports.own(person.id, 10)
            assert len(await services.reports.reports.find_posts(report.id)) == 1
            assert report.id in await services.reports.reports.open_ids(bob.id, 100)
            if not was_killed:
                break
    assert 3 < killed < MAX_REPLIES
    audit = await Audit(services.audit_context, second_check_after_s=0.1).run()
    assert [each for each in audit.discrepancies if "report" in each.kind] == []
