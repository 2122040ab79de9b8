"""Reads the archive that a person downloaded from Mastodon or X (a zip) as the rows of a posts file.

Mastodon: `outbox.json`, an ActivityStreams collection, and `media_attachments/`. X: `data/tweets.js` and its parts, a
JavaScript assignment each, and `data/tweets_media/<id of the tweet>-<end of the URL>`.
"""

import html
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from timelines.importing.lines import LineRefused, Tally
from timelines.media.media import UPLOAD_MAX_BYTES

MEMBER_MAX_BYTES = 512 * 1024 * 1024
EVERYBODY = "https://www.w3.org/ns/activitystreams#Public"
TWEETS = re.compile(r"(.*/)?data/tweets?(-part\d+)?\.js")
TWEET_DATE = "%a %b %d %H:%M:%S %z %Y"
Json = dict[str, Any]


@dataclass(slots=True)
class AccountArchive:
    """An open archive. `handle` is the account that gets the posts; by default the one that the archive names."""

    path: Path
    handle: str = ""
    _zip: zipfile.ZipFile = field(init=False)
    _members: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Raises OSError if the file is no archive of a known kind."""
        try:
            self._zip = zipfile.ZipFile(self.path)
        except zipfile.BadZipFile as error:
            raise OSError(f"it is no zip file: {error}") from error
        self._members = {name.rpartition("/")[2]: name for name in self._zip.namelist()}
        if "outbox.json" not in self._members and not self._tweet_files():
            raise OSError("it contains neither outbox.json nor data/tweets.js")

    def lines(self, tally: Tally) -> Iterator[tuple[int, bytes]]:
        """Yield (number, row as JSON). Rows that are no posts of the person are refused. Raises OSError."""
        is_mastodon = "outbox.json" in self._members
        self.handle = self.handle or (self._mastodon_handle() if is_mastodon else self._x_handle())
        for number, item in enumerate(self._activities() if is_mastodon else self._tweets(), 1):
            try:
                row = _parse_activity(item) if is_mastodon else _parse_tweet(item)
            except LineRefused as refused:
                tally.refuse(number, refused.reason)
            except (KeyError, TypeError, ValueError, AttributeError):
                tally.refuse(number, "fields")
            else:
                yield number, json.dumps({"author": self.handle, **row}).encode()

    def read_picture(self, name: str) -> bytes | None:
        """Return the bytes of a picture, at most one more than an upload may have, or None if it is absent."""
        member = self._members.get(name.rpartition("/")[2])
        if member is None:
            return None
        with self._zip.open(member) as file:
            return file.read(UPLOAD_MAX_BYTES + 1)

    def _tweet_files(self) -> list[str]:
        return sorted(name for name in self._zip.namelist() if TWEETS.fullmatch(name))

    def _activities(self) -> list[Json]:
        items: list[Json] = self._read_json(self._members["outbox.json"])["orderedItems"]
        return items

    def _tweets(self) -> Iterator[Json]:
        for name in self._tweet_files():
            yield from (each.get("tweet", each) for each in self._read_json(name))

    def _mastodon_handle(self) -> str:
        actor = self._read_json(self._members["actor.json"]) if "actor.json" in self._members else {}
        return str(actor.get("preferredUsername", ""))

    def _x_handle(self) -> str:
        accounts = self._read_json(self._members["account.js"]) if "account.js" in self._members else []
        return str(accounts[0]["account"]["username"]) if accounts else ""

    def _read_json(self, member: str) -> Any:
        """Return the JSON of a member; of a JavaScript file what follows the first "=". Raises OSError."""
        if self._zip.getinfo(member).file_size > MEMBER_MAX_BYTES:
            raise OSError(f"{member} is too large")
        try:
            text = self._zip.read(member).decode()
            return json.loads(text.partition("=")[2].strip().removesuffix(";") if member.endswith(".js") else text)
        except (ValueError, zipfile.BadZipFile) as error:
            raise OSError(f"{member}: {error}") from error


def _parse_activity(item: Json) -> Json:
    """Return the row of a Mastodon activity. Raises LineRefused for boosts and messages."""
    note = item["object"]
    if item["type"] != "Create":
        raise LineRefused("boost")
    to, cc = note.get("to", []), note.get("cc", [])
    if EVERYBODY in to:
        audience = "public"
    elif EVERYBODY in cc:
        audience = "unlisted"
    elif any(each.endswith("/followers") for each in to):
        audience = "followers"
    else:
        raise LineRefused("private_message")
    return {
        "id": note["id"],
        "created_at": note["published"],
        "text": _html_to_text(note["content"]),
        "in_reply_to": note.get("inReplyTo"),
        "audience": audience,
        "spoiler_text": note.get("summary") or "",
        "sensitive": bool(note.get("sensitive")),
        "language": next(iter(note.get("contentMap") or {}), ""),
        "media": [
            {"file": each["url"], "description": each.get("name") or "", "focus": each.get("focalPoint") or [0, 0]}
            for each in note.get("attachment", [])
        ],
    }


def _parse_tweet(tweet: Json) -> Json:
    """Return the row of a tweet, with full URLs in its text. Raises LineRefused for reposts."""
    text = tweet["full_text"] if "full_text" in tweet else tweet["text"]
    if text.startswith("RT @"):
        raise LineRefused("boost")
    entities: Json = tweet.get("entities") or {}
    media = (tweet.get("extended_entities") or entities).get("media", [])
    for url in entities.get("urls", []):
        text = text.replace(url["url"], url.get("expanded_url") or url["url"])
    for each in media:
        text = text.replace(each["url"], "")
    return {
        "id": tweet["id_str"],
        "created_at": datetime.strptime(tweet["created_at"], TWEET_DATE).isoformat(),
        "text": html.unescape(text),
        "in_reply_to": tweet.get("in_reply_to_status_id_str"),
        "sensitive": bool(tweet.get("possibly_sensitive")),
        "language": tweet.get("lang") or "",
        "media": [
            {
                "file": f"{tweet['id_str']}-{each['media_url'].rpartition('/')[2]}",
                "description": each.get("ext_alt_text") or "",
            }
            for each in media
        ],
    }


class _TextOfHtml(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "br":
            self.text += "\n"
        elif tag == "p" and self.text:
            self.text += "\n\n"

    def handle_data(self, data: str) -> None:
        self.text += data


def _html_to_text(content: str) -> str:
    """Return the text of a post of Mastodon. Its links contain their whole URLs."""
    parser = _TextOfHtml()
    parser.feed(content)
    parser.close()
    return parser.text
