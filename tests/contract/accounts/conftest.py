"""Fixtures for accounts and sessions. `world` here has no posts and no worker."""

import pytest

from accounts.models import Account
from socialsite.store import Store
from tests.support.account_world import AccountWorld


@pytest.fixture
async def world(store: Store) -> AccountWorld:
    return AccountWorld(store)


@pytest.fixture
async def alice(world: AccountWorld) -> Account:
    return await world.sign_up("alice")
