"""Pictures in the API: uploads, their encoding, posts with pictures, and the pictures of a profile."""

from http import HTTPStatus
from typing import Any

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.api import ApiClient
from tests.support.pictures import encode_all, encode_meanwhile, picture, uploaded
from tests.web.api.conftest import OpenApi
from timelines.api.entities.status import card_entity
from timelines.media.media import SITE_OWNER
from timelines.media.service import MediaService
from timelines.previews.preview import LinkPreview

MEDIA, STATUSES = "/api/v2/media", "/api/v1/statuses"
PROFILE = "/api/v1/accounts/update_credentials"


async def upload(client: ApiClient, site: Services, **fields: str) -> dict[str, Any]:
    sent = await client.http.post(MEDIA, files={"file": ("a.jpg", picture((1501, 1003)))}, data=fields)
    assert sent.status_code == HTTPStatus.ACCEPTED, sent.text
    assert sent.json()["url"] is None
    url = f"/api/v1/media/{sent.json()['id']}"
    assert (await client.get(url)).status_code == HTTPStatus.PARTIAL_CONTENT
    await encode_all(site)
    ready = await client.get(url)
    assert ready.status_code == HTTPStatus.OK
    media: dict[str, Any] = ready.json()
    return media


async def test_a_post_has_pictures_and_a_poll(open_api: OpenApi, site: Services) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    media = await upload(alice, site)
    poll = {"options": ["tea", "milk"], "expires_in": 3600}
    posted = (await alice.post(STATUSES, status="", media_ids=[media["id"]], poll=poll)).json()
    status = (await bob.get(f"{STATUSES}/{posted['id']}")).json()
    assert [each["id"] for each in status["media_attachments"]] == [media["id"]]
    voted = await bob.post(f"/api/v1/polls/{status['poll']['id']}/votes", choices=[1])
    assert (voted.json()["own_votes"], voted.json()["votes_count"]) == ([1], 1)
    page = (await bob.http.get(f"/@alice/{posted['id']}/", headers={"Accept": "text/html"})).text
    assert page.count('data-poll="') == 1
    assert "/media/" in page


async def test_a_picture_is_processed_described_and_posted(open_api: OpenApi, site: Services) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    media = await upload(alice, site, description="Tea", focus="0.5,-0.5")
    assert (media["description"], media["meta"]["focus"]) == ("Tea", {"x": 0.5, "y": -0.5})
    assert media["url"].startswith("http://testserver/media/")
    url = f"/api/v1/media/{media['id']}"
    assert (await alice.http.put(url, data={"description": "Green tea"})).json()["description"] == "Green tea"
    assert (await bob.get(url)).status_code == 404
    status = (await alice.post(STATUSES, status="", media_ids=[media["id"]])).json()
    attachment = status["media_attachments"][0]
    assert attachment["description"] == "Green tea"
    row = await site[MediaService].find_own(AccountId(int(status["account"]["id"])), int(media["id"]))
    small = attachment["meta"]["small"]
    assert (small["width"], small["height"]) == (row.small_width, row.small_height) != (row.width, row.height)
    page = (await alice.get(f"/api/v1/accounts/{status['account']['id']}/statuses", only_media="true")).json()
    assert [each["id"] for each in page] == [status["id"]]
    attributes = [{"id": media["id"], "description": "Mint tea"}]
    edited = await alice.http.put(
        f"{STATUSES}/{status['id']}", json={"media_ids": [media["id"]], "media_attributes": attributes}
    )
    assert edited.json()["media_attachments"][0]["description"] == "Mint tea"


NUMBERED = "media_attributes[{0}][id]={1}&media_attributes[{0}][{2}]={3}"


@pytest.mark.parametrize("form", ["json", "numbered", "unnumbered"])
async def test_an_edit_changes_pictures_by_different_fields(open_api: OpenApi, site: Services, form: str) -> None:
    """Apps send null for an absent description (mastodon/documentation#1239, elk-zone/elk#2267)."""
    alice = await open_api("alice")
    first, second = [await upload(alice, site, description=text) for text in ("one", "two")]
    ids = [first["id"], second["id"]]
    status = (await alice.post(STATUSES, status="tea", media_ids=ids)).json()
    objects = [
        {"id": ids[0], "description": "new", "focus": None},
        {"id": ids[1], "description": None, "focus": "0.5,1"},
    ]
    changes: dict[str, Any] = {"json": {"status": "tea", "media_ids": ids, "media_attributes": objects}}
    if form != "json":
        parts = [NUMBERED.format(0, ids[0], "description", "new"), NUMBERED.format(1, ids[1], "focus", "0.5,1")]
        body = "&".join(["status=tea", *(f"media_ids[]={each}" for each in ids), *parts])
        body = body if form == "numbered" else body.replace("[0]", "[]").replace("[1]", "[]")
        changes = {"content": body, "headers": {"Content-Type": "application/x-www-form-urlencoded"}}
    edited = await alice.http.put(f"{STATUSES}/{status['id']}", **changes)
    assert edited.status_code == 200, edited.text
    attachments = edited.json()["media_attachments"]
    assert [each["description"] for each in attachments] == ["new", "two"]
    assert [each["meta"]["focus"] for each in attachments] == [{"x": 0.0, "y": 0.0}, {"x": 0.5, "y": 1.0}]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [("1.0000001,-1.2", (1.0, -1.0)), ("NaN,NaN", (0.0, 0.0)), ("Infinity,0", (1.0, 0.0)),
     ("-0,42,0,45", (-0.42, 0.45))],
)  # fmt: skip
async def test_a_focal_point_is_read_as_apps_write_it(
    open_api: OpenApi, site: Services, sent: str, stored: tuple[float, float]
) -> None:
    """Programs round and divide by zero (mastodon/mastodon#29222), and write numbers as their language does
    (GeopJr/Tuba#1327), and the picture would be lost."""
    media = await upload(await open_api("alice"), site, focus=sent)
    assert media["meta"]["focus"] == {"x": stored[0], "y": stored[1]}


async def test_elements_of_a_list_may_be_numbered(open_api: OpenApi, site: Services) -> None:
    """PHP writes `media_ids[0]` (danito/KnownMastodon#6). The post lost its pictures and its poll."""
    alice = await open_api("alice")
    media = await upload(alice, site)
    with_picture = await alice.http.post(STATUSES, data={"status": "tea", "media_ids[0]": media["id"]})
    assert [each["id"] for each in with_picture.json()["media_attachments"]] == [media["id"]]
    poll = {"poll[options][0]": "tea", "poll[options][1]": "coffee", "poll[expires_in]": "3600"}
    asked = await alice.http.post(STATUSES, data={"status": "what?", **poll})
    assert [each["title"] for each in asked.json()["poll"]["options"]] == ["tea", "coffee"]


async def test_an_edit_removes_the_warning_and_the_pictures_that_it_leaves_out(
    open_api: OpenApi, site: Services
) -> None:
    """Clients leave out fields that became empty. A list without elements is no field of a form, nor of JSON."""
    alice = await open_api("alice")
    empty: dict[str, Any] = {"media_ids": [], "spoiler_text": "", "sensitive": False}
    for fields in ({}, empty):
        media = await upload(alice, site)
        sent = {"media_ids": [media["id"]], "spoiler_text": "cw", "sensitive": True}
        status = (await alice.post(STATUSES, status="one", **sent)).json()
        url = f"{STATUSES}/{status['id']}"
        policy = await alice.http.put(f"{url}/interaction_policy", json={"quote_approval_policy": "nobody"})
        assert len(policy.json()["media_attachments"]) == 1
        edited = (await alice.http.put(url, json={"status": "two", **fields})).json()
        assert (edited["media_attachments"], edited["spoiler_text"], edited["sensitive"]) == ([], "", False)


async def test_apps_load_pictures_for_followers_by_the_key_of_their_urls(open_api: OpenApi, site: Services) -> None:
    """Apps send neither a cookie nor a token for a picture."""
    alice, bob, visitor = await open_api("alice"), await open_api("bob"), await open_api()
    uploaded = await upload(alice, site)
    assert (await visitor.get(uploaded["preview_url"])).status_code == HTTPStatus.OK
    fields = {"status": "x", "media_ids": [uploaded["id"]]}
    post = (await alice.post(STATUSES, visibility="private", **fields)).json()
    await bob.post(f"/api/v1/accounts/{post['account']['id']}/follow")
    (media,) = (await bob.get(f"{STATUSES}/{post['id']}")).json()["media_attachments"]
    other_key = uploaded["url"].partition("?")[2]
    for url in (media["url"], media["preview_url"]):
        shown = await visitor.get(url)
        assert (shown.status_code, shown.headers["cache-control"][:7]) == (HTTPStatus.OK, "private")
        assert shown.headers["access-control-allow-origin"] == "*"  # web clients draw the picture
        bare = url.partition("?")[0]
        for wrong in (bare, f"{bare}?key=", f"{bare}?{other_key}", url[:-1]):
            assert (await visitor.get(wrong)).status_code == HTTPStatus.NOT_FOUND
    await alice.http.delete(f"{STATUSES}/{post['id']}")
    assert (await visitor.get(media["url"])).status_code == HTTPStatus.NOT_FOUND
    public = (await alice.post(STATUSES, status="y", media_ids=[(await upload(alice, site))["id"]])).json()
    assert "?" not in public["media_attachments"][0]["url"]
    uploaded = await upload(alice, site)
    post = (await alice.post(STATUSES, status="z", visibility="private", media_ids=[uploaded["id"]])).json()
    (media,) = post["media_attachments"]
    assert (await visitor.get(media["url"])).status_code == HTTPStatus.OK
    await site.accounts.suspend(account_id=AccountId(int(post["account"]["id"])))
    assert (await visitor.get(media["url"])).status_code == HTTPStatus.NOT_FOUND


async def test_apps_of_a_members_only_site_load_every_picture_by_the_key_of_its_url(
    open_api: OpenApi, site: Services
) -> None:
    alice, visitor = await open_api("alice"), await open_api()
    upload_id = (await upload(alice, site))["id"]
    preview = await site.media.upload(owner_id=SITE_OWNER, kind="preview", content=uploaded(picture()))
    await encode_meanwhile(site, alice.http.patch(PROFILE, files={"avatar": ("a.jpg", picture())}))
    status = (await alice.post(STATUSES, status="x", media_ids=[upload_id])).json()
    url = f"{STATUSES}/{status['id']}"
    await site.site.change(members_only=True)
    own = (await alice.get(PROFILE.replace("update", "verify"))).json()
    status, (version,) = (await alice.get(url)).json(), (await alice.get(f"{url}/history")).json()
    (row,) = await site.repositories.media_rows.find_many([preview.id])
    card = card_entity(LinkPreview("https://example.org/", "x", picture=row and row.attachment), "", needs_keys=True)
    media = status["media_attachments"][0]
    shown = [
        own["avatar"], status["account"]["avatar"], media["url"], media["preview_url"],
        version["media_attachments"][0]["url"], card["image"],
    ]  # fmt: skip
    for each in shown:
        served = await visitor.get(each)
        assert (served.status_code, served.headers["cache-control"][:7]) == (HTTPStatus.OK, "private"), each
        bare = each.partition("?")[0]
        assert (await visitor.get(bare)).status_code == HTTPStatus.SEE_OTHER
        for key in ("", "x", each[-32:][::-1]):
            assert (await visitor.get(f"{bare}?key={key}")).status_code == HTTPStatus.NOT_FOUND
    await site.site.change(members_only=False)
    assert "?" not in (await alice.get(url)).json()["account"]["avatar"]


async def test_a_deleted_post_leaves_its_pictures_to_the_next_post(open_api: OpenApi, site: Services) -> None:
    alice = await open_api("alice")
    media = await upload(alice, site)
    for delete_media in ("false", "true"):
        status = await alice.post(STATUSES, status="with a picture", media_ids=[media["id"]])
        assert status.status_code == 200, status.text
        deleted = await alice.http.delete(f"{STATUSES}/{status.json()['id']}?delete_media={delete_media}")
        assert deleted.json()["media_attachments"][0]["id"] == media["id"]
        await site.media_deletion.check_due()
    assert (await alice.post(STATUSES, status="again", media_ids=[media["id"]])).status_code == 422


async def test_a_file_that_is_no_picture_and_a_missing_scope_are_refused(open_api: OpenApi) -> None:
    alice, reader = await open_api("alice"), await open_api("alice", "read")
    for files in ({"file": ("a.txt", b"text")}, {}):
        assert (await alice.http.post(MEDIA, files=files, data={"x": "1"})).status_code == 422
    assert (await reader.http.post(MEDIA, files={"file": ("a.jpg", picture())})).status_code == 403
    assert (await (await open_api()).http.post(MEDIA, files={"file": ("a.jpg", picture())})).status_code == 401


async def test_a_profile_gets_both_pictures_in_one_request(open_api: OpenApi, site: Services) -> None:
    alice = await open_api("alice")
    files = {"avatar": ("a.jpg", picture(), "image/jpeg"), "header": ("b.jpg", picture(), "image/jpeg")}
    answer = await encode_meanwhile(site, alice.http.patch(PROFILE, files=files, data={"display_name": "Alice Ä."}))
    account = answer.json()
    assert account["display_name"] == "Alice Ä."
    assert "/media/" in account["avatar"]
    assert "/media/" in account["header"]
    assert (await alice.http.delete("/api/v1/profile/avatar")).json()["avatar"].endswith("missing.png")
    account = (await alice.http.delete("/api/v1/profile/header")).json()
    assert account["header"].endswith("missing.png")
    profile = (await alice.get("/api/v1/profile")).json()
    assert (profile["id"], profile["display_name"]) == (account["id"], "Alice Ä.")
    assert (await alice.http.patch("/api/v1/profile", data={"note": "a <b>"})).json()["note"] == "a <b>"
