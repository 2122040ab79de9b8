"""Drafts and scheduled posts through HTTP."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.browser import HttpBrowser


def soon(minutes: int = 60) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M")


async def test_a_draft_is_listed_opened_and_published(alice: HttpBrowser, bob: HttpBrowser) -> None:
    answer = await alice.post("/drafts/", text="half a thought", spoiler_text="work")
    assert (answer.status_code, answer.headers["location"]) == (303, "/drafts/")
    (draft,) = (await alice.get_json("/drafts/")).json()["drafts"]
    assert (draft["params"], draft["scheduled_at"]) == ({"text": ["half a thought"], "spoiler_text": ["work"]}, None)
    assert "half a thought" in (await alice.get("/drafts/")).text
    page = (await alice.get(f"/drafts/{draft['id']}/")).text
    assert "half a thought" in page
    assert f'name="draft" value="{draft["id"]}"' in page
    assert (await bob.get(f"/drafts/{draft['id']}/")).status_code == 404
    await bob.post(f"/drafts/{draft['id']}/delete/")
    assert (await alice.post_json("/posts/", text="a whole thought", draft=draft["id"])).status_code == 201
    assert (await alice.get_json("/drafts/")).json()["drafts"] == []


async def test_an_empty_form_deletes_its_draft(alice: HttpBrowser) -> None:
    draft = (await alice.post_json("/drafts/", text="x")).json()
    assert (await alice.post_json("/drafts/", text=" ", draft=draft["id"])).json() == {}
    assert (await alice.get_json("/drafts/")).json()["drafts"] == []


async def test_a_post_with_a_time_is_scheduled(alice: HttpBrowser) -> None:
    answer = await alice.post("/posts/", text="tomorrow", scheduled_at=soon())
    assert (answer.status_code, answer.headers["location"]) == (303, "/drafts/")
    (draft,) = (await alice.get_json("/drafts/")).json()["drafts"]
    assert draft["scheduled_at"].startswith(soon()[:13])
    assert f'value="{soon()[:13]}' in (await alice.get(f"/drafts/{draft['id']}/")).text
    assert "Will be published" in (await alice.get("/drafts/")).text
    assert (await alice.get_json("/@alice/")).json()["posts"] == []
    assert (await alice.post(f"/drafts/{draft['id']}/delete/")).status_code == 303
    assert (await alice.get_json("/drafts/")).json()["drafts"] == []


@pytest.mark.parametrize("address", ["/posts/", "/drafts/"])
async def test_a_form_that_is_sent_twice_schedules_one_post(alice: HttpBrowser, address: str) -> None:
    form = {"text": "once", "scheduled_at": soon(), "idempotency_key": "k1"}
    for _ in range(2):
        assert (await alice.post_json(address, **form)).status_code == 201
    (draft,) = (await alice.get_json("/drafts/")).json()["drafts"]
    await alice.post(f"/drafts/{draft['id']}/delete/")
    assert (await alice.post_json(address, **{**form, "text": "another text"})).status_code == 409
    # The form of a draft: sent again after its post was published, and with another time
    again = {**form, "draft": draft["id"]}
    assert (await alice.post_json(address, **again)).json()["id"] == draft["id"]
    assert (await alice.post_json(address, **{**again, "scheduled_at": soon(90)})).json()["id"] == draft["id"]
    assert len((await alice.get_json("/drafts/")).json()["drafts"]) == 1


async def test_a_wrong_time_is_refused_and_the_text_is_kept(alice: HttpBrowser) -> None:
    for text in (soon(1), "tomorrow", "9999-99-99T00:00", "9999-12-31T23:59:59.999999"):
        answer = await alice.post("/posts/", text="kept", scheduled_at=text)
        assert answer.status_code == 422
        assert "kept</textarea>" in answer.text
        assert list((await alice.post_json("/posts/", text="x", scheduled_at=text)).json()["fields"]) == [
            "scheduled_at"
        ]
