"""The settings of the site in the store: changes, their copies in other processes, races, and lost servers."""

import asyncio

import pytest
from msgspec import structs

from socialsite import keys
from socialsite.container import Services
from socialsite.errors import Conflict, Invalid
from socialsite.service_config import ServiceConfig
from socialsite.site.rules import DEFAULT_RULES
from socialsite.site.service import SiteService
from socialsite.site.settings import SiteSettings
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually


async def test_a_change_is_stored_and_reaches_other_processes(services: Services, redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig()) as other:
        assert other.site.settings == SiteSettings(rules=DEFAULT_RULES)
        assert (await services.site.change(name="Ours", rules=["Be kind."])).title == "Ours"
        await eventually(lambda: other.site.settings == SiteSettings(name="Ours", rules=("Be kind.",)))
    async with open_services(redis_urls, ServiceConfig()) as later:
        assert later.site.settings.name == "Ours"


async def test_racing_changes_of_different_fields_are_all_stored(services: Services) -> None:
    fields = ({"name": "Ours"}, {"about": "words"}, {"members_invite": True}, {"newcomer_days": 3})
    sites = [SiteService(site_repository=services.repositories.site, site_environment={}) for _ in fields]
    await asyncio.gather(*(site.change(**each) for site, each in zip(sites, fields, strict=True)))
    await services.site.refresh()
    expected = SiteSettings(name="Ours", about="words", members_invite=True, newcomer_days=3, rules=DEFAULT_RULES)
    assert structs.replace(services.site.settings, about_ms=0) == expected


async def test_the_environment_wins_and_cannot_be_changed(services: Services, redis_urls: StoreUrls) -> None:
    await services.site.change(name="Stored", about="words")
    config = ServiceConfig(site_environment={"name": "Of the operator", "joining": "closed"})
    async with open_services(redis_urls, config) as configured:
        site = configured.site
        expected = SiteSettings(name="Of the operator", joining="closed", about="words", rules=DEFAULT_RULES)
        assert structs.replace(site.settings, about_ms=0) == expected
        assert site.from_environment == {"name", "joining"}
        with pytest.raises(Conflict):
            await site.change(name="Mine", about="other")
        assert (await site.change(about="other")).name == "Of the operator"
    await services.site.refresh()
    assert services.site.settings.name == "Stored"


async def test_a_refused_change_stores_nothing(services: Services) -> None:
    with pytest.raises(Invalid):
        await services.site.change(name="Ours", accent="red")
    await services.site.refresh()
    assert services.site.settings == SiteSettings(rules=DEFAULT_RULES)


async def test_a_site_of_an_earlier_release_or_with_deleted_rules_has_no_rules(services: Services) -> None:
    assert len(services.site.settings.rules) == 5
    await services.store.write("SET", keys.settings(), b'{"name":"Ours"}')
    await services.site.refresh()
    assert services.site.settings.rules == ()
    await services.site.change(rules=["One."])
    await services.site.change(rules=[])
    assert services.site.settings.rules == ()


async def test_a_damaged_value_leaves_the_last_copy(services: Services) -> None:
    await services.site.change(name="Ours")
    await services.store.write("SET", keys.settings(), b'{"name": 7}')
    await services.site.refresh()
    assert services.site.settings.name == "Ours"


async def test_a_lost_server_leaves_the_last_copy_and_unknown_settings_hide_everything() -> None:
    with RedisServer() as server:
        async with open_services(server.url, ServiceConfig()) as opened:
            await opened.site.change(name="Ours", joining="approval")
            fresh = SiteService(site_repository=opened.repositories.site, site_environment={})
            server.kill()
            await opened.site.refresh()
            await fresh.refresh()
            assert (opened.site.settings.name, opened.site.settings.joining) == ("Ours", "approval")
            assert (fresh.settings.members_only, fresh.settings.joining) == (True, "closed")
