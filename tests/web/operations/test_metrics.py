"""/metrics is complete, available only to inside addresses, and one page for all processes of a machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from socialsite.web import health
from tests.support.browser import HttpBrowser
from tests.support.daphnes import ROOT, DaphneFleet
from tests.support.random_tests import mostly_nightly
from tests.support.world import World

INSIDE, OUTSIDE = "127.0.0.1", "203.0.113.9"


def samples(text: str) -> dict[str, float]:
    """Map `name{label="value"}` to its value."""
    values: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            values[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return values


async def scraped(browser: HttpBrowser) -> dict[str, float]:
    answer = await browser.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return samples(answer.text)


@pytest.fixture
async def prometheus(site, open_browser) -> HttpBrowser:
    return await open_browser(address=INSIDE)


async def test_metrics_are_404_for_outside_addresses(site, open_browser):
    stranger = await open_browser(address=OUTSIDE)
    assert (await stranger.get("/metrics")).status_code == 404


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "Via"])
async def test_metrics_are_404_through_a_proxy_whatever_its_headers(prometheus, header):
    assert (await prometheus.http.get("/metrics", headers={header: INSIDE})).status_code == 404


async def test_a_scraper_may_use_the_ip_address_of_the_site(prometheus, settings):
    settings.ALLOWED_HOSTS = ["social.example.org"]
    for path in ("/metrics", "/livez", "/readyz"):
        assert (await prometheus.http.get(path, headers={"Host": "10.0.0.7:8000"})).status_code == 200
    assert (await prometheus.http.get("/public/", headers={"Host": "10.0.0.7:8000"})).status_code == 400


async def test_a_domain_name_that_is_not_the_sites_reads_no_probe(prometheus, settings):
    settings.ALLOWED_HOSTS = ["social.example.org"]
    for path in ("/metrics", "/livez", "/readyz"):
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "localhost@evil.example"):
            assert (await prometheus.http.get(path, headers={"Host": host})).status_code == 400
        for host in ("localhost:8000", "[::1]:8000", "social.example.org"):
            assert (await prometheus.http.get(path, headers={"Host": host})).status_code == 200


async def test_metrics_with_a_token_are_404_without_it(prometheus, settings):
    settings.METRICS_TOKEN = "secret"
    assert (await prometheus.get("/metrics")).status_code == 404
    for given, status in (("Bearer wrong", 404), ("secret", 404), ("Bearer secret", 200)):
        assert (await prometheus.http.get("/metrics", headers={"Authorization": given})).status_code == status


async def test_requests_are_counted_by_view_and_class_of_status(prometheus, alice):
    before = await scraped(prometheus)
    await alice.get("/public/")
    await alice.get("/@nobody/")
    await alice.get("/no/such/page/")
    after = await scraped(prometheus)
    for view, status in (("timelines:public", "2xx"), ("timelines:profile", "4xx"), ("none", "4xx")):
        name = f'socialsite_request_seconds_count{{status="{status}",view="{view}"}}'
        assert after[name] - before.get(name, 0) == 1
    assert not any('view="metrics"' in name for name in after)


async def test_a_post_is_counted_from_request_to_delivery(prometheus, alice, bob, world: World, site):
    await bob.post("/@alice/follow/")
    before = await scraped(prometheus)
    await alice.publish("hello")
    while_pending = await scraped(prometheus)
    assert while_pending['socialsite_outbox_jobs{state="waiting"}'] == 1
    assert while_pending["socialsite_outbox_oldest_seconds"] > 0
    assert while_pending['socialsite_queue_jobs{queue="outbox",state="waiting"}'] == 1
    assert while_pending['socialsite_queue_jobs{queue="media",state="waiting"}'] == 0
    await world.deliver_all()
    after = await scraped(prometheus)
    increases = {name: after[name] - before.get(name, 0) for name in after}
    assert increases["socialsite_posts_total"] == 1
    assert increases["socialsite_publish_seconds_count"] == 1
    assert increases["socialsite_deliveries_total"] >= 1
    assert increases["socialsite_post_to_home_seconds_count"] >= 1
    assert after['socialsite_outbox_jobs{state="waiting"}'] == 0
    assert sum(value for name, value in increases.items() if "redis_round_trip_seconds_count" in name) > 3


async def test_a_visitor_sent_to_log_in_does_not_count_as_publishing(prometheus, visitor):
    before = await scraped(prometheus)
    answer = await visitor.post("/posts/", text="hello")
    after = await scraped(prometheus)
    assert answer.status_code == 303
    assert after["socialsite_publish_seconds_count"] == before["socialsite_publish_seconds_count"]


async def test_refusals_are_counted_by_rule(limited_site, open_browser):
    prometheus, alice = await open_browser(address=INSIDE), await open_browser("alice")
    before = (await scraped(prometheus)).get('socialsite_refusals_total{rule="post"}', 0)
    for _ in range(4):
        await alice.post("/posts/", text="again")
    assert (await scraped(prometheus))['socialsite_refusals_total{rule="post"}'] - before == 1


async def test_every_component_and_node_has_a_metric(prometheus):
    values = await scraped(prometheus)
    assert all(values[f'socialsite_component_up{{component="{name}"}}'] == 1 for name in health.COMPONENTS)
    assert any(name.startswith("socialsite_redis_used_bytes") and value > 0 for name, value in values.items())


async def test_metrics_contain_no_personal_data(prometheus, alice):
    await alice.publish("a secret word")
    text = (await prometheus.get("/metrics")).text
    assert "alice" not in text
    assert "secret" not in text


@pytest.mark.parametrize("deaths", mostly_nightly([1, 2], 1))
async def test_all_processes_of_a_machine_share_one_page_and_counters_never_fall(redis_url, tmp_path, deaths):
    place = tmp_path / "metrics"
    async with DaphneFleet(redis_url, 2, METRICS_DIR=str(place)) as fleet:
        page_counts = []
        for dying in (None, *range(deaths)):
            if dying is not None:
                await fleet.restart(dying)
            async with httpx.AsyncClient(base_url=fleet.origin, headers={"Connection": "close"}) as client:
                for _ in range(10):
                    await client.get("/public/")
                values = samples((await client.get("/metrics")).text)
            page_counts.append(values['socialsite_request_seconds_count{status="2xx",view="timelines:public"}'])
    assert page_counts == [10, 20, 30][: deaths + 1]
    memory = [name for name in values if name.startswith("socialsite_process_resident_bytes")]
    assert len(memory) == 2, "one for each process that lives"
    assert len(list(place.glob("*.alive"))) == 2, "marks of dead processes are cleared away"


def test_an_unusable_metrics_directory_does_not_stop_a_process(tmp_path):
    (tmp_path / "file").write_text("")
    answer = subprocess.run(
        [sys.executable, "-c", "from socialsite.analytics import prometheus; prometheus.POSTS.inc()"],
        cwd=ROOT,
        env={**os.environ, "METRICS_DIR": str(tmp_path / "file" / "below")},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr


def dashboards() -> list[Path]:
    return sorted((ROOT / "deploy/grafana").glob("*.json"))


async def test_every_metric_of_the_dashboard_exists(prometheus, alice, bob, world: World):
    await alice.publish("hello")
    await world.deliver_all()
    exported = {name.partition("{")[0] for name in await scraped(prometheus)}
    exported |= {"socialsite_refusals_total", "socialsite_errors_total", "socialsite_redis_failures_total"}
    for file in dashboards():
        named = set(re.findall(r"socialsite_[a-z_]+", file.read_text()))
        assert named - {file.stem} <= exported, named - exported
