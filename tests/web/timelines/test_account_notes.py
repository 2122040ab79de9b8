"""Private notes about accounts: only their writer reads them, on the profile, by the API and in the archive."""

import pytest

from accounts.errors import FieldErrors
from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.world import World
from tests.web.api.conftest import open_api  # noqa: F401  # a fixture
from timelines import keys
from timelines.errors import NotesCapReached
from timelines.graph.follow import NOTE_MAX_LENGTH


async def test_only_the_writer_reads_a_note(site: Services, alice: HttpBrowser, bob: HttpBrowser) -> None:
    answer = await alice.post("/@bob/note/", comment=" met in <Rome>\r\nin spring ")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/@bob/")
    page = (await alice.get("/@bob/")).text
    assert "<details" in page
    assert "data-note open>" in page
    assert ">met in &lt;Rome&gt;\nin spring</textarea>" in page
    assert (await alice.get_json("/@bob/")).json()["viewer"]["note"] == "met in <Rome>\nin spring"
    for path in ("/@bob/", "/@alice/"):
        assert "Rome" not in (await bob.get(path)).text
    assert "data-note" not in (await bob.get("/@bob/")).text, "no note about oneself"
    await alice.post("/@bob/note/", comment=" ")
    page = (await alice.get("/@bob/")).text
    assert "data-note>" in page
    assert "Rome" not in page


async def test_notes_have_a_length_and_a_cap(site: Services, world: World) -> None:
    dave, erin, frank = await world.people("dave", "erin", "frank")
    service = site.blocks_and_mutes
    service.notes_cap = 1
    with pytest.raises(FieldErrors):
        await service.set_note(account_id=dave.id, other_id=erin.id, note="x" * (NOTE_MAX_LENGTH + 1))
    await service.set_note(account_id=dave.id, other_id=erin.id, note="x" * NOTE_MAX_LENGTH)
    await service.set_note(account_id=dave.id, other_id=erin.id, note="changed at the cap")
    with pytest.raises(NotesCapReached):
        await service.set_note(account_id=dave.id, other_id=frank.id, note="too many")
    await service.set_note(account_id=dave.id, other_id=erin.id, note="")
    await service.set_note(account_id=dave.id, other_id=frank.id, note="now there is room")
    assert await site.repositories.blocks_and_mutes.notes(dave.id) == {frank.id: "now there is room"}
    await site.purging.purge(dave.id)
    key = keys.account_notes(dave.id)
    assert await site.store.component("timelines")[key].execute("EXISTS", key) == 0


async def test_apps_write_and_read_notes(site: Services, world: World, open_api) -> None:  # noqa: F811
    heidi = await world.person("heidi")
    api, other = await open_api("grace"), await open_api("ivan")
    written = (await api.post(f"/api/v1/accounts/{heidi.id}/note", comment="tall")).json()
    assert (written["id"], written["note"]) == (str(heidi.id), "tall")
    query = {"id[]": str(heidi.id)}
    assert (await api.get("/api/v1/accounts/relationships", **query)).json() == [written]
    assert (await other.get("/api/v1/accounts/relationships", **query)).json()[0]["note"] == ""
    url = f"/api/v1/accounts/{heidi.id}/note"
    assert (await api.post(url, comment="x" * (NOTE_MAX_LENGTH + 1))).status_code == 422
    assert (await (await open_api("grace", "read")).post(url, comment="x")).status_code == 403
    assert (await api.post("/api/v1/accounts/999/note", comment="x")).status_code == 404
    assert (await api.post(url)).json()["note"] == ""
    await site.accounts.suspend(account_id=heidi.id)
    assert (await api.post(url, comment="x")).status_code == 404
