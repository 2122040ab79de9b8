"""The page of the site's settings: changes, errors beside fields, the environment, rights, and what pages show."""

import re
from collections.abc import Mapping

from socialsite.admin.audit_log import AuditLog
from socialsite.admin.site_forms import GROUPS
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.site.rules import DEFAULT_RULES
from socialsite.site.settings import FIELDS, SiteSettings
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser
from tests.web.site.conftest import OpenStaff

OF_OTHER_FORMS = {"allowed_hashtags", "held_accounts", "held_lists", "held_posts", "logo"}
"""Fields that /ops/trends/ and the upload of the logo change."""


def form_of(html: str, group: str) -> dict[str, str]:
    """Return the hidden fields of a group."""
    section = next(each for each in html.split("<section")[1:] if each.startswith(f' aria-labelledby="{group}"'))
    return {"group": group, **dict(re.findall(r'<input type="hidden" name="([\w-]+)" value="([^"]*)"', section))}


async def trail(site: Services) -> list[tuple[str, str]]:
    return [(entry.action, entry.detail) for entry in (await AuditLog(site.store).search(10))[0]]


async def test_each_setting_is_in_one_group_and_changes_are_in_the_audit_log(site: Services, sam: HttpBrowser) -> None:
    page = (await sam.get("/ops/site/")).text
    assert all(len(re.findall(rf'id="id_{name}(?:_0)?"', page)) == 1 for name in FIELDS if name not in OF_OTHER_FORMS)
    assert page.count(">English</option>") == 1
    sent: Mapping[str, dict[str, str]] = {
        "about": {"name": "Our site", "description": "Ours.", "contact": "help@example.org", "welcome": "Hello!"},
        "joining": {"joining": "approval", "members_only": "on"},
        "rules": {"rules": "Be kind.\r\nMark bots.\r\n"},
        "looks": {"accent": "#0b57d0", "default_language": "de", "default_audience": "followers"},
    }
    for group, fields in sent.items():
        answer = await sam.post("/ops/site/", **{**form_of(page, group), **fields})
        assert (answer.status_code, answer.headers["location"]) == (303, f"/ops/site/#{group}")
    assert site.site.settings == SiteSettings(
        name="Our site", description="Ours.", contact="help@example.org", welcome="Hello!", joining="approval",
        members_only=True, rules=("Be kind.", "Mark bots."), accent="#0b57d0", default_language="de",
        default_audience="followers",
    )  # fmt: skip
    assert await trail(site) == [
        ("site", "accent, default_language, default_audience"), ("site", "rules"),
        ("site", "joining, members_only"), ("site", "name, description, contact, welcome"),
    ]  # fmt: skip
    await site.site.change(members_only=False)


async def test_one_save_changes_all_groups_and_keeps_concurrent_changes_of_others(
    site: Services, sam: HttpBrowser
) -> None:
    await site.site.change(about="Old words.", terms="Old terms.", members_invite=True)
    page = (await sam.get("/ops/site/")).text
    hidden = {name: value for group in GROUPS for name, value in form_of(page, group).items()}
    await site.site.change(terms="New terms.", name="New name")
    shown = {"about": "Old words.", "terms": "Old terms.", "name": "", "joining": "open", "default_audience": "public"}
    typed = {"description": "Ours.", "rules": "Be kind.", "about": "New words."}
    answer = await sam.post("/ops/site/", **{**hidden, **shown, **typed, "group": "all"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ops/site/")
    stored = site.site.settings
    assert (stored.description, stored.rules, stored.about) == ("Ours.", ("Be kind.",), "New words.")
    assert (stored.terms, stored.name, stored.members_invite) == ("New terms.", "New name", False)
    wrong = await sam.post("/ops/site/", group="all", description="Kept.", accent="#ffff00", joining="open")
    assert wrong.status_code == 422
    assert "Kept.</textarea>" in wrong.text
    assert site.site.settings == stored


async def test_a_wrong_value_is_shown_beside_its_field_and_nothing_is_stored(site: Services, sam: HttpBrowser) -> None:
    for fields, name, word in (
        ({"group": "looks", "accent": "#ffff00", "default_audience": "public"}, "accent", "darker"),
        ({"group": "limits", "newcomer_days": "900"}, "newcomer_days", "365"),
        ({"group": "about", "name": "x" * 41}, "name", "40"),
        ({"group": "rules", "rules": "\n".join(f"rule {n}" for n in range(101))}, "rules", "100"),
    ):
        answer = await sam.post("/ops/site/", **fields)
        assert answer.status_code == 422
        assert word in re.findall(rf'id="id_{name}_error">(.*?)</ul>', answer.text)[0]
        assert answer.text.count('class="errors"') == 1
    assert (await sam.post("/ops/site/", group="none")).status_code == 422
    assert (site.site.settings, await trail(site)) == (SiteSettings(rules=DEFAULT_RULES), [])


async def test_a_page_that_was_loaded_earlier_does_not_undo_a_later_change(site: Services, sam: HttpBrowser) -> None:
    old = form_of((await sam.get("/ops/site/")).text, "about")
    await site.site.change(description="New words.")
    assert (await sam.post("/ops/site/", **{**old, "name": "Ours", "description": ""})).status_code == 303
    assert site.site.settings == SiteSettings(name="Ours", description="New words.", rules=DEFAULT_RULES)
    page = (await sam.get("/ops/site/")).text
    await site.site.change(joining="closed", blocked_hosts=["evil.example"])
    for group, fields in (
        ("joining", {"joining": "open", "members_invite": "on"}),
        ("words", {"blocked_hosts": "", "blocked_words": "fool"}),
    ):
        assert (await sam.post("/ops/site/", **{**form_of(page, group), **fields})).status_code == 303
    assert (site.site.settings.joining, site.site.settings.members_invite) == ("closed", True)
    assert (site.site.settings.blocked_hosts, site.site.settings.blocked_words) == (("evil.example",), ("fool",))


async def test_lists_that_two_people_change_at_once_have_the_changes_of_both(site: Services, sam: HttpBrowser) -> None:
    await site.site.change(blocked_hosts=["old.example", "kept.example"], rules=["Be kind.", "Mark bots."])
    page = (await sam.get("/ops/site/")).text
    for group, changes in (
        ("words", ({"blocked_hosts": "old.example\r\nkept.example\r\none.example"}, {"blocked_hosts": "kept.example"})),
        ("rules", ({"rules": "Mark bots.\r\nBe kind."}, {"rules": "Be kind.\r\nMark bots.\r\nSleep."})),
    ):
        for fields in changes:
            assert (await sam.post("/ops/site/", **{**form_of(page, group), **fields})).status_code == 303
    assert site.site.settings.blocked_hosts == ("kept.example", "one.example")
    assert set(site.site.settings.rules) == {"Mark bots.", "Be kind.", "Sleep."}
    assert (await sam.post_json("/ops/site/", blocked_hosts=["new.example"])).status_code == 200
    assert site.site.settings.blocked_hosts == ("new.example",)


async def test_the_allowed_hashtags_never_become_too_many(site: Services, sam: HttpBrowser) -> None:
    await site.site.change(allowed_hashtags=[f"tag{number}" for number in range(500)], held_hashtags=["tea"])
    assert (await sam.post("/ops/trends/", tag="tea", action="show")).status_code == 303
    assert (site.site.settings.held_hashtags, site.site.settings.allowed_hashtags[-1]) == ((), "tea")
    await site.site.change(held_hashtags=[f"tag{number}" for number in range(500)])
    full = await sam.post("/ops/trends/", tag="tea", action="hold")
    assert (full.status_code, "Write at most 500 lines." in full.text) == (422, True)
    assert "tea" in site.site.settings.allowed_hashtags


async def test_the_page_of_trends_shows_long_lists_in_parts(site: Services, sam: HttpBrowser) -> None:
    tags = {f"tag{number}" for number in range(120)}
    await site.site.change(held_hashtags=sorted(tags), held_accounts=["1"])
    path, shown, held = "/ops/trends/", set(), 0
    for _page in range(3):
        data = (await sam.get_json(path)).json()
        assert len(data["tags"]) <= 50
        shown, held, next_path = (
            shown | {each["tag"] for each in data["tags"]},
            held + len(data["held_accounts"]),
            data["next"],
        )
        assert next_path is None or next_path in (await sam.get(path)).text
        path = next_path
    assert (shown, held, path) == (tags, 1, None)


async def test_a_program_reads_and_changes_settings_as_json(site: Services, sam: HttpBrowser) -> None:
    answer = await sam.post_json("/ops/site/", name="Ours", rules=["Be kind.", "Mark bots."], members_invite=True)
    assert answer.status_code == 200, answer.text
    data = (await sam.get_json("/ops/site/")).json()
    assert data.keys() == {*FIELDS, "from_environment"}
    assert (data["name"], data["rules"], data["members_invite"]) == ("Ours", ["Be kind.", "Mark bots."], True)
    assert (await sam.post_json("/ops/site/", members_invite=False)).status_code == 200
    assert site.site.settings.members_invite is False
    refused = await sam.post_json("/ops/site/", joining="never")
    assert (refused.status_code, [*refused.json()["fields"]]) == (422, ["joining"])


async def test_a_variable_disables_its_field_and_is_named(redis_urls: StoreUrls, open_staff: OpenStaff) -> None:
    config = ServiceConfig(site_environment={"name": "Of the server", "rules": ("One.",), "logo": f"7-{'a' * 32}"})
    async with open_services(redis_urls, config) as opened:
        loop_services.bind(opened)
        sam = await open_staff(opened)
        page = (await sam.get("/ops/site/")).text
        assert re.search(r'<input[^>]*name="name"[^>]*value="Of the server"[^>]*disabled', page)
        assert "SITE_NAME" in page
        assert "SITE_LOGO" in page
        assert 'id="logo-file"' not in page
        assert "<title>Your site · Of the server</title>" in re.sub(r"\s*\n\s*", "", page)
        assert 'name="rules"' in page
        await sam.post("/ops/site/", group="about", name="Mine", description="Stored.", contact="", welcome="")
        assert (opened.site.settings.name, opened.site.settings.description) == ("Of the server", "Stored.")
        assert (await sam.post_json("/ops/site/", name="Mine")).status_code == 409
        assert (await sam.post_json("/ops/site/logo/", remove="1")).status_code == 409
        assert await trail(opened) == [("site", "description")]


async def test_the_page_of_trends_names_the_variables_of_its_lists(
    redis_urls: StoreUrls, open_staff: OpenStaff
) -> None:
    held = {"held_hashtags": ("tea",), "held_accounts": ("1",), "held_posts": ("1",), "held_lists": ("1",)}
    config = ServiceConfig(site_environment=held)
    async with open_services(redis_urls, config) as opened:
        loop_services.bind(opened)
        sam = await open_staff(opened)
        page = (await sam.get("/ops/trends/")).text
        assert "SITE_HELD_HASHTAGS" in page
        assert "SITE_HELD_ACCOUNTS" in page
        assert "SITE_HELD_POSTS" in page
        assert 'action="/ops/trends/"' not in page
        for fields in ({"tag": "tea", "action": "show"}, {"handle": "member5", "action": "show"}):
            refused = await sam.post_json("/ops/trends/", **fields)
            assert (refused.status_code, "environment" in refused.text) == (409, True)
        assert await trail(opened) == []


async def test_moderators_have_no_right_to_the_settings(site: Services, open_staff: OpenStaff) -> None:
    moderator = await open_staff(site, "moderator")
    assert (await moderator.get("/ops/site/")).status_code == 403
    assert (await moderator.post("/ops/site/", group="about", name="Mine")).status_code == 403
    assert (site.site.settings, await trail(site)) == (SiteSettings(rules=DEFAULT_RULES), [])


async def test_pages_feeds_and_apps_show_the_stored_name_and_rules(site: Services, alice: HttpBrowser) -> None:
    await site.site.change(name="Ours & yours", description="A place.", rules=["Be kind."], contact="me@example.org",
                           joining="closed", accent="#0b57d0")  # fmt: skip
    page = (await alice.get("/public/")).text
    assert "Ours &amp; yours</title>" in page
    assert "/accent/0b57d0.css" in page
    css = await alice.get("/accent/0b57d0.css")
    assert css.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert css.headers["content-type"].startswith("text/css")
    assert css.text.startswith("@media not (prefers-contrast: more){:root{--accent:light-dark(#0b57d0,#")
    assert (await alice.get("/accent/0b57dg.css")).status_code == 404
    await alice.publish("#tea")
    assert "<title>#tea · Ours &amp; yours</title>" in (await alice.get("/tags/tea/feed.atom")).text
    instance = (await alice.get_json("/api/v2/instance")).json()
    assert (instance["title"], instance["description"]) == ("Ours & yours", "A place.")
    assert instance["rules"] == [{"id": "1", "text": "Be kind.", "hint": "", "translations": {}}]
    assert (instance["registrations"]["enabled"], instance["contact"]["email"]) == (False, "me@example.org")
    manifest = (await alice.get("/manifest.webmanifest")).json()
    assert (manifest["name"], manifest["start_url"]) == ("Ours & yours", "/")
