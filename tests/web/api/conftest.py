"""Fixtures for tests of the API: clients with access tokens."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from socialsite.asgi import application
from socialsite.container import Services
from tests.support.api import ALL_SCOPES, ApiClient, create_token
from tests.support.world import World

OpenApi = Callable[..., Awaitable[ApiClient]]


@pytest.fixture
async def open_api(site: Services, world: World) -> AsyncIterator[OpenApi]:
    """Return `open_api()` for a visitor; `open_api("alice", "read")` has a token of the account, which it creates."""
    opened: list[ApiClient] = []

    async def start(handle: str | None = None, scopes: str = ALL_SCOPES) -> ApiClient:
        token = ""
        if handle is not None:
            if await site.accounts.find_by_handle(handle) is None:
                await world.people(handle)
            token = await create_token(site, handle, scopes)
        client = ApiClient(application, token=token)
        opened.append(client)
        return client

    yield start
    for client in opened:
        await client.http.aclose()
