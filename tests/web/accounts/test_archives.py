"""The pages of exports and imports, and the download of an archive by its owner alone."""

import zipfile
from http import HTTPStatus
from io import BytesIO

import httpx
from msgspec import structs

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.contract.importing.test_import_archives import note
from tests.contract.importing.test_imports_by_people import mastodon
from tests.support.browser import HttpBrowser
from tests.support.imports import perform_transfers

PAGE = "/accounts/archive/"


async def test_an_archive_is_made_shown_and_downloaded_with_the_password(alice: HttpBrowser, site: Services) -> None:
    await alice.publish("A post of mine")
    assert "Make my archive" in (await alice.get(PAGE)).text
    assert (await alice.post(PAGE)).headers["location"] == PAGE
    page = (await alice.get(PAGE)).text
    assert "Your archive is being made" in page
    assert '<a href="/accounts/archive/">Show progress</a>' in page
    assert 'http-equiv="refresh"' not in page
    await perform_transfers(site)
    page = (await alice.get(PAGE)).text
    assert "Your archive is ready" in page
    notifications = (await alice.get("/notifications/")).text
    assert "Your archive is ready" in notifications
    assert 'href="/accounts/archive/"' in notifications
    archive = (await alice.get_json(PAGE)).json()["archive"]
    response = await alice.get(f"{PAGE}{archive['id']}/")
    assert response.status_code == HTTPStatus.OK
    assert int(response.headers["content-length"]) == len(response.content) == archive["size"]
    assert response.headers["content-disposition"].startswith('attachment; filename="alice-')
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "no-store" in response.headers["cache-control"]
    assert "index.html" in zipfile.ZipFile(BytesIO(response.content)).namelist()


async def test_requests_for_the_account_are_events_of_its_security_page(alice: HttpBrowser) -> None:
    await alice.post(PAGE)
    await alice.post_json("/accounts/sessions/", session="all")
    assert (await alice.log_in("alice")).status_code == HTTPStatus.OK
    events = (await alice.get_json("/accounts/security/")).json()["events"]
    assert {"archive_requested", "sessions_ended"} < {event["kind"] for event in events}


async def test_an_archive_is_downloaded_by_its_owner_only(
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


async def test_an_archive_needs_a_fresh_confirmation(alice: HttpBrowser, site: Services, monkeypatch) -> None:
    archive = (await alice.post_json(PAGE)).json()["archive"]
    await perform_transfers(site)
    monkeypatch.setattr("accounts.factors.step_up.STEP_UP_TTL_MS", 0)
    assert (await alice.get(f"{PAGE}{archive['id']}/")).headers["location"].startswith("/accounts/confirm/?next=")
    request = await alice.post(PAGE, next=PAGE)
    assert request.headers["location"] == "/accounts/confirm/?next=%2Faccounts%2Farchive%2F"
    assert (await alice.post_json(PAGE)).json()["error"] == "confirmation_needed"
    assert (await alice.get_json(PAGE)).json()["archive"]["id"] == archive["id"]


IMPORT = "/accounts/import/"


async def upload_file(browser: HttpBrowser, file: bytes, **fields: str) -> httpx.Response:
    files = {"file": ("<b>archive.zip", file, "application/zip")}
    await browser.fetch_csrf_token()
    return await browser.http.post(IMPORT, files=files, data=fields, headers={"X-CSRFToken": browser.csrf_token})


async def test_a_file_is_read_shown_imported_and_undone_on_its_page(alice: HttpBrowser, site: Services) -> None:
    await alice.publish("A post of mine")
    archive = mastodon(note(1), note(2), {"type": "Announce", "object": "x"}, files={"a": b"\0" * 200_000})
    assert "What is in the file" in (await alice.get(IMPORT)).text
    assert (await upload_file(alice, archive)).headers["location"] == IMPORT
    page = (await alice.get(IMPORT)).text
    assert "The file is being read." in page
    assert "&lt;b&gt;archive.zip" in page
    await perform_transfers(site)
    page = (await alice.get(IMPORT)).text
    assert "2 posts, 1 refused:" in page
    assert "boosts of other people&#x27;s posts" in page
    (transfer,) = (await alice.get_json(IMPORT)).json()["imports"]
    assert (transfer["state"], transfer["counts"], transfer["refused"]) == (
        "ready",
        {"posts": 2, "pictures": 0},
        {"boost": 1},
    )
    await alice.post(f"{IMPORT}{transfer['id']}/confirm/")
    await perform_transfers(site)
    page = (await alice.get(IMPORT)).text
    assert "This import is finished." in page
    assert "Undo this import" in page
    notifications = (await alice.get("/notifications/")).text
    assert "Your import is finished" in notifications
    assert 'href="/accounts/import/"' in notifications
    assert len(await alice.post_ids("/@alice/")) == 3
    await upload_file(alice, b"Account address\nunknown_person\n", content="following")
    await perform_transfers(site)
    page = (await alice.get(IMPORT)).text
    assert "0 accounts, 1 refused:" in page
    assert "Import now" not in page
    await alice.post(f"{IMPORT}{transfer['id']}/undo/")
    await perform_transfers(site)
    assert "This import is undone." in (await alice.get(IMPORT)).text
    assert len(await alice.post_ids("/@alice/")) == 1


async def test_a_refused_upload_shows_its_reason_beside_the_field(
    alice: HttpBrowser, visitor: HttpBrowser, site: Services
) -> None:
    response = await upload_file(alice, b"", content="following")
    assert response.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert 'id="id_file_error"' in response.text
    assert '<option value="following" selected>' in response.text
    assert (await upload_file(visitor, b"x" * 100_000)).status_code == HTTPStatus.SEE_OTHER
    await upload_file(alice, b"no archive")
    (transfer,) = await site.repositories.transfers.all(AccountId(1))
    await site.repositories.transfers.save(AccountId(1), structs.replace(transfer, changed_ms=0))
    page = (await alice.get(IMPORT)).text
    assert f"/accounts/import/{transfer.id}/discard/" in page, "its job is lost"
    assert 'type="file"' in page
    await site.repositories.transfers.save(AccountId(1), transfer)
    await perform_transfers(site)
    assert "This is not an archive that this site can read." in (await alice.get(IMPORT)).text
