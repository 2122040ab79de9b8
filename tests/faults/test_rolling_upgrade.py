"""During a rolling upgrade two releases share one store: each reads the other's data without loss.

`OLD_RELEASE` names another commit as the old release; `UPGRADE_SECONDS=60` makes each step longer. The test fails
in a shallow clone, which has no old release.
"""

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import releases
from tests.support.load import TimedLoad
from tests.support.outages import count_jobs
from tests.support.redis_server import RedisServer
from tests.support.sites import ProductionSite
from tests.support.visitor import JSON_HEADERS, HttpVisitor
from tests.support.waiting import wait_until

OLD = os.environ.get("OLD_RELEASE", releases.PREVIOUS)
STEP_S = float(os.environ.get("UPGRADE_SECONDS", "2"))
PAGES = ("/", "/public/", "/@{handle}/", "/@{handle}/followers/", "/lists/", "/tags/both/", "/accounts/settings/")

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


@pytest.fixture
def sites(server: RedisServer, tmp_path: Path) -> Iterator[tuple[ProductionSite, ProductionSite]]:
    """Start the web processes of the old and the new release; the test itself starts workers."""
    key = secrets.token_urlsafe(50)
    old_root = releases.unpack_release(OLD, tmp_path / "old")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    old = ProductionSite(server.url, tmp_path / "a", root=old_root, SECRET_KEY=key)
    new = ProductionSite(server.url, tmp_path / "b", SECRET_KEY=key)
    try:
        for site in (old, new):
            site.start_web()
        for site in (old, new):
            site.wait_until_ready()
        yield old, new
    finally:
        old.stop()
        new.stop()


def test_old_and_new_serve_side_by_side_and_read_each_others_posts(
    server: RedisServer, sites: tuple[ProductionSite, ProductionSite], tmp_path: Path
) -> None:
    old, new = sites
    pulse = TimedLoad([old.url, new.url], tmp_path, people=4)
    with pulse:
        old.start_worker()  # only an old worker
        time.sleep(STEP_S)
        new.start_worker()  # both
        time.sleep(STEP_S)
    wait_until(lambda: count_jobs(server) == 0, timeout_s=60)
    ledger_audit = pulse.audit()
    print(f"{OLD} and this: {ledger_audit}")
    assert ledger_audit.is_clean, ledger_audit
    assert set(pulse.outcomes) == {"post 201", "read 200"}, pulse.outcomes
    both_see_the_same(pulse.people, sites)
    react(pulse.people[1], pulse.people[3])
    wait_until(lambda: count_jobs(server) == 0, timeout_s=60)
    both_see_the_same(pulse.people, sites)
    statuses = {
        page: status for site in sites for person in pulse.people for page, status in read_all_pages(site, person)
    }
    assert set(statuses.values()) == {200}, statuses
    with server.client() as client:
        assert client.xlen("jobs:{outbox}:dead") == 0
    assert "Traceback" not in old.log + new.log, (old.log + new.log)[-3000:]


def react(one: HttpVisitor, other: HttpVisitor) -> None:
    """Boost, like, bookmark, reply and delete; the workers of both releases take the jobs."""
    stranger = HttpVisitor(str(one.http.base_url), "stranger").sign_up()
    post = stranger.publishes("to be boosted #both")
    for path, fields in (
        (f"/posts/{post['id']}/boost/", {}),
        (f"/posts/{post['id']}/like/", {}),
        (f"/posts/{post['id']}/bookmark/", {}),
        ("/posts/", {"text": "for followers #both", "audience": "followers"}),
        ("/posts/", {"text": "@stranger an answer #both", "in_reply_to": post["id"]}),
    ):
        assert one.post(path, **fields).status_code in (200, 201), path
    assert other.post(f"/posts/{post['id']}/boost/").status_code == 200
    one.deletes(one.publishes("soon gone #both"))


def texts_at(site: ProductionSite, person: HttpVisitor) -> dict[str, str]:
    """Return the texts of the home's entries by id, as one release shows them."""
    with HttpVisitor(site.url) as device:
        device.http.cookies.update(person.http.cookies)
        return {post["id"]: post["text"] for post in device.timeline("/")}


def read_all_pages(site: ProductionSite, person: HttpVisitor) -> Iterator[tuple[str, int]]:
    """Read every page in HTML and JSON from one release, with a session that either release opened."""
    with HttpVisitor(site.url) as device:
        device.http.cookies.update(person.http.cookies)
        for path in PAGES:
            for headers in ({}, JSON_HEADERS):
                address = path.format(handle=person.handle)
                answer = device.http.get(address, headers=headers)
                yield f"{site.url}{address} {headers}", answer.status_code


def both_see_the_same(people: list[HttpVisitor], sites: tuple[ProductionSite, ProductionSite]) -> None:
    for person in people:
        assert texts_at(sites[0], person) == texts_at(sites[1], person)
