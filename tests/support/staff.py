"""Members of staff, their browsers, and the audit log."""

from collections.abc import Awaitable, Callable

from accounts.roles import Role
from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.support.visitor import PASSWORD
from tests.support.world import World


async def open_staff(
    site: Services, open_browser: Callable[[], Awaitable[HttpBrowser]], handle: str = "sam", role: Role = "owner"
) -> HttpBrowser:
    """Create an account with the role, and log it in."""
    now_ms = site.clock.now_ms()
    account = await site.accounts.sign_up(handle=handle, password=PASSWORD, now_ms=now_ms, allow_reserved=True)
    await site.staff.set_role(AccountId(account.id), role)
    browser = await open_browser()
    assert (await browser.log_in(handle)).status_code == 200
    return browser


async def staff_member(services: Services, world: World, handle: str, role: Role) -> Actor:
    person = await world.person(handle)
    await services.staff.set_role(person.id, role)
    return Actor(person.id, "abad1dea")


async def staff_actions(services: Services) -> list[tuple[str, str]]:
    """Return the actions and details of the audit log, oldest first."""
    entries = (await AuditLog(services.store).search(100))[0]
    return [(entry.action, entry.detail) for entry in reversed(entries)]
