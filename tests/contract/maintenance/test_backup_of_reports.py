"""What staff decides and reads: a restore brings it back, and the deletion of an account ends it."""

import pytest

from accounts.errors import AccountNotFound
from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.sanctions import SanctionService
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import Caller
from socialsite.maintenance.scanning import scan_store
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.requests import FormFields
from tests.support.backups import restore_backup, write_backup
from tests.support.redis_server import RedisServer
from tests.support.visitor import PASSWORD
from tests.support.world import World
from timelines.audit import Audit
from timelines.errors import PostHeld
from timelines.publishing.forms import PostForm

REASON = "I would like to talk about trains, my canaryreason."


class ModeratedSite:
    """A site with everything that staff decides: Bob is reported, sanctioned, appeals and invites; Nora waits."""

    def __init__(self, services: Services, world: World) -> None:
        self.services, self.world = services, world
        self.sanctions = SanctionService(services)

    async def build(self) -> None:
        services = self.services
        self.sam, self.bob, self.carol = await self.world.people("sam", "bob", "carol")
        await services.staff.set_role(self.sam.id, "owner")
        actor = Actor(self.sam.id, "abad1dea")
        await services.site.change(joining="approval", members_invite=True, rules=["Be kind."], name="Ours")
        await services.site.announce("Hello.", starts_ms=0, ends_ms=0, now_ms=services.clock.now_ms())
        code = await services.joining.invite(self.bob.account, uses=2, days="7", note="friends")
        await self._sign_up("gina", str(code))
        post = await self.bob.publishes("a rude post")
        for person, target in ((self.carol, self.bob), (self.bob, self.carol)):
            await services.reports.report(reporter_id=person.id, target_id=target.id, category="spam", comment="bad")
        closed = await services.reports.report(
            reporter_id=self.carol.id, target_id=self.bob.id, category="other", comment="", post_ids=[post.id]
        )
        for kind in ("limit", "warning", "note"):
            made = await self.sanctions.apply(actor, self.bob.id, kind, "Please be kind.", [closed.id])
            if kind == "limit":
                await services.sanctions.appeal(self.bob.id, made.id, "I think that this decision is wrong.")
        self.nora = await self._sign_up("nora")
        self.olga = await self._sign_up("olga")
        await services.joining.approve(self.olga, self.sam.id)
        await services.site.change(holds_first_links=True)
        with pytest.raises(PostHeld):
            await services.publishing.publish_form(
                PostForm.parse(FormFields([("text", "see https://example.com")])),
                author_id=self.bob.id,
                now_ms=services.clock.now_ms(),
            )

    async def _sign_up(self, handle: str, code: str = "") -> AccountId:
        caller = Caller(None, "192.0.2.7")
        account = await self.services.joining.sign_up(
            handle=handle, password=PASSWORD, display_name="", code=code, reason=REASON, caller=caller
        )
        return AccountId(account.id)

    async def read(self, services: Services) -> list[object]:
        """Return everything that staff and Bob read."""
        await services.site.refresh()
        sanctions, bob = SanctionService(services), await services.accounts.get(self.bob.id)
        return [
            services.site.settings,
            services.site.announcements,
            (bob.limited, bob.has_sanctions),
            await services.repositories.sanctions.list_all(self.bob.id),
            await sanctions.list_appeals(0, 10),
            await services.staff.list_roles(),
            await services.joining.waiting(0, 10),
            await services.joining.invitations(self.bob.id),
            await services.joining.find_application(self.olga),
            await services.reports.queue(self.sam.id),
            await services.reports.closed(self.sam.id),
            await services.reports.own(self.carol.id, 10),
            await services.drafts.held(0, 10),
            (await AuditLog(services.store).search(50))[0],
        ]


@pytest.fixture
async def moderated(services: Services, world: World) -> ModeratedSite:
    site = ModeratedSite(services, world)
    await site.build()
    return site


async def test_a_restore_restores_the_decisions_of_staff(
    moderated: ModeratedSite, world: World, redis_server: RedisServer, tmp_path
) -> None:
    before = await moderated.read(moderated.services)
    assert all(before)
    await write_backup(moderated.services, tmp_path / "site.backup")
    with RedisServer() as other:
        async with open_services(other.url, ServiceConfig()) as restored:
            await restore_backup(restored, tmp_path / "site.backup")
            assert not (await restored.rebuild_after_restore.run()).discrepancies
            assert await moderated.read(restored) == before


async def test_a_deletion_leaves_no_data_of_the_account_with_staff(moderated: ModeratedSite, world: World) -> None:
    services, bob = moderated.services, moderated.bob
    for account_id in (bob.id, moderated.olga):
        await services.accounts.delete(account_id=account_id)
        await world.deliver_all()
    assert await services.repositories.sanctions.list_all(bob.id) == []
    assert await moderated.sanctions.list_appeals(0, 10) == ([], None)
    assert await services.repositories.sanctions.appeals.oldest(1) == []
    assert await services.joining.invitations(bob.id) == {}
    assert (await services.drafts.held(0, 10))[0] == []
    entries, _next = await services.reports.queue(moderated.sam.id)
    assert [each.account_id for each in entries] == [moderated.carol.id]
    reports = await services.reports.own(moderated.carol.id, 10)
    assert {each.outcome for each in reports} == {"acted", "account_deleted"}
    (kept,) = await services.reports.reports.about(moderated.carol.id, 10)
    assert kept.reporter_id == 0
    found = [key async for some in scan_store(services.store) for key in some if f"{{{bob.id}}}" in str(key)]
    assert {str(key).rpartition(":")[2] for key in found} == {"account"}, found
    for account_id in (bob.id, moderated.olga):
        assert (await services.accounts.get(account_id)).state == "deleted"
        assert "canaryreason" not in (await services.joining.find_application(account_id)).reason
        with pytest.raises(AccountNotFound):
            await services.accounts.restrict(account_id, "limit", 1)
    report = await Audit(services.audit_context, second_check_after_s=0.1).run()
    assert [str(each) for each in report.discrepancies] == []
