"""The logo of the site: uploaded and removed by staff, shown on every page, also to visitors of a members-only site."""

import httpx

from socialsite.container import Services
from tests.contract.media.test_media import DAY_LATER, check_later
from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.support.pictures import encode_all, encode_meanwhile, picture, uploaded
from tests.web.site.conftest import OpenStaff
from timelines.audit import Audit

PATH = "/ops/site/logo/"


async def send(
    site: Services, browser: HttpBrowser, content: bytes = b"", *, json: bool = True, **fields: str
) -> httpx.Response:
    """Upload a logo, and encode it meanwhile."""
    headers = {"X-CSRFToken": browser.csrf_token} | (JSON_HEADERS if json else {})
    files = {"file": ("logo.png", content or picture(format="PNG"), "image/png")}
    return await encode_meanwhile(site, browser.http.post(PATH, data=fields, files=files, headers=headers))


async def test_a_logo_is_shown_replaced_and_removed(site: Services, sam: HttpBrowser, visitor: HttpBrowser) -> None:
    addresses = []
    for crop in ("0.25,0,0.5,1", ""):
        answer = await send(site, sam, crop=crop)
        assert answer.status_code == 200, answer.text
        addresses.append(f"/logo/{answer.json()['logo']}/small.webp")
        page = (await visitor.get("/about/")).text
        assert f'<img class="mark" src="{addresses[-1]}"' in page
        assert f'{addresses[-1].replace("small", "full")}">' in page.partition('property="og:image"')[2]
        logo = await visitor.get(addresses[-1])
        assert (logo.status_code, logo.headers["content-type"]) == (200, "image/webp")
    await site.media_deletion.check_due()
    assert (await visitor.get(addresses[0])).status_code == 404
    for _day in range(2):
        assert await check_later(site, DAY_LATER) == 0  # a process that has not read the settings keeps the logo
    report = await Audit(site.audit_context, second_check_after_s=0).run()
    assert not [kind for kind in report.damage + report.leftovers if "picture" in kind]
    assert (await visitor.get(addresses[1])).status_code == 200
    await site.site.change(members_only=True)
    assert (await visitor.get(addresses[1])).status_code == 200
    await site.site.change(members_only=False)
    assert (await sam.post_json(PATH, remove="1")).json()["logo"] == ""
    assert '<svg class="mark"' in (await visitor.get("/about/")).text
    assert await site.media_deletion.check_due() == 1
    assert (await visitor.get(addresses[1])).status_code == 404


async def test_the_address_of_the_logo_serves_no_other_picture(site: Services, visitor: HttpBrowser) -> None:
    row = await site.media.upload(
        owner_id=(await site.accounts.sign_up(handle="nora", password="x" * 12, now_ms=site.clock.now_ms())).id,
        content=uploaded(picture()), kind="avatar",
    )  # fmt: skip
    await encode_all(site)
    assert (await visitor.get(f"/media/{row.name}/small.webp")).status_code == 200
    assert (await visitor.get(f"/logo/{row.name}/small.webp")).status_code == 404


async def test_a_file_that_is_no_picture_is_refused_beside_the_field(site: Services, sam: HttpBrowser) -> None:
    answer = await send(site, sam, b"no picture", json=False)
    assert answer.status_code == 422
    assert "Choose a JPEG, PNG, GIF or WebP picture." in answer.text.partition('id="logo-file_error"')[2][:300]
    assert set((await send(site, sam, b"no picture")).json()["fields"]) == {"file"}
    assert site.site.settings.logo == ""


async def test_staff_without_the_right_uploads_nothing(
    site: Services, alice: HttpBrowser, open_staff: OpenStaff
) -> None:
    assert (await send(site, alice)).status_code == 404
    assert (await send(site, await open_staff(site, "moderator"))).status_code == 403
    assert site.site.settings.logo == ""
