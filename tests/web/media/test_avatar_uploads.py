"""Avatars over HTTP: the files of former avatars."""

import asyncio

import pytest

from socialsite.container import Services
from tests.contract.media.test_media import DAY_LATER, check_later
from tests.support.pictures import encode_meanwhile, picture
from timelines.media.deletion import DELETION_MS
from timelines.media.storage import list_files


async def test_a_request_that_dies_after_a_new_avatar_leaves_no_file_of_the_former(alice, site: Services, monkeypatch):
    await set_avatar(alice, site)
    assert await check_later(site, DAY_LATER + 2 * DELETION_MS) == 0  # the avatar is used: no check is left
    accounts = type(site.accounts)
    set_picture = accounts.set_picture

    async def set_and_die(*args, **options) -> None:
        await set_picture(*args, **options)
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(accounts, "set_picture", set_and_die)
        with pytest.raises(asyncio.CancelledError):
            await set_avatar(alice, site)
    assert len(list(list_files())) == 4
    assert await check_later(site) == 1
    assert len(list(list_files())) == 2


async def set_avatar(browser, site: Services) -> None:
    headers = {"Accept": "application/json", "X-CSRFToken": browser.csrf_token}
    files = {"file": ("a.jpg", picture(), "image/jpeg")}
    answer = await encode_meanwhile(site, browser.http.post("/accounts/settings/avatar/", files=files, headers=headers))
    assert answer.status_code == 200, answer.text
