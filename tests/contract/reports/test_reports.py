"""Reports: stored once, kept with the posts as they were, claimed by one staff member, closed once."""

import asyncio

import pytest
from msgspec import structs

from accounts.errors import AccountNotFound
from socialsite.admin.audit_log import Actor
from socialsite.admin.sanctions import SanctionService
from socialsite.clock import DAY_MS
from socialsite.container import Services
from socialsite.errors import Invalid, RateLimited
from socialsite.ids import AccountId, PostId
from socialsite.limits import Caller
from tests.support.world import Person, World
from timelines.errors import AlreadyReported, CannotDecideOwnReport, ReportClaimed, ReportClosed, ReportNotFound
from timelines.posts.post import FOLLOWERS
from timelines.reports import repository, service
from timelines.reports.report import NOBODY, REPORTS_CAP, Report


async def report(services: Services, reporter: Person, target: Person, *post_ids: PostId, **fields: object) -> Report:
    values = {"category": "spam", "comment": "", **fields}
    return await services.reports.report(
        reporter_id=reporter.id,
        target_id=target.id,
        post_ids=post_ids,
        **values,  # type: ignore[arg-type]
    )


async def stored(services: Services, found: Report) -> Report:
    (newest,) = await services.repositories.reports.find_many([found.id])
    return newest


async def age(services: Services, found: Report, days: int) -> None:
    """Move the end of a closed report into the past."""
    ms = days * DAY_MS
    await services.repositories.reports.replace(found.id, lambda it: structs.replace(it, closed_ms=it.closed_ms - ms))


async def test_a_report_keeps_its_posts_as_they_were(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    posts = [await bob.publishes("rude words"), await bob.publishes("more of it"), await carol.publishes("mine")]
    made = await report(services, alice, bob, *(post.id for post in posts))
    assert set(made.post_ids) == {posts[0].id, posts[1].id}, "a post of another account is left out"
    await bob.edits(posts[0], "kind words")
    await bob.deletes(posts[1])
    kept = await services.repositories.reports.find_posts(made.id)
    assert sorted(post.text for post in kept) == ["more of it", "rude words"]


async def test_a_reporter_reports_only_visible_posts(alice: Person, bob: Person, services: Services) -> None:
    hidden = await bob.publishes("for followers", audience=FOLLOWERS)
    assert (await report(services, alice, bob, hidden.id)).post_ids == ()
    await alice.follows(bob)
    assert (await report(services, alice, bob, hidden.id)).post_ids == (hidden.id,)


async def test_the_rules_are_stored_as_they_were(alice: Person, bob: Person, services: Services) -> None:
    await services.site.change(rules=["Be kind", "No spam"])
    made = await report(services, alice, bob, category="violation", rule_numbers=[1, 7])
    await services.site.change(rules=["Other"])
    assert (await stored(services, made)).rules == ("No spam",)


async def test_an_app_may_report_its_own_account_as_in_mastodon(alice: Person, services: Services) -> None:
    made = await report(services, alice, alice)
    assert (await stored(services, made)).target_id == alice.id


async def test_a_wrong_report_is_refused(alice: Person, bob: Person, services: Services) -> None:
    with pytest.raises(Invalid):
        await report(services, alice, bob, category="odd")
    with pytest.raises(Invalid):
        await report(services, alice, bob, comment="x" * 1001)
    await services.accounts.suspend(account_id=bob.id)
    with pytest.raises(AccountNotFound):
        await report(services, alice, bob)


async def test_a_repeated_report_is_refused(world: World, services: Services) -> None:
    alice, bob, staff = await world.people("alice", "bob", "staff")
    first, second = await bob.publishes("one"), await bob.publishes("two")
    of_post = await report(services, alice, bob, first.id)
    with pytest.raises(AlreadyReported):
        await report(services, alice, bob, first.id)
    await report(services, alice, bob, first.id, second.id)
    of_account = await report(services, alice, bob)
    with pytest.raises(AlreadyReported):
        await report(services, alice, bob)
    await services.reports.close(staff.id, [of_post.id, of_account.id], "no_breach")
    await report(services, alice, bob)
    with pytest.raises(AlreadyReported):  # the same post was judged
        await report(services, alice, bob, first.id)


async def test_concurrent_reports_of_one_post_are_stored_once(alice: Person, bob: Person, services: Services) -> None:
    post = await bob.publishes("one")
    results = await asyncio.gather(*(report(services, alice, bob, post.id) for _ in range(4)), return_exceptions=True)
    assert [type(each) for each in results if isinstance(each, Exception)] == [AlreadyReported] * 3
    assert (await services.reports.open_reports()).open_reports == 1


async def test_reports_have_a_limit_for_a_minute_and_a_day(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "NEW_REPORTER_PER_DAY", 2)
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    caller = Caller(alice.id, "192.0.2.7")
    await report(services, alice, bob, caller=caller)
    with pytest.raises(AlreadyReported):  # a refused report is not counted
        await report(services, alice, bob, caller=caller)
    await report(services, alice, carol, caller=caller)
    with pytest.raises(RateLimited) as error:
        await report(services, alice, dave, caller=caller)
    assert error.value.rule == "reports"


async def test_the_queue_has_one_entry_for_each_account(world: World, services: Services) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    first = await report(services, alice, carol)
    await report(services, alice, bob, category="legal")
    await report(services, dave, carol, category="legal")
    reports = services.repositories.reports
    entries, after = await reports.queue(limit=10)
    assert [(each.account_id, each.counts) for each in entries] == [
        (carol.id, {"spam": 1, "legal": 1}),
        (bob.id, {"legal": 1}),
    ]
    assert entries[0].oldest_id == first.id
    assert after is None
    assert [each.account_id for each in (await reports.queue(10, category="spam"))[0]] == [carol.id]
    page, after = await reports.queue(limit=1)
    assert [each.account_id for each in page] == [carol.id]
    assert after is not None
    page, after = await reports.queue(1, after)
    assert ([each.account_id for each in page], after) == ([bob.id], None)
    assert (await services.reports.open_reports()) == (3, first.created_ms)


async def test_one_of_two_staff_members_gets_the_claim(world: World, services: Services) -> None:
    alice, bob, one, two = await world.people("alice", "bob", "one", "two")
    made = await report(services, alice, bob)
    results = await asyncio.gather(
        services.reports.claim(one.id, made.id), services.reports.claim(two.id, made.id), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in results) == ["Report", "ReportClaimed"]
    claim = await services.repositories.reports.find_claim(bob.id)
    assert claim is not None
    winner, loser = (one, two) if claim.staff_id == one.id else (two, one)
    with pytest.raises(ReportClaimed):
        await services.reports.close(loser.id, [made.id], "no_breach")
    await services.reports.claim(loser.id, made.id, "They are on holiday: I go on.")
    claim = await services.repositories.reports.find_claim(bob.id)
    assert claim is not None
    assert claim.reason == "They are on holiday: I go on."
    with pytest.raises(ReportClaimed):
        await services.reports.claim(winner.id, made.id)
    assert len(await services.reports.close(loser.id, [made.id])) == 1
    with pytest.raises(ReportClosed):
        await services.reports.close(winner.id, [made.id])
    assert await services.repositories.reports.find_claim(bob.id) is None


async def test_one_of_two_staff_members_closes_a_report(world: World, services: Services) -> None:
    alice, bob, one, two = await world.people("alice", "bob", "one", "two")
    made = await report(services, alice, bob)
    results = await asyncio.gather(
        services.reports.close(one.id, [made.id], "acted"),
        services.reports.close(two.id, [made.id], "no_breach"),
        return_exceptions=True,
    )
    closed = [each for each in results if isinstance(each, list)]
    assert len(closed) == 1
    assert [type(each) for each in results if isinstance(each, Exception)] in ([ReportClaimed], [ReportClosed])
    assert await stored(services, made) == closed[0][0]


async def test_a_claim_ends_after_an_hour(world: World, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob, one, two = await world.people("alice", "bob", "one", "two")
    made = await report(services, alice, bob)
    monkeypatch.setattr(service, "CLAIM_MS", -1)
    await services.reports.claim(one.id, made.id)
    await services.reports.claim(two.id, made.id)


async def test_staff_decides_no_report_about_itself(world: World, services: Services) -> None:
    alice, staff = await world.people("alice", "staff")
    made = await report(services, alice, staff)
    for attempt in (services.reports.claim(staff.id, made.id), services.reports.close(staff.id, [made.id])):
        with pytest.raises(CannotDecideOwnReport):
            await attempt
    with pytest.raises(ReportNotFound):
        await services.reports.claim(staff.id, PostId(5))


async def test_a_reporter_is_notified_once_of_the_outcome(world: World, services: Services) -> None:
    alice, bob, staff = await world.people("alice", "bob", "staff")
    made = await report(services, alice, bob)
    await services.reports.close(staff.id, [made.id], "acted")
    await services.reports.maintain()
    page = await services.notifications.page(alice.id)
    assert [(each.kind.name, each.author.id) for each in page.entries] == [("report_closed", alice.id)]
    assert (await services.notifications.page(bob.id)).entries == ()


async def test_a_crash_before_the_notification_is_repaired_by_a_worker(world: World, services: Services) -> None:
    alice, bob, staff = await world.people("alice", "bob", "staff")
    made = await report(services, alice, bob)
    now_ms = services.clock.now_ms() - 5

    def close(it: Report) -> Report:
        return structs.replace(it, outcome="acted", closed_ms=now_ms, closed_by=staff.id)

    await services.repositories.reports.replace(made.id, close)  # the process is killed here
    await services.reports.maintain()
    assert [each.kind.name for each in (await services.notifications.page(alice.id)).entries] == ["report_closed"]


async def test_closed_reports_are_deleted_after_their_time(world: World, services: Services) -> None:
    alice, bob, staff = await world.people("alice", "bob", "staff")
    old, new = await report(services, alice, bob, (await bob.publishes("one")).id), await report(services, alice, bob)
    await services.reports.close(staff.id, [old.id, new.id])
    await age(services, old, 91)
    await age(services, new, 89)
    await services.reports.maintain()
    reports = services.repositories.reports
    assert [each.id for each in await reports.by(alice.id, 10)] == [new.id]
    assert await reports.find_posts(old.id) == ()
    assert [each.id for each in await reports.closed(10)] == [new.id]


async def test_the_cap_drops_the_report_that_was_closed_first(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "REPORTS_CAP", 4)
    alice, staff, *others = await world.people("alice", "staff", "b", "c", "d", "e", "f")
    made = [await report(services, alice, each) for each in others[:4]]
    await services.reports.close(staff.id, [made[2].id])
    await services.reports.close(staff.id, [made[0].id, made[3].id])
    made.append(await report(services, alice, others[4]))
    assert {each.id for each in await services.repositories.reports.by(alice.id, 10)} == {
        made[i].id for i in (0, 1, 3, 4)
    }


async def test_a_full_queue_removes_a_report_of_the_reporter_with_most_reports(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "REPORTS_CAP", 12)
    *honest, staff = await world.people("alice", "bob", "carol", "dave", "staff")
    hostile, targets = await world.people("x", "y", "z"), await world.people(*"abcdefgh")
    kept = [await report(services, each, targets[0], category="legal") for each in honest[:3]]
    closed = await report(services, honest[3], targets[1])
    await services.reports.close(staff.id, [closed.id], "no_breach")
    for target in targets[1:]:
        for each in hostile:
            await report(services, each, target)
    about_nobody = await report(services, honest[3], targets[0])
    assert (await services.reports.open_reports()).open_reports == 11
    for each in (*kept, closed, about_nobody):
        assert (await services.repositories.reports.find_many([each.id])) != [], each
    newest = [(await services.repositories.reports.by(each.id, 10))[0].target_id for each in hostile]
    assert newest == [targets[-1].id] * 3


async def test_a_full_queue_removes_no_claimed_report(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "REPORTS_CAP", 2)
    alice, staff, *targets = await world.people("alice", "staff", "a", "b", "c")
    made = [await report(services, alice, each) for each in targets[:2]]
    await services.reports.claim(staff.id, made[0].id)
    await report(services, alice, targets[2])
    assert [each.target_id for each in await services.repositories.reports.by(alice.id, 10)] == [
        targets[2].id,
        targets[0].id,
    ]


async def test_an_account_of_the_last_days_reports_less(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "NEW_REPORTER_PER_DAY", 1)
    alice, bob, carol = await world.people("alice", "bob", "carol")
    caller = Caller(alice.id, "192.0.2.7")
    await report(services, alice, bob, caller=caller)
    with pytest.raises(RateLimited):
        await report(services, alice, carol, caller=caller)
    created_ms = services.clock.now_ms() - service.NEW_REPORTER_MS
    await services.repositories.accounts.edit(alice.id, {"created_ms": str(created_ms)})
    await report(services, alice, carol, caller=caller)


async def test_a_deleted_account_leaves_no_name_and_no_open_report(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    by_alice, about_alice = await report(services, alice, bob), await report(services, carol, alice)
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    by, about = await stored(services, by_alice), await stored(services, about_alice)
    assert (by.reporter_id, by.is_open) == (NOBODY, True)
    assert (about.outcome, about.closed_by) == ("account_deleted", NOBODY)
    assert await services.repositories.reports.by(alice.id, 10) == []
    assert [each.kind.name for each in (await services.notifications.page(carol.id)).entries] == ["report_closed"]


async def test_the_cap_is_more_than_staff_reads(services: Services) -> None:
    assert repository.ACCOUNTS_SCANNED_MAX < REPORTS_CAP
    assert (await services.reports.open_reports()) == (0, None)
    assert await services.repositories.reports.count(AccountId(7)) == (0, 0)


async def test_a_sanction_closes_its_reports_and_only_one_staff_member_acts(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    staff = [
        await services.accounts.sign_up(
            handle=handle, password=None, now_ms=services.clock.now_ms(), staff=True, allow_reserved=True
        )
        for handle in ("one", "two")
    ]
    made = await report(services, alice, bob)
    sanctions = SanctionService(services)
    results = await asyncio.gather(
        *(
            sanctions.apply(Actor(each.id, "abad1dea"), bob.id, "warning", "Be kind.", report_ids=[made.id])
            for each in staff
        ),
        return_exceptions=True,
    )
    assert sorted(isinstance(each, ReportClaimed | ReportClosed) for each in results) == [False, True]
    closed = await stored(services, made)
    assert closed.outcome == "acted"
    with pytest.raises(ReportNotFound):  # a report about another account
        await sanctions.apply(Actor(staff[0].id, "abad1dea"), alice.id, "warning", "Be kind.", report_ids=[made.id])
    (sanction,) = await services.repositories.sanctions.list_all(bob.id)
    assert sanction.actor_id == closed.closed_by
    (entry,) = (await services.notifications.page(alice.id)).entries
    assert entry.kind.name == "report_closed"
