"""What people write takes from budgets of bytes a day: of their account, of their address, and of the site."""

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from accounts import keys
from accounts.joining.service import ACCOUNT_BYTES
from accounts.oauth import service as oauth
from accounts.oauth.values import AuthorizationRequest
from socialsite.asgi import application
from socialsite.clock import DAY_MS
from socialsite.container import Services
from socialsite.errors import RateLimited
from socialsite.ids import AccountId, ClientId
from socialsite.limits import NETWORKS_PER_PREFIX, ActionLimits, BytesPerDay, ByteWriter, Caller, request_address
from socialsite.recipes.rate_limit import Identifier, Rule, daily_counter_key
from socialsite.store.key_families import FAMILIES, SOURCE
from socialsite.web.requests import FormFields
from socialsite.web.services import loop_services
from tests.contract.importing.test_import_archives import note
from tests.contract.importing.test_imports_by_people import mastodon
from tests.support.browser import HttpBrowser
from tests.support.imports import begin_import, perform_transfers, undo_import
from tests.support.pictures import picture, uploaded
from tests.support.push_device import PushDevice
from tests.support.world import Person, World
from timelines.drafts.draft import Draft
from timelines.posts.post import NO_DETAILS
from timelines.publishing.forms import EditForm, PostForm
from timelines.visibility.filter import KeywordFilter

ROOT = Path(__file__).resolve().parents[3]
WRITERS_OF_KEYS: Mapping[str, str] = {
    "accounts:{<account>}:account": "accounts, profiles",
    "accounts:{<account>}:invitations": "invitations",
    "accounts:{<account>}:sanctions": "appeals",
    "sessions:{<hex>}:app": "apps",
    "sessions:{<hex>}:code:<hex>": "codes",
    "posts:{<post>}:post": "posts, imports",
    "posts:{<post>}:versions": "edits, imports",
    "posts:{m<post>}:media": "descriptions",
    "timelines:{<account>}:push": "devices",
    "timelines:{<account>}:drafts": "drafts",
    "timelines:{l<list>}:list": "lists",
    "timelines:{<account>}:notes": "notes",
    "timelines:{<account>}:filters": "filters",
    "timelines:{reports}:rows": "reports",
    "timelines:{reports}:posts": "reports",
}
KEYS_WITHOUT_WRITER = {
    "staff": "accounts:{site}:settings accounts:{site}:announcements timelines:{reports}:claims accounts:{staff}:staff "
    "jobs:{audit}:trail",
    "short texts with a cap of an account": "accounts:{<account>}:browsers accounts:{<account>}:factors "
    "accounts:{<account>}:events accounts:{<account>}:refusals accounts:{<account>}:mails accounts:{<account>}:mail "
    "sessions:{<owner>}:session:<hex> sessions:{<owner>}:token:<hex> sessions:{<owner>}:login:<hex> "
    "timelines:{<account>}:transfers timelines:{<account>}:preferences timelines:{<account>}:position",
    "ids, numbers and digests": "accounts:{<hex>}:handle accounts:{<hex>}:address sessions:{<hex>}:challenge "
    "posts:{<post>}:unpreviewed posts:{<hex>}:source timelines:{<account>}:notified timelines:{site}:vapid "
    "accounts:{ids}:accounts timelines:{ids}:lists series:{<bucket>}:batches series:{<bucket>}:batch:<kind>:<id> "
    "series:{<bucket>}:buffer:<kind>:<id> jobs:{<queue>}:unfinished jobs:{<queue>}:used:<sender> "
    "timelines:{<account>}:media timelines:{<account>}:imported:<id>",
    "what other writers have counted, until it is done": "jobs:{<queue>}:stream jobs:{<queue>}:dead "
    "jobs:{<queue>}:waiting:<sender>",
}


def test_every_key_that_may_hold_texts_has_a_writer_that_counts_its_bytes() -> None:
    types = ("string", "hash", "list", "stream")
    rows = [each.pattern for each in FAMILIES.values() if each.role is SOURCE and each.redis_type in types]
    others = " ".join(KEYS_WITHOUT_WRITER.values()).split()
    assert sorted(rows) == sorted([*WRITERS_OF_KEYS, *others])
    writers = set(get_args(ByteWriter))
    assert set(", ".join(WRITERS_OF_KEYS.values()).split(", ")) == writers
    services = [path.read_text() for name in ("accounts", "timelines") for path in (ROOT / name).rglob("*.py")]
    assert set(re.findall(r'enforce_bytes\(\s*"(\w+)"', "\n".join(services))) == writers


async def _invite(services: Services, alice: Person, text: str) -> object:
    await services.site.change(members_invite=True)
    return await services.joining.invite(alice.account, uses=1, days="7", note=text[:50])


async def _add_device(services: Services, alice: Person, text: str) -> object:
    endpoint = f"https://push.example.com/{'a' * 100}"
    subscription = services.push.parse_subscription(endpoint=endpoint, **PushDevice("").keys)
    return await services.push.save(alice.id, "0" * 64, subscription)


WRITERS: dict[str, Callable[[Services, Person, str], Awaitable[Any]]] = {
    "keep_draft": lambda services, alice, text: services.drafts.save(alice.id, Draft(0, (("text", text),))),
    "hold_post": lambda services, alice, text: services.drafts.hold(
        alice.id, PostForm.parse(FormFields([("text", text)]))
    ),
    "describe": lambda services, alice, text: services.media.upload(
        owner_id=alice.id, content=uploaded(picture()), alt=text
    ),
    "note": lambda services, alice, text: services.blocks_and_mutes.set_note(
        account_id=alice.id, other_id=alice.id, note=text
    ),
    "edit_profile": lambda services, alice, text: services.accounts.edit_profile(
        account_id=alice.id, bio=text, caller=_caller(alice)
    ),
    "filter": lambda services, alice, text: services.filters.add(account_id=alice.id, phrase=text[:50]),
    "filter_group": lambda services, alice, text: services.filters.add_group(
        alice.id, KeywordFilter(0, "", title="One"), [(text[:50], True)]
    ),
    "make_list": lambda services, alice, text: services.lists.create(owner_id=alice.id, title=text[:50], now_ms=1),
    "report": lambda services, alice, text: services.reports.report(
        reporter_id=alice.id, target_id=alice.id, category="spam", comment=text, caller=_caller(alice)
    ),
    "invite": _invite,
    "add_device": _add_device,
    "permit_app": lambda services, alice, text: services.oauth.issue_code(
        alice.id, "0" * 64, AuthorizationRequest(ClientId("0" * 32), "a.b:/", ("read",), state=text)
    ),
    "register_app": lambda services, alice, text: services.oauth.register_app(
        name="App", website="", redirect_uris=["a.b:/"], scopes="", caller=Caller(None, "192.0.2.1")
    ),
    "sign_up": lambda services, alice, text: services.joining.sign_up(
        handle="bob", password="correct horse battery", display_name="", caller=Caller(None, "192.0.2.1")
    ),
}


def _caller(person: Person) -> Caller:
    return Caller(person.id, "192.0.2.1")


@pytest.mark.parametrize("writer", WRITERS)
async def test_each_writer_takes_from_the_bytes_of_the_account_and_of_the_site(
    services: Services, alice: Person, writer: str
) -> None:
    owner = Caller(None, "192.0.2.1") if writer in ("register_app", "sign_up") else alice.id
    await services.action_limits.enforce_bytes("posts", owner, services.config.bytes_per_day - 10)
    with pytest.raises(RateLimited) as refused:
        await WRITERS[writer](services, alice, "words " * 20)
    assert refused.value.rule == "bytes"


async def test_all_accounts_together_write_the_bytes_of_the_site(services: Services, world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    limits = ActionLimits(services.limits, {}, services.clock, BytesPerDay(account=100, imports=0, site=150))
    await limits.enforce_bytes("notes", alice.id, 100)
    with pytest.raises(RateLimited):
        await limits.enforce_bytes("notes", bob.id, 51)
    await limits.enforce_bytes("notes", bob.id, 50)  # refused bytes are not counted
    await limits.enforce_bytes("imports", bob.id, 150)  # imports have bytes of their own, and no limit of an account
    with pytest.raises(RateLimited):
        await limits.enforce_bytes("imports", bob.id, 1)
    await limits.enforce_bytes("notes", None, 1_000)  # a command


async def test_posts_and_edits_share_the_bytes_of_a_day(services: Services, alice: Person) -> None:
    caller, now_ms = Caller(alice.id, "192.0.2.1"), services.clock.now_ms()
    post = await services.publishing.publish(author_id=alice.id, text="first", now_ms=now_ms, caller=caller)
    await services.action_limits.enforce_bytes("posts", caller, services.config.bytes_per_day - 1_000)
    with pytest.raises(RateLimited) as refused:
        await services.publishing.publish(author_id=alice.id, text="\u6f22" * 500, now_ms=now_ms, caller=caller)
    assert 0 < refused.value.retry_after_s <= 86_400
    edit = {"account_id": alice.id, "post_id": post.id, "now_ms": now_ms, "caller": caller}
    with pytest.raises(RateLimited):
        await services.edits.edit(EditForm("\u6f22" * 500, NO_DETAILS), **edit)
    assert [each.text for each in await services.repositories.posts.find_versions(post.id)] == ["first"]
    await services.edits.edit(EditForm("short", NO_DETAILS), **edit)  # refused bytes were not counted


@pytest.mark.parametrize("importer", ["alice", "bob"])
async def test_an_import_ends_at_the_bytes_of_a_day_and_can_be_undone(
    services: Services, alice: Person, bob: Person, importer: str
) -> None:
    """The bytes were used by alice herself, or by bob from her address."""
    notes = [note(1 + n % 50, id=str(n), content="<p>" + "\u6f22" * 100) for n in range(150)]
    request_address.set("192.0.2.1")
    preview = await begin_import(services, alice.id, mastodon(*notes))
    request_address.set(Identifier.address("192.0.2.1").tag if importer == "bob" else "")
    used_bytes = services.config.import_bytes_per_day - 50_000
    await services.action_limits.enforce_bytes("imports", (alice if importer == "alice" else bob).id, used_bytes)
    await perform_transfers(services)
    done = await services.exports.find(alice.id, preview.id, "import")
    assert (done.state, done.error, done.counts["posts"]) == ("done", "too_large", 100)
    assert (await undo_import(services, alice.id, done)).state == "undone"
    assert await alice.profile_ids() == []


async def test_the_accounts_of_an_address_write_ten_times_the_bytes_of_one(services: Services) -> None:
    limits = ActionLimits(services.limits, {}, services.clock, BytesPerDay(account=100))
    request_address.set("192.0.2.1")
    for number in range(10):
        await limits.enforce_bytes("notes", AccountId(1 + number), 100)
    with pytest.raises(RateLimited):
        await limits.enforce_bytes("notes", AccountId(11), 1)
    for _ in range(2):  # these accounts keep nobody from a sign-up or a new app
        await limits.enforce_bytes("apps", Caller(None, "192.0.2.1"), 50)
    with pytest.raises(RateLimited):
        await limits.enforce_bytes("apps", Caller(None, "192.0.2.1"), 1)
    request_address.set("192.0.2.2")
    await limits.enforce_bytes("notes", AccountId(11), 1)


async def test_the_networks_of_an_ipv6_prefix_share_a_limit(services: Services) -> None:
    limits = ActionLimits(services.limits, {"login": Rule("login", 1)}, services.clock, BytesPerDay(account=100))
    networks = [f"2001:db8:1:{number:x}::1" for number in range(NETWORKS_PER_PREFIX + 1)]
    for network in networks[:-1]:
        await limits.enforce(Caller(None, network), "login")
        await limits.enforce_bytes("apps", Caller(None, network), 100)
    for action in (limits.enforce(Caller(None, networks[-1]), "login"),
                   limits.enforce_bytes("apps", Caller(None, networks[-1]), 1)):  # fmt: skip
        with pytest.raises(RateLimited):
            await action
    await limits.enforce(Caller(None, "2001:db8:2::1"), "login")


async def test_a_request_counts_its_bytes_for_its_address(services: Services) -> None:
    loop_services.bind(services)
    async with HttpBrowser(application) as alice:
        await alice.sign_up("alice")
        await alice.post_json("/@alice/note/", comment="words " * 20)
    now_ms = services.clock.now_ms()
    for identifier, size_bytes in ((Identifier.visitors, ACCOUNT_BYTES), (Identifier.address, 119)):
        key = daily_counter_key(identifier("203.0.113.9"), "bytes", now_ms // DAY_MS)
        assert int(await services.store.component("limits").execute("GET", key)) == size_bytes


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


async def test_tokens_of_apps_for_themselves_count_as_apps(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth, "APPS_PER_DAY_AND_ADDRESS", 2)
    caller = Caller(None, "192.0.2.1")
    app, secret = await services.oauth.register_app(
        name="App", website="", redirect_uris=["a.b:/"], scopes="", caller=caller
    )
    await services.oauth.issue_app_token(app.id, secret, "", caller)
    with pytest.raises(RateLimited):
        await services.oauth.issue_app_token(app.id, secret, "", caller)


async def test_unused_apps_of_the_largest_size_take_a_bounded_part_of_the_store(services: Services) -> None:
    """They are deleted a day after their registration, so that at most the apps of two days (UTC) are stored."""
    uris = [f"https://app{number}.example.com/".ljust(oauth.REDIRECT_URIS_MAX_LENGTH // 3, "u") for number in range(3)]
    website = "https://app.example.com/".ljust(oauth.URI_MAX_LENGTH, "w")
    app, _secret = await services.oauth.register_app(
        name="漢" * oauth.APP_NAME_MAX_LENGTH, website=website, redirect_uris=uris, scopes="read write follow push",
        caller=Caller(None, "192.0.2.1"),
    )  # fmt: skip
    key = keys.oauth_app(app.id)
    size_bytes = await services.store.component("sessions").execute("MEMORY", "USAGE", key)
    assert (await services.store.component("sessions").execute("PTTL", key)) <= DAY_MS
    assert size_bytes * 2 * oauth.APPS_PER_DAY < 60_000_000
