"""An account stores a limited number of bytes a day by its posts, their versions and its imports."""

import pytest

from accounts.oauth import service as oauth
from socialsite.container import Services
from socialsite.errors import RateLimited
from socialsite.limits import IMPORT_BYTES_PER_DAY, TEXT_BYTES_PER_DAY, Caller, worker_caller
from tests.contract.importing.test_import_archives import note
from tests.contract.importing.test_imports_by_people import mastodon
from tests.support.transferring import begin_import, perform_transfers, undo_import
from tests.support.world import World
from timelines.posts.post import NO_DETAILS


async def test_posts_and_edits_share_the_bytes_of_a_day(services: Services, world: World) -> None:
    alice = await world.person("alice")
    caller, now_ms = Caller(alice.id, "192.0.2.1"), services.clock.now_ms()
    post = await services.publishing.publish(author_id=alice.id, text="first", now_ms=now_ms, caller=caller)
    await services.action_limits.enforce_bytes(caller, TEXT_BYTES_PER_DAY - 1_000)
    with pytest.raises(RateLimited) as refused:
        await services.publishing.publish(author_id=alice.id, text="\u6f22" * 500, now_ms=now_ms, caller=caller)
    assert 0 < refused.value.retry_after_s <= 86_400
    edit = {"account_id": alice.id, "post_id": post.id, "details": NO_DETAILS, "now_ms": now_ms, "caller": caller}
    with pytest.raises(RateLimited):
        await services.edits.edit(text="\u6f22" * 500, **edit)
    assert [each.text for each in await services.repositories.posts.find_versions(post.id)] == ["first"]
    await services.edits.edit(text="short", **edit)  # refused bytes were not counted


async def test_an_import_ends_at_the_bytes_of_a_day_and_can_be_undone(services: Services, world: World) -> None:
    alice = await world.person("alice")
    notes = [note(1 + n % 50, id=str(n), content="<p>" + "\u6f22" * 100) for n in range(150)]
    preview = await begin_import(services, alice.id, mastodon(*notes))
    caller = worker_caller(alice.id, 0, 0, services.clock.now_ms())
    used_bytes = IMPORT_BYTES_PER_DAY - 50_000
    await services.action_limits.enforce_bytes(caller, used_bytes, IMPORT_BYTES_PER_DAY, "importbytes")
    await perform_transfers(services)
    done = await services.exports.find(alice.id, preview.id, "import")
    assert (done.state, done.error, done.counts["posts"]) == ("done", "too_large", 100)
    assert (await undo_import(services, alice.id, done)).state == "undone"
    assert await alice.profile_ids() == []


async def test_an_address_and_the_site_register_a_limited_number_of_apps_a_day(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "APPS_PER_DAY_AND_ADDRESS", 2)
    monkeypatch.setattr(oauth, "APPS_PER_DAY", 3)

    async def register(address: str) -> None:
        caller = Caller(None, address)
        await services.oauth.register_app(name="App", website="", redirect_uris=["a.b:/"], scopes="", caller=caller)

    for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
        await register(address)
    for address in ("192.0.2.1", "192.0.2.3"):
        with pytest.raises(RateLimited):
            await register(address)
