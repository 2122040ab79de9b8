"""Fixtures for tests of the pages of the site: members of staff."""

from collections.abc import Awaitable, Callable

import pytest

from accounts.roles import Role
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.web.conftest import OpenBrowser

OpenStaff = Callable[..., Awaitable[HttpBrowser]]


@pytest.fixture
def open_staff(open_browser: OpenBrowser) -> OpenStaff:
    """Return `open_staff(services, role)`, which opens the browser of a new member of staff."""

    async def start(site: Services, role: Role = "owner") -> HttpBrowser:
        browser = await open_browser(f"member{len(role)}")
        account = await site.accounts.get_by_handle(f"member{len(role)}")
        await site.staff.set_role(AccountId(account.id), role)
        return browser

    return start


@pytest.fixture
async def sam(site: Services, open_staff: OpenStaff) -> HttpBrowser:
    return await open_staff(site)
