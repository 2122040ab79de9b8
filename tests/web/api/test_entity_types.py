"""Entities have the documented fields of Mastodon 4.5 (https://docs.joinmastodon.org/entities/) with their types.

The letters are s text, t time, d day, i integer, n number, b boolean, a array, o object; "?" allows null. A field in
brackets may be absent. Entities in other entities are checked by the tables of those.
"""

import re
from collections.abc import Iterator
from typing import Any

from socialsite.container import Services
from tests.support.world import World
from tests.web.api.conftest import OpenApi
from tests.web.api.test_media import upload

TIME, DAY = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), re.compile(r"\d{4}-\d\d-\d\d")
ACCOUNT = """id:s username:s acct:s url:s uri:s display_name:s note:s avatar:s avatar_static:s header:s header_static:s
    locked:b fields:a emojis:a bot:b group:b discoverable:b? noindex:b indexable:b hide_collections:b? created_at:t
    last_status_at:d? statuses_count:i followers_count:i following_count:i roles:a [avatar_description]:s
    [header_description]:s [moved]:o [limited]:b"""
SOURCE = """privacy:s sensitive:b language:s? note:s fields:a follow_requests_count:i hide_collections:b?
    discoverable:b? indexable:b attribution_domains:a quote_policy:s"""
OWN_STATE = "favourited:b reblogged:b bookmarked:b muted:b"
STATUS = """id:s uri:s url:s? created_at:t edited_at:t? account:o content:s visibility:s sensitive:b spoiler_text:s
    media_attachments:a application:o? mentions:a tags:a emojis:a reblogs_count:i favourites_count:i replies_count:i
    in_reply_to_id:s? in_reply_to_account_id:s? reblog:o? poll:o? card:o? language:s? filtered:a quote:o?
    quote_approval:o [quotes_count]:i [pinned]:b"""
POLL = "id:s expires_at:t? expired:b multiple:b votes_count:i voters_count:i? options:a emojis:a"
TABLES = {
    "account": ACCOUNT,
    "own account": f"{ACCOUNT} source:o role:o",
    "source": SOURCE,
    "role": "id:s name:s color:s permissions:s highlighted:b",
    "field": "name:s value:s verified_at:t?",
    "status": f"{STATUS} {OWN_STATE}",
    "status of a visitor": STATUS,
    "mention": "id:s username:s acct:s url:s",
    "tag": "name:s url:s",
    "quote": "state:s quoted_status:o?",
    "quote approval": "automatic:a manual:a current_user:s",
    "poll": f"{POLL} voted:b own_votes:a",
    "poll of a visitor": POLL,
    "option": "title:s votes_count:i?",
    "media": """id:s type:s url:s? preview_url:s? remote_url:s? preview_remote_url:s? text_url:s? meta:o description:s?
        blurhash:s?""",
    "size": "width:i height:i size:s aspect:n",
    "focus": "x:n y:n",
    "relationship": """id:s following:b showing_reblogs:b notifying:b languages:a? followed_by:b blocking:b blocked_by:b
        muting:b muting_notifications:b muting_expires_at:t? requested:b requested_by:b domain_blocking:b endorsed:b
        note:s""",
    "notification": "id:s type:s group_key:s created_at:t account:o [status]:o?",
    "group": """group_key:s notifications_count:i type:s most_recent_notification_id:i page_min_id:s page_max_id:s
        latest_page_notification_at:t sample_account_ids:a [status_id]:s""",
    "instance": """domain:s title:s version:s source_url:s description:s usage:o thumbnail:o icon:a languages:a
        configuration:o registrations:o api_versions:o contact:o rules:a""",
    "configuration": """urls:o vapid:o accounts:o statuses:o media_attachments:o polls:o translation:o
        timelines_access:o limited_federation:b""",
    "urls": "streaming:s status:s? about:s privacy_policy:s? terms_of_service:s?",
    "accounts": """max_featured_tags:i max_pinned_statuses:i max_profile_fields:i profile_field_name_limit:i
        profile_field_value_limit:i""",
    "media limits": """supported_mime_types:a description_limit:i image_size_limit:i image_matrix_limit:i
        video_size_limit:i video_frame_rate_limit:i video_matrix_limit:i""",
    "poll limits": "max_options:i max_characters_per_option:i min_expiration:i max_expiration:i",
    "registrations": "enabled:b approval_required:b reason_required:b message:s? min_age:i? url:s?",
    "thumbnail": "url:s blurhash:s? versions:o",
    "contact": "email:s account:o?",
}  # fmt: skip
CHECKS = {
    "s": lambda value: isinstance(value, str),
    "t": lambda value: isinstance(value, str) and TIME.fullmatch(value),
    "d": lambda value: isinstance(value, str) and DAY.fullmatch(value),
    "i": lambda value: type(value) is int,
    "n": lambda value: type(value) in (int, float),
    "b": lambda value: isinstance(value, bool),
    "a": lambda value: isinstance(value, list),
    "o": lambda value: isinstance(value, dict),
}


def find_faults(table: str, entity: dict[str, Any]) -> Iterator[str]:
    """Yield the fields that are absent, undocumented or of another type."""
    types = dict(each.rsplit(":", 1) for each in TABLES[table].split())
    names = {name.strip("[]") for name in types}
    yield from (f"{table}: {name} is undocumented" for name in entity.keys() - names)
    for name, letter in types.items():
        if name.strip("[]") not in entity:
            if not name.startswith("["):
                yield f"{table}: {name} is absent"
            continue
        value = entity[name.strip("[]")]
        if not (value is None and "?" in letter) and not CHECKS[letter[0]](value):
            yield f"{table}: {name} is {value!r}"


def parts_of_status(status: dict[str, Any], whose: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables and entities of a status."""
    yield f"status{whose}", status
    yield "account", status["account"]
    yield "quote approval", status["quote_approval"]
    yield from (("mention", each) for each in status["mentions"])
    yield from (("tag", each) for each in status["tags"])
    for media in status["media_attachments"]:
        yield from (("media", media), ("size", media["meta"]["original"]), ("focus", media["meta"]["focus"]))
    if status["poll"]:
        yield f"poll{whose}", status["poll"]
        yield from (("option", each) for each in status["poll"]["options"])
    if status["quote"]:
        yield "quote", status["quote"]
    for inner in (status["reblog"], (status["quote"] or {}).get("quoted_status")):
        if inner:
            yield from parts_of_status(inner, whose)


async def test_posts_accounts_and_notifications_have_the_documented_types(
    open_api: OpenApi, site: Services, world: World
) -> None:
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)
    one, two, visitor = await open_api("alice"), await open_api("bob"), await open_api()
    await one.http.patch(
        "/api/v1/accounts/update_credentials", json={"fields_attributes": [{"value": "https://a.example.org"}]}
    )
    media = await upload(one, site, description="Tea")
    poll = {"options": ["tea", "milk"], "expires_in": 3600}
    fields = {"status": "@bob #tea", "media_ids": [media["id"]], "poll": poll}
    url = f"/api/v1/statuses/{(await one.post('/api/v1/statuses', **fields)).json()['id']}"
    post_id = url.rpartition("/")[2]
    await two.post(f"{url}/favourite")
    boost = (await two.post(f"{url}/reblog")).json()
    await two.post("/api/v1/statuses", status="@alice yes", in_reply_to_id=post_id)
    quote = (await two.post("/api/v1/statuses", status="look", quoted_status_id=post_id)).json()
    await world.deliver_all()
    statuses = [boost, quote, (await one.get(url)).json(), *(await two.get("/api/v1/timelines/home")).json()]
    checked = [part for status in statuses for part in parts_of_status(status)]
    checked += parts_of_status((await visitor.get(url)).json(), " of a visitor")
    notifications = (await one.get("/api/v1/notifications")).json()
    assert {each["type"] for each in notifications} >= {"mention", "favourite", "reblog", "follow"}
    for each in notifications:
        checked += [("notification", each), *(parts_of_status(each["status"]) if "status" in each else ())]
    checked += [("group", each) for each in (await one.get("/api/v2/notifications")).json()["notification_groups"]]
    account = (await one.get("/api/v1/accounts/verify_credentials")).json()
    checked += [("own account", account), ("source", account["source"]), ("role", account["role"])]
    checked += [("field", *account["fields"]), ("field", *account["source"]["fields"])]
    (relation,) = (await two.get("/api/v1/accounts/relationships", id=account["id"])).json()
    checked.append(("relationship", relation))
    assert {table for table, _ in checked} >= {"media", "poll", "option", "mention", "tag", "quote", "group"}
    assert sorted({fault for table, entity in checked for fault in find_faults(table, entity)}) == []


async def test_the_entities_of_the_instance_have_the_documented_types(open_api: OpenApi) -> None:
    instance = (await (await open_api()).get("/api/v2/instance")).json()
    limits = instance["configuration"]
    checked = {
        "instance": instance, "configuration": limits, "urls": limits["urls"], "accounts": limits["accounts"],
        "media limits": limits["media_attachments"], "poll limits": limits["polls"], "contact": instance["contact"],
        "registrations": instance["registrations"], "thumbnail": instance["thumbnail"],
    }  # fmt: skip
    assert sorted(fault for table, entity in checked.items() for fault in find_faults(table, entity)) == []
    assert limits["accounts"]["max_featured_tags"] == 10
