"""Members of staff with a browser."""

from collections.abc import Awaitable, Callable

from accounts.roles import Role
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.support.visitor import PASSWORD


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
