"""Parses the activities of an archive of Mastodon, or of this site, as rows (ActivityPub, 6.2)."""

import html
import re
from functools import partial

from accounts.domain import QUOTE_POLICIES
from timelines.importing.html_text import html_to_text
from timelines.importing.json_values import Json, focus_of, is_true, link_of, links_of, object_of, objects_of, text_of
from timelines.importing.lines import TEXT_MAX_LENGTH, LineRefused, check_length
from timelines.importing.mentions import add_host, host_of
from timelines.posts.post import SHORT_TEXTS
from timelines.publishing.edits import VERSIONS_CAP

EVERYBODY = "https://www.w3.org/ns/activitystreams#Public"
PUBLIC_NAMES = frozenset({EVERYBODY, "as:Public", "Public"})  # ActivityPub, 5.6

QUOTED = re.compile(
    r'<(p|span) class="quote-inline">(?:<br ?/?>)*RE: (?><a [^>]{0,99}?href="(https?://[^"]{1,2000})"[^>]{0,999}>)'
    r"(?>(?:[^<]+|</?span\b[^>]{0,99}>){0,20})</a></\1>"
)
"""What Mastodon, Misskey and Akkoma add to the HTML of a post that quotes another one. The second group is its URL."""
QUOTED_NAMES = ("quoteUrl", "quoteUri", "quote", "_misskey_quote")


def parse_activity(base_url: str, item: Json) -> Json:
    """Return the row of an activity. Raises LineRefused for boosts and messages.

    Mentions name accounts of the site of the post, so they get its host unless it is `base_url`.
    """
    note = item["object"]
    if item["type"] != "Create":
        raise LineRefused("boost" if item["type"] == "Announce" else "fields")
    addressed = note if "to" in note or "cc" in note else item
    to, cc = links_of(addressed, "to"), links_of(addressed, "cc")
    if not PUBLIC_NAMES.isdisjoint(to):
        audience = "public"
    elif not PUBLIC_NAMES.isdisjoint(cc):
        audience = "unlisted"
    elif any(each.rstrip("/").endswith("/followers") for each in to):
        audience = "followers"
    else:
        raise LineRefused("private_message")
    is_own = bool(base_url) and note["id"].startswith(f"{base_url}/")
    names = (note["id"], link_of(note, "url"), link_of(note, "attributedTo"))
    host = "" if is_own else next(filter(None, map(host_of, names)), "")
    versions = [_parse_content(each, host) for each in objects_of(note, "versions")]
    return {
        "id": note["id"],
        "created_at": text_of(note, "published") or text_of(item, "published"),
        "in_reply_to": link_of(note, "inReplyTo") or None,
        "audience": audience,
        "quote_policy": next((each for each in QUOTE_POLICIES if each == note.get("quotePolicy")), None),
        "quoted_url": _quoted_url(note),
        "versions": [each for each in versions[-VERSIONS_CAP:] if each["text"] or each["media"]],
        **_parse_content(note, host),
    }


def _parse_content(note: Json, host: str) -> Json:
    """Return the fields that an edit may change. The text of this site's own archive is used as it is."""
    source = object_of(note, "source")
    if source.get("mediaType") == "text/plain" and isinstance(source.get("content"), str):
        text = check_length(source["content"])
    else:
        mentions = [tag for tag in objects_of(note, "tag") if tag.get("type") == "Mention"]
        text = html_to_text(QUOTED.sub("", check_length(_content_of(note))), partial(_name_mention, mentions))
    options = [
        name for kind in ("oneOf", "anyOf") for each in objects_of(note, kind) if (name := text_of(each, "name"))
    ]
    short_texts = {each.name: text_of(note, each.activity_name) for each in SHORT_TEXTS}
    if not text.strip() and not objects_of(note, "attachment") and not _quoted_url(note):
        text, short_texts["spoiler_text"] = short_texts["spoiler_text"], ""  # as in Mastodon
    return {
        "text": add_host(text, f"@{host}") if host else text,
        **short_texts,
        "sensitive": is_true(note.get("sensitive")),
        "language": next(iter(object_of(note, "contentMap")), ""),
        "edited_at": text_of(note, "updated") or None,
        "media": [
            {"file": link_of(each, "url"), "description": text_of(each, "name"), "focus": focus_of(each, "focalPoint")}
            for each in objects_of(note, "attachment")
        ],
        "poll": {
            "options": options,
            "multiple": bool(objects_of(note, "anyOf")),
            "ends_at": text_of(note, "endTime", "closed") or text_of(note, "published"),
        }
        if options
        else None,
    }


def _content_of(note: Json) -> str:
    contents = [text_of(note, "content"), *object_of(note, "contentMap").values()]
    return next((each for each in contents if isinstance(each, str) and each), "")


def _quoted_url(note: Json) -> str:
    """Return the page of the quoted post, or else its id, or ""."""
    if found := QUOTED.search(_content_of(note)[:TEXT_MAX_LENGTH]):
        return html.unescape(found[2])
    urls = (link_of(note, name) for name in QUOTED_NAMES)
    return next((each for each in urls if each.startswith(("https://", "http://"))), "")


def _name_mention(mentions: list[Json], name: str, url: str) -> str:
    """Return the full name of a mentioned account, from its tag, or else from the host of the link."""
    handle, host = name.removeprefix("@").partition("@")[0], host_of(url)
    names = {text_of(tag, "name"): link_of(tag, "href") for tag in mentions}
    same = {each: href for each, href in names.items() if each.removeprefix("@").partition("@")[0] == handle}
    for each, href in sorted(same.items(), key=lambda pair: (pair[1] != url, host_of(pair[1]) != host)):
        if each.count("@") > 1 and (href == url or host_of(href) == host or len(same) == 1):
            return each
    return f"@{handle}@{host}" if host and "@" not in name[1:] else name
