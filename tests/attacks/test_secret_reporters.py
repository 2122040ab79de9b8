"""A reported person never learns who reported: no page, answer of the API, live message or file names the reporter."""

import json
import zipfile
from io import BytesIO

from socialsite.admin.audit_log import Actor
from socialsite.admin.sanctions import SanctionService
from socialsite.asgi import application
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.api import ApiClient, create_token
from tests.support.browser import HttpBrowser
from tests.support.imports import perform_transfers
from tests.support.redis_server import RedisServer
from tests.support.routes import api_routes, routes
from tests.support.staff import open_staff
from tests.support.world import World
from tests.web.conftest import OpenBrowser

REPORTER = "canaryreporter"
COMMENT = "canarycomment"


async def read_all_pages(
    site: Services, reported: HttpBrowser, reported_id: AccountId, post_id: str, report_id: PostId
) -> dict[str, str]:
    """Return what the reported person reads: each page, each answer of the API, and each file of the archive."""
    api = ApiClient(application, token=await create_token(site, "reported"))
    seen: dict[str, str] = {}
    for route in [*routes(), *api_routes()]:
        if "GET" in route.methods and "logout" not in route.path:
            for path in (
                route.path.replace("/7/", f"/{post_id}/").replace("alice", "reported"),
                route.path.replace("/7", f"/{reported_id}"),
            ):
                client_of = api.http if route in api_routes() else reported.http
                seen[path] = (await client_of.get(path)).text
                seen[f"{path} as JSON"] = (await reported.get_json(path)).text
    seen["/reports/ of the report"] = (await reported.get(f"/ops/reports/{report_id}/")).text
    await reported.post("/accounts/archive/")
    await perform_transfers(site)
    archive = (await reported.get_json("/accounts/archive/")).json()["archive"]
    content = (await reported.get(f"/accounts/archive/{archive['id']}/")).content
    with zipfile.ZipFile(BytesIO(content)) as opened:
        seen |= {name: opened.read(name).decode("utf-8", "replace") for name in opened.namelist()}
    return seen


async def test_a_reported_person_never_reads_who_reported(
    site: Services, world: World, open_browser: OpenBrowser, redis_server: RedisServer
) -> None:
    reported, reporter = await open_browser("reported"), await open_browser(REPORTER)
    await open_staff(site, open_browser)
    staff = await site.accounts.get_by_handle("sam")
    post = await reported.publish("a rude post")
    reported_id = AccountId((await site.accounts.get_by_handle("reported")).id)
    secrets = (REPORTER, COMMENT)
    with redis_server.client() as client:
        messages = client.pubsub(ignore_subscribe_messages=True)
        messages.psubscribe("*")
        messages.get_message(timeout=5)
        made = await reporter.post_json("/reports/new/", post=post["id"], category="spam", comment=COMMENT, mute="on")
        assert made.status_code == 201
        report_id = PostId(int(made.json()["id"]))
        await site.reports.claim(AccountId(staff.id), report_id)
        await SanctionService(site).apply(
            Actor(staff.id, "abad1dea"), reported_id, "warning", "Please be kind.", report_ids=[report_id]
        )
        await world.deliver_all()
        sent = b""
        while message := messages.get_message(timeout=0.2):
            sent += message["data"] + message["channel"]
    assert not [secret for secret in secrets if secret.encode() in sent]
    assert (await reporter.get_json("/reports/")).json()["reports"][0]["comment"] == COMMENT, "the words are stored"
    seen = await read_all_pages(site, reported, reported_id, post["id"], report_id)
    assert "a rude post" in json.dumps(seen)
    found = {path for path, text in seen.items() for secret in secrets if secret in text}
    assert {path for path in found if not path.startswith(("/public/", "/search/", "/api/v2/suggestions"))} == set()
