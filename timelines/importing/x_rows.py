"""Parses the tweets of an archive of X as rows, with the whole text of long ones from `note-tweet.js`."""

import html
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from timelines.importing.json_values import Json, is_true, links_of, object_of, objects_of, text_of
from timelines.importing.lines import LineRefused, check_length
from timelines.importing.mentions import add_host
from timelines.publishing.edits import VERSIONS_CAP

HOST = "twitter.com"
"""Added to the names of accounts of X, as by programs that copy posts from X to Mastodon."""
TWEET_FIELDS = (
    "id", "id_str", "created_at", "full_text", "text", "lang", "in_reply_to_status_id_str", "in_reply_to_status_id",
    "possibly_sensitive", "entities", "extended_entities", "edit_info",
)  # fmt: skip
FORMER, FIRST_ID = "former", "first_id"
"""The names under which the newest version of an edited tweet has the others, and the id of the first."""
TWEET_ID = re.compile(r"[0-9]{1,20}")
TWEET_DATES = ("%a %b %d %H:%M:%S %z %Y", "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S%z")
EPOCH_OF_IDS = datetime(2010, 11, 4, 1, 42, 54, 657_000, UTC)
URL_MAX_LENGTH = 2_048
SHORT_URL = re.compile(r"https?://[a-z0-9.-]+/[A-Za-z0-9]+")
ESCAPED = re.compile(r"&(?:amp|lt|gt|quot|apos|#39);")
LEADING_MENTIONS = re.compile(r"(?:@\w+\s+)+")
NOTE_KEY_LENGTH = 24
NOTE_MAX_DISTANCE = timedelta(seconds=10)
"""The time between a long tweet and its note. X writes them within a second."""


def read_tweet(item: object) -> Json:
    """Return the used fields of a tweet, or {} if the item is no tweet."""
    tweet = item.get("tweet", item) if isinstance(item, dict) else None
    return {name: tweet[name] for name in TWEET_FIELDS if name in tweet} if isinstance(tweet, dict) else {}


def id_of(tweet: Json) -> str:
    """Return the id in digits, or ""."""
    ids = (str(value) for name in (FIRST_ID, "id_str", "id") if isinstance(value := tweet.get(name), str | int))
    return next(filter(TWEET_ID.fullmatch, ids), "")


def version_ids(tweet: Json) -> list[int]:
    """Return the ids of all versions of an edited tweet, or []. Each version is a tweet of the archive."""
    info = object_of(tweet, "edit_info")
    control = object_of(info, "initial") or object_of(object_of(info, "edit"), "editControlInitial")
    ids = [int(each) for each in links_of(control, "editTweetIds") if TWEET_ID.fullmatch(each)]
    return ids if len(ids) > 1 else []


def link_versions(tweet: Json, former: list[Json], first_ids: dict[int, int]) -> Json:
    """Return a tweet with its former versions. The tweet and replies to it get the id of its first version."""
    linked: Json = {}
    if first := first_ids.get(int(id_of(tweet) or 0)):
        linked = {FORMER: former, FIRST_ID: str(first)}
    answered = _answered_id(tweet)
    if TWEET_ID.fullmatch(answered) and (first := first_ids.get(int(answered))):
        linked["in_reply_to_status_id_str"] = str(first)
    return tweet | linked


def _answered_id(tweet: Json) -> str:
    return text_of(tweet, "in_reply_to_status_id_str") or str(tweet.get("in_reply_to_status_id") or "")


class Notes:
    """The whole texts of long tweets. A text belongs to the tweet with the same time and beginning."""

    def __init__(self, items: Iterable[object]) -> None:
        self._notes: dict[str, list[tuple[datetime | None, str, Json]]] = {}
        for item in items:
            note = item.get("noteTweet", item) if isinstance(item, dict) else None
            core = object_of(note, "core") if isinstance(note, dict) else {}
            if note and (text := text_of(core, "text")):
                key = _comparable(text)[:NOTE_KEY_LENGTH]
                self._notes.setdefault(key, []).append((_parse_date(text_of(note, "createdAt")), text, core))

    def find(self, tweet: Json, text: str) -> tuple[str, Json]:
        """Return the whole text of a tweet and the core of its note, or the text itself and {} if there is no note."""
        begin, at = _comparable(text), _parse_date(text_of(tweet, "created_at"))
        is_cut = "…" in text[-30:]
        near: list[tuple[timedelta, str, Json]] = []
        for noted_at, whole, core in self._notes.get(begin[:NOTE_KEY_LENGTH], ()):
            distance = abs(at - noted_at) if at and noted_at else timedelta.max
            if _comparable(whole).startswith(begin) and (is_cut or distance <= NOTE_MAX_DISTANCE):
                near.append((distance, whole, core))
        if not near:
            return text, {}
        _, whole, core = min(near, key=lambda each: each[0])
        mentions = LEADING_MENTIONS.match(text)
        return (f"{mentions[0]}{whole}" if mentions and not whole.startswith("@") else whole), core


def parse_tweet(tweet: Json, notes: Notes) -> Json:
    """Return the row of a tweet and its former versions. Raises LineRefused for reposts."""
    versions = [*objects_of(tweet, FORMER), tweet]
    contents = [_parse_content(each, notes) for each in versions]
    id, at = id_of(tweet), _parse_date(text_of(versions[0], "created_at"))
    if not id or at is None:
        raise LineRefused("fields" if versions[0].get("created_at") is None or not id else "date")
    return {
        "id": id,
        "created_at": _exact_date(int(id), at).isoformat(),
        "in_reply_to": _answered_id(tweet) or None,
        **contents.pop(),
        "versions": [each for each in contents[-VERSIONS_CAP:] if each["text"] or each["media"]],
    }


def _parse_content(tweet: Json, notes: Notes) -> Json:
    """Return the fields that an edit may change, with full URLs in the text. Raises LineRefused for reposts."""
    text = check_length(text_of(tweet, "full_text", "text"))
    if text.startswith("RT @"):
        raise LineRefused("boost")
    text, core = notes.find(tweet, text)
    entities = object_of(tweet, "entities")
    media = objects_of(object_of(tweet, "extended_entities"), "media") or objects_of(entities, "media")
    urls = {text_of(each, "url"): text_of(each, "expanded_url", "url") for each in objects_of(entities, "urls")}
    urls |= {text_of(each, "shortUrl"): text_of(each, "expandedUrl", "shortUrl") for each in objects_of(core, "urls")}
    urls |= {text_of(each, "url"): "" for each in media}
    id, at = text_of(tweet, "id_str") or id_of(tweet), _parse_date(text_of(tweet, "created_at"))
    return {
        "text": _expand(check_length(text), urls),
        "sensitive": is_true(tweet.get("possibly_sensitive")),
        "language": text_of(tweet, "lang"),
        "media": [{"file": _file_of(id, each), "description": text_of(each, "ext_alt_text")} for each in media],
        "edited_at": at and at.isoformat(),
    }


def _exact_date(id: int, at: datetime) -> datetime:
    """Return the date with the milliseconds of the id, so that a thread with one date keeps its order."""
    exact = EPOCH_OF_IDS + timedelta(milliseconds=id >> 22)
    return exact if timedelta() <= exact - at < timedelta(seconds=1) else at


def _file_of(id: str, media: Json) -> str:
    url = text_of(media, "media_url", "media_url_https")
    return f"{id}-{url.rpartition('/')[2].partition('?')[0]}" if url else ""


def _expand(text: str, urls: dict[str, str]) -> str:
    """Return the text of a tweet unescaped, with the host after names, and with whole URLs, which X does not escape."""
    parts, at = [], 0
    for match in SHORT_URL.finditer(text):
        url = urls.get(match[0], match[0])[:URL_MAX_LENGTH]
        parts += [_unescape(text[at : match.start()]), url]
        at = match.end()
    return "".join((*parts, _unescape(text[at:])))


def _unescape(text: str) -> str:
    return add_host(ESCAPED.sub(lambda match: html.unescape(match[0]), text), f"@{HOST}")


def _comparable(text: str) -> str:
    """Return a text in the form in which the texts of a tweet and of its note are compared."""
    plain = SHORT_URL.sub(" ", ESCAPED.sub(lambda match: html.unescape(match[0]), text))
    return " ".join(LEADING_MENTIONS.sub("", plain, count=1).replace("…", " ").split()).lower()


def _parse_date(text: str) -> datetime | None:
    for form in TWEET_DATES:
        with suppress(ValueError):
            return datetime.strptime(text, form).astimezone(UTC)
    return None
