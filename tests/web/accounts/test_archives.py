"""The page of the export, and its download by its owner alone."""

import zipfile
from http import HTTPStatus
from io import BytesIO

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.support.transferring import perform_transfers

PAGE = "/accounts/archive/"


async def test_an_archive_is_made_shown_and_downloaded_with_the_password(alice: HttpBrowser, site: Services) -> None:
    await alice.publish("A post of mine")
    assert "Make my archive" in (await alice.get(PAGE)).text
    assert (await alice.post(PAGE)).headers["location"] == PAGE
    page = (await alice.get(PAGE)).text
    assert "Your archive is being made" in page
    assert 'http-equiv="refresh"' in page
    await perform_transfers(site)
    page = (await alice.get(PAGE)).text
    assert "Your archive is ready" in page
    archive = (await alice.get_json(PAGE)).json()["archive"]
    response = await alice.get(f"{PAGE}{archive['id']}/")
    assert response.status_code == HTTPStatus.OK
    assert int(response.headers["content-length"]) == len(response.content) == archive["size"]
    assert response.headers["content-disposition"].startswith('attachment; filename="alice-')
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "no-store" in response.headers["cache-control"]
    assert "index.html" in zipfile.ZipFile(BytesIO(response.content)).namelist()


async def test_nobody_else_downloads_an_archive(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser, site: Services
) -> None:
    archive = (await alice.post_json(PAGE)).json()["archive"]
    address = f"{PAGE}{archive['id']}/"
    assert (await alice.get_json(address)).status_code == HTTPStatus.NOT_FOUND, "it is not ready"
    await perform_transfers(site)
    assert (await bob.get_json(address)).status_code == HTTPStatus.NOT_FOUND
    assert (await visitor.get_json(address)).status_code == HTTPStatus.UNAUTHORIZED
    (transfer,) = await site.repositories.transfers.all(AccountId(1))
    name = transfer.file_name(AccountId(1)).removeprefix("archives/")
    assert (await alice.get(f"/media/{name}")).status_code == HTTPStatus.NOT_FOUND


async def test_a_download_needs_a_fresh_confirmation(alice: HttpBrowser, site: Services, monkeypatch) -> None:
    archive = (await alice.post_json(PAGE)).json()["archive"]
    await perform_transfers(site)
    monkeypatch.setattr("accounts.factors.step_up.STEP_UP_TTL_MS", 0)
    response = await alice.get(f"{PAGE}{archive['id']}/")
    assert response.status_code == HTTPStatus.SEE_OTHER
    assert response.headers["location"].startswith("/accounts/confirm/?next=")
