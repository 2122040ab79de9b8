"""Archives as other programs write them: odd optional values, paths, packings, texts and names.

The shapes are those of public reports: mastodon/mastodon#29222, pixelfed/pixelfed#2421,
Automattic/wordpress-activitypub#2742, pimcore/data-importer#232, libarchive/libarchive#970, lmorchard/fossilizer#2,
marcomaroni-github/twitter-to-bluesky#5, #67 and #68, DocNow/twarc#702, mastodon/mastodon#18850, #20123 and #862,
tuskyapp/Tusky#2272, jointakahe/takahe#671, misskey-dev/misskey#4816.
"""

import gzip
import json
import tarfile
import time
import zipfile
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from socialsite.container import Services
from socialsite.recipes.job_worker import Worker
from tests.contract.importing.test_import_archives import attachment, note
from tests.contract.importing.test_imports_by_people import mastodon
from tests.support.imports import RULES, import_file, read_profile_posts, start_import
from tests.support.jobs import FAST_RETRY_POLICY
from tests.support.pictures import picture
from tests.support.world import Person, World
from timelines.importing.account_archive import AccountArchive, ArchiveUnreadable
from timelines.importing.lines import Tally
from timelines.importing.service import open_archive
from timelines.media.storage import MediaFiles
from timelines.text.linkify import find_mentions

FILES = "media_attachments/files/000/000"


def zipped(members: dict[str, str | bytes]) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, each in members.items():
            archive.writestr(name, each)
    return content.getvalue()


def tarred(members: dict[str, bytes], mode: Any = "w:gz") -> bytes:
    content = BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:
        for name, each in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(each)
            archive.addfile(info, BytesIO(each))
    return content.getvalue()


def outbox(*notes: dict[str, Any]) -> str:
    return json.dumps({"orderedItems": notes})


def read_rows(content: bytes, base_url: str = "") -> tuple[list[dict[str, Any]], dict[str, int]]:
    tally = Tally()
    rows = [json.loads(line) for _, line in open_archive(BytesIO(content), "alice", base_url).lines(tally)]
    return rows, dict(tally.refused)


def x_archive(tweets: list[Any], **files: Any) -> bytes:
    names = {"tweets": [{"tweet": each} for each in tweets], **files}
    scripts = {name: f"window.YTD.{name}.part0 = {json.dumps(rows)}" for name, rows in names.items()}
    return zipped({f"data/{name.replace('_', '-')}.js": script for name, script in scripts.items()})


def tweet(id: int, text: str, **more: Any) -> dict[str, Any]:
    return {"id_str": str(id), "created_at": "Fri Jun 30 12:00:00 +0000 2023", "full_text": text, **more}


def color(content: bytes) -> str:
    with Image.open(BytesIO(content)) as opened:
        red, _, blue = opened.convert("RGB").getpixel((5, 5))
    return "red" if red > blue else "blue"


def colored(name: str) -> bytes:
    content = BytesIO()
    Image.new("RGB", (20, 20), name).save(content, "PNG")
    return content.getvalue()


IMAGE = {"type": "Document", "url": "/media_attachments/files/1/original/a.png"}


@pytest.mark.parametrize(
    ("more", "focus"),
    [
        ({"attachment": [{**IMAGE, "focalPoint": [0.0, None]}]}, (0, 0)),
        ({"attachment": [{**IMAGE, "focalPoint": [1.2, -0.4]}]}, (1, -0.4)),
        ({"attachment": [{**IMAGE, "focalPoint": [0.5]}]}, (0, 0)),
        ({"attachment": [{**IMAGE, "focalPoint": [float("nan"), 1]}]}, (0, 0)),
        ({"attachment": [{**IMAGE, "focalPoint": {"x": 1}, "name": 5}]}, (0, 0)),
        ({"attachment": {**IMAGE, "focalPoint": "0,0"}}, (0, 0)),
        ({"attachment": [{**IMAGE, "url": [{"type": "Link", "href": IMAGE["url"]}]}]}, (0, 0)),
        ({"attachment": [{"type": "Document", "url": None}]}, None),
        ({"attachment": None}, None),
        ({"attachment": "a.png", "tag": 7}, None),
        ({"attachment": [None, 5]}, None),
        ({"summary": 5, "sensitive": "yes", "contentMap": ["de"], "updated": "soon", "quotePolicy": 9}, None),
        ({"source": {"mediaType": "text/plain", "content": None}, "versions": 5, "oneOf": {}, "anyOf": None}, None),
        ({"versions": [{"content": 5, "attachment": 7}], "inReplyTo": {"id": "https://example.org/9"}}, None),
        ({"to": "as:Public", "cc": None, "inReplyTo": ["https://example.org/9"]}, None),
    ],
)
async def test_an_odd_optional_value_costs_no_post(
    services: Services, alice: Person, more: dict[str, Any], focus: tuple[float, float] | None
) -> None:
    content = mastodon(note(1), note(2, "<p>odd</p>", **more), note(3), files={"a.png": picture(format="PNG")})
    done = await import_file(services, alice.id, content)
    assert (done.state, done.counts["posts"]) == ("done", 3)
    odd = (await read_profile_posts(services, "alice"))[1]
    assert (odd.text, [each.focus for each in odd.extra.media]) == ("odd", [] if focus is None else [focus])
    assert odd.audience == 0


def test_an_odd_audience_is_refused_and_never_public() -> None:
    rows = [note(1, to="https://example.org/users/bob"), note(2, to=""), note(3, to=""), {"type": "Like", "object": {}}]
    rows[2]["object"]["to"] = [5, {"name": "x"}]
    assert read_rows(mastodon(*rows)) == ([], {"private_message": 3, "fields": 1})


@pytest.mark.parametrize("repeated", [2, 4, 5, 6])
async def test_a_picture_that_a_post_names_twice_is_used_once(services: Services, alice: Person, repeated: int) -> None:
    odd = note(2, attachment=[attachment("a.png")] * repeated)
    done = await import_file(services, alice.id, mastodon(note(1), odd, note(3), files={"a.png": colored("red")}))
    assert (done.state, done.counts["posts"], done.counts["pictures"]) == ("done", 3, 1)
    assert [len(post.extra.media) for post in await read_profile_posts(services, "alice")] == [0, 1, 0]


async def test_a_job_that_fails_permanently_ends_the_import_and_keeps_its_recorded_posts(
    services: Services, alice: Person, monkeypatch
) -> None:
    preview = await start_import(services, alice.id, mastodon(note(1), note(2)))
    await services.imports.confirm(alice.id, preview.id)
    queue = services.background_queues["archives"]
    monkeypatch.setattr(queue.queue, "retry_policy", FAST_RETRY_POLICY)
    monkeypatch.setattr(type(services.posts_import), "_place", fail)
    worker = queue.make_worker()
    assert isinstance(worker, Worker)
    await worker.run_until_empty()
    ended = await services.exports.find(alice.id, preview.id, "import")
    assert (ended.state, ended.error, ended.counts["posts"]) == ("done", "failed", 2)
    assert not await MediaFiles().list_names()
    assert (await queue.queue.read_depth()).dead == 1


async def fail(*_: object) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("prefix", "separator", "pack"),
    [
        ("", "/", zipped), ("export/", "/", zipped), ("./", "/", zipped), ("", "\\", zipped),
        ("export\\", "\\", zipped),
        ("", "/", tarred), ("./export/", "/", tarred), ("", "/", lambda members: tarred(members, "w")),
        ("", "/", lambda members: gzip.compress(tarred(members, "w:"))),
    ],
)  # fmt: skip
async def test_pictures_of_one_name_are_found_by_their_whole_paths(
    services: Services, alice: Person, prefix: str, separator: str, pack: Any
) -> None:
    notes = [note(n, attachment=[{"type": "Document", "url": f"/{FILES}/00{n}/original/media.png"}]) for n in (1, 2)]
    upper = note(3, attachment=[{"type": "Document", "url": f"/{FILES}/003/Original/A%20b.PNG"}])
    members = {
        "outbox.json": outbox(*notes, upper).encode(),
        **{f"{FILES}/00{n}/original/media.png": colored(name) for n, name in ((1, "red"), (2, "blue"))},
        f"{FILES}/003/original/a b.png": colored("blue"),
    }
    content = pack({f"{prefix}{name}".replace("/", separator): each for name, each in members.items()})
    done = await import_file(services, alice.id, content)
    assert (done.counts["posts"], done.counts["pictures"]) == (3, 3)
    stored = [post.extra.media[0] for post in await read_profile_posts(services, "alice")]
    found = [await services.media.find_file(None, f"{each.id}-{each.secret}", "full", "webp") for each in stored]
    colors = []
    for each in found:
        with await services.media.files.open(each.name) as file:
            colors.append(color(file.read()))
    assert colors == ["red", "blue", "blue"]


def test_a_picture_of_another_folder_is_found_only_if_its_name_is_unique() -> None:
    archive = AccountArchive(
        BytesIO(zipped({"outbox.json": outbox(), "a/one.png": b"1", "a/two.png": b"2", "b/two.png": b"3"}))
    )
    assert [archive.read_picture(f"/media_attachments/{name}.png") for name in ("one", "two")] == [b"1", None]


@pytest.mark.parametrize("tar", [
    tarred({"outbox.json": b'{"orderedItems": []}' + b" " * 40_000_000}),
    gzip.compress(b"\0" * 40_000_000),
    tarred({"outbox.json": b'{"orderedItems": [{]}'})[:-30],
    tarred({"x" * 40_000_000: b""}),
], ids=["large", "no tar", "cut", "long name"])  # fmt: skip
def test_a_hostile_tar_is_unreadable(tar: bytes) -> None:
    with pytest.raises(ArchiveUnreadable):
        list(AccountArchive(BytesIO(tar)).lines(Tally()))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<ul><li>one</li><li>two</li></ul><blockquote><p>cited</p></blockquote><pre>x = 1\n  y</pre>",
         "one\ntwo\n\ncited\n\nx = 1\n  y"),
        ("<h1>Title</h1>text<div>a</div><div>b</div>tail", "Title\ntext\na\nb\ntail"),
        ("<p>a<br />b</p>\n<p>c &amp;amp; d &copy 1</p>", "a\nb\n\nc &amp; d © 1"),
        ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 2\n3"),
        ("<p>a<script>x()</script>b <img alt=':cat:' src=x><!-- c --></p>", "ab :cat:"),
        ('<p><a href="https://e.org/a/b"><span class="invisible">https://</span><span>e.org/a</span>'
         '<span class="invisible">/b</span></a></p>', "https://e.org/a/b"),
        ('<p><a href="https://e.org/a">here</a> <a href="https://e.org/long/path">e.org/long…</a></p>',
         "here (https://e.org/a) https://e.org/long/path"),
        ('<p>see <a href="https://e.org/tags/x" class="mention hashtag">#<span>x</span></a></p>', "see #x"),
        ("<p>1 &lt; 2 <b>bold</p>", "1 < 2 bold"),
    ],
)  # fmt: skip
def test_the_html_of_a_post_keeps_its_lines_and_links(html: str, text: str) -> None:
    (row,), _ = read_rows(mastodon(note(1, html)))
    assert row["text"] == text


@pytest.mark.parametrize("html", [
    "<pre>a " * 4_999, "<object>" * 2_400 + "</object>" * 2_400, "<svg><title>a</title><style>b</style></svg>x" * 700,
    "<div>" * 4_999, "<pre></pre>x" * 2_499, "<a href=/>1<table><tr><td><a href=/>2</a></td></tr></table></a>" * 40,
])  # fmt: skip
def test_no_html_makes_the_reader_slow(html: str) -> None:
    began = time.process_time()
    assert read_rows(mastodon(note(1, html)))[1] == {}
    assert time.process_time() - began < 2


def mention(name: str, href: str, shown: str = "bob") -> dict[str, Any]:
    html = f'<p><span class="h-card"><a href="{href}" class="u-url mention">@<span>{shown}</span></a></span> hi</p>'
    return note(1, html, tag=[{"type": "Mention", "href": href.replace("/@", "/users/"), "name": name}])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (mastodon(mention("@bob@other.example", "https://other.example/@bob")), "@bob@other.example hi"),
        (mastodon(mention("@bob@other.example", "https://web.other.example/@bob")), "@bob@other.example hi"),
        (mastodon(mention("@bob", "https://example.org/@bob")), "@bob@example.org hi"),
        (mastodon(note(1, "<p>@bob hi</p>")), "@bob@example.org hi"),
        (mastodon(note(1, "<p>x", source={"mediaType": "text/plain", "content": "@bob hi"})), "@bob@example.org hi"),
        (x_archive([tweet(1, "@bob hi")]), "@bob@twitter.com hi"),
    ],
)  # fmt: skip
async def test_a_mention_of_an_account_elsewhere_mentions_no_account_of_this_site(
    services: Services, world: World, content: bytes, text: str
) -> None:
    alice, _ = await world.people("alice", "bob")
    await import_file(services, alice.id, content)
    (post,) = await read_profile_posts(services, "alice")
    assert post.text == text
    assert find_mentions(post.text) == []


def test_two_namesakes_of_two_sites_keep_their_own_addresses() -> None:
    tags = [
        {"type": "Mention", "href": f"https://{host}/users/bob", "name": f"@bob@{host}"}
        for host in ("a.example", "b.example")
    ]
    html = "".join(
        f'<a href="https://{host}/@bob" class="mention">@<span>bob</span></a> ' for host in ("b.example", "a.example")
    )
    (row,), _ = read_rows(mastodon(note(1, html, tag=tags)))
    assert row["text"] == "@bob@b.example @bob@a.example"


URLS = {"urls": [{"url": "https://t.co/abc", "expanded_url": "https://shop.example/?a=1&copy=2&reg=3&not=4&amp;x"}]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Prices https://t.co/abc &amp; more", "Prices https://shop.example/?a=1&copy=2&reg=3&not=4&amp;x & more"),
        ("AT&amp;T &lt;b&gt; &amp;copy; &copy=1", "AT&T <b> &copy; &copy=1"),
    ],
)
def test_the_text_of_a_tweet_is_unescaped_and_its_urls_are_not(text: str, expected: str) -> None:
    (row,), _ = read_rows(x_archive([tweet(1, text, entities=URLS)]))
    assert row["text"] == expected


WHOLE = "A long post about tea & cake, which goes on and on, with https://t.co/abc and " + "more words " * 25
CUT = WHOLE.replace("&", "&amp;")[:270] + "… https://t.co/xyz"


def long_note(text: str = WHOLE, at: str = "2023-06-30T12:00:00.000Z") -> dict[str, Any]:
    urls = [{"shortUrl": "https://t.co/abc", "expandedUrl": "https://shop.example/?a=1&copy=2"}]
    core = {"text": text, "urls": urls, "mentions": [], "hashtags": []}
    return {"noteTweet": {"noteTweetId": "1674750000000000001", "createdAt": at, "core": core, "lifecycle": {}}}


@pytest.mark.parametrize(
    ("tweets", "notes"),
    [
        ([tweet(1, CUT), tweet(2, "short")], [long_note()]),
        ([tweet(1, CUT)], [long_note("Another text of the same second"), long_note(at="2023-06-30T11:59:59.700Z")]),
        ([tweet(1, CUT)], [long_note(at="soon"), None, {"noteTweet": 5}]),
        ([tweet(1, CUT.replace("… https://t.co/xyz", ""))], [long_note()]),
        ([tweet(1, f"@bob {CUT}")], [long_note()]),
        ([tweet(1, CUT)], [long_note(WHOLE.replace("&", "&amp;"))]),
    ],
)
def test_a_long_tweet_has_its_whole_text(tweets: list[Any], notes: list[Any]) -> None:
    rows, _ = read_rows(x_archive(tweets, note_tweet=notes))
    whole = WHOLE.replace("https://t.co/abc", "https://shop.example/?a=1&copy=2")
    assert rows[0]["text"].removeprefix("@bob@twitter.com ") == whole
    assert [row["text"] for row in rows[1:]] == ["short"] * (len(tweets) - 1)


def test_a_long_tweet_is_refused_rather_than_shortened() -> None:
    whole = WHOLE + "and on " * 100
    rows, _ = read_rows(x_archive([tweet(1, CUT)], note_tweet=[long_note(whole)]))
    with pytest.raises(ValueError, match="text_too_long"):
        RULES.parse(1, json.dumps(rows[0]).encode())


MEDIA = {"media": [{"url": "https://t.co/m", "media_url": "http://pbs.twimg.com/media/AB.jpg"}]}


@pytest.mark.parametrize(
    "files",
    [
        {"data/tweets.js": "window.YTD.tweets.part0 = ", "data/tweets_media/1-AB.jpg": b"J"},
        {"data/tweet.js": "window.YTD.tweet.part0 = ", "data/tweet_media/1-AB.jpg": b"J"},
        {"tweet.js": "window.YTD.tweet.part0 = ", "tweet_media/1-AB.jpg": b"J"},
        {"x-2022/data/tweets.js": "\ufeffYTD.tweets.part0=", "x-2022/data/tweets_media/1-AB.jpg": b"J"},
        {"data\\tweets.js": "window.YTD.tweets.part0 = ", "data\\tweets_media\\1-AB.jpg": b"J"},
        {"data/tweets-part1.js": "window.YTD.tweets.part1 = ", "data/tweets.js": "window.YTD.tweets.part0 = [ ]",
         "data/tweets_media/1-AB.jpg": b"J"},
        {"data/js/tweets/2016_11.js": "Grailbird.data.tweets_2016_11 =\n", "tweets_media/1-AB.jpg": b"J"},
    ],
)  # fmt: skip
def test_archives_of_x_of_all_years_are_read(files: dict[str, Any]) -> None:
    rows = [
        tweet(1, "Tea https://t.co/m", entities=MEDIA),
        {"id": 2, "text": "x", "created_at": "2016-11-11 17:28:48 +0000"},
    ]
    first = next(name for name in files if name.endswith(".js"))
    content = zipped(files | {first: files[first] + json.dumps([{"tweet": rows[0]}, rows[1]])})
    parsed, refused = read_rows(content)
    assert (len(parsed), refused) == (2, {})
    assert AccountArchive(BytesIO(content)).read_picture(parsed[0]["media"][0]["file"]) == b"J"


@pytest.mark.parametrize("more", [
    {"entities": 5}, {"entities": {"urls": [None, {"url": 5}], "media": None}}, {"lang": 5, "possibly_sensitive": "x"},
    {"extended_entities": {"media": [{"media_url": None}, {"url": None, "ext_alt_text": 7}]}},
    {"in_reply_to_status_id_str": None, "in_reply_to_status_id": 5, "extended_entities": []},
])  # fmt: skip
async def test_an_odd_value_of_a_tweet_costs_no_post(services: Services, alice: Person, more: dict[str, Any]) -> None:
    done = await import_file(services, alice.id, x_archive([tweet(1, "a"), tweet(2, "b", **more)]))
    assert done.counts["posts"] == 2


async def test_a_damaged_list_of_likes_costs_no_post(services: Services, alice: Person) -> None:
    boost = {"type": "Announce", "object": "https://site.example/@bob/1/", "published": None}
    content = zipped(
        {"outbox.json": outbox(note(1), boost), "likes.json": "{}", "bookmarks.json": "[", "actor.json": "]"}
    )
    done = await import_file(services, alice.id, content)
    assert (done.state, done.counts["posts"], done.refused) == ("done", 1, {"post_missing": 3})


OPTIONS = [{"type": "Note", "name": name, "replies": {"totalItems": 1}} for name in ("Cats", "Dogs")]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"summary": "Warning", "content": ""}, "Warning"),
        ({"summary": "Vote", "content": "<p></p>", "oneOf": OPTIONS, "closed": True}, "Vote"),
        ({"content": "x", "oneOf": OPTIONS, "endTime": "11921-02-05T17:00:00Z"}, "x"),
        ({"content": "x", "anyOf": OPTIONS, "endTime": None, "closed": "2020-01-02T00:00:00.123456789Z"}, "x"),
        ({"content": "x", "published": "2020-01-01T00:00:00.000000Z", "conversation": None, "tag": ["nsfw"]}, "x"),
        ({"content": "x", "source": "x", "attributedTo": [{"id": "https://example.org/users/a"}]}, "x"),
        ({"content": None, "contentMap": {"en": "x"}, "url": [{"href": "https://example.org/1"}]}, "x"),
    ],
)
async def test_posts_of_programs_like_mastodon_keep_their_texts(
    services: Services, alice: Person, more: dict[str, Any], text: str
) -> None:
    done = await import_file(services, alice.id, mastodon(note(1, **more)))
    assert (done.counts["posts"], done.refused) == (1, {})
    (post,) = await read_profile_posts(services, "alice")
    assert (post.text, bool(post.extra.poll)) == (text, "oneOf" in more or "anyOf" in more)


async def test_a_thread_of_x_that_was_sent_within_a_second_keeps_its_order(services: Services, alice: Person) -> None:
    """The ids of X have the milliseconds (neodb-social/neodb#1865)."""
    moment = "Fri Jun 30 12:00:00 +0000 2023"
    ids = [(1_688_126_400_000 + at - 1_288_834_974_657) << 22 for at in (10, 100, 350, 620, 990, 5_000)]
    tweets = [tweet(id, f"{number}", created_at=moment) for number, id in enumerate(ids)]
    await import_file(services, alice.id, x_archive(tweets[::-1]))
    posts = await read_profile_posts(services, "alice")
    assert sorted(post.text for post in posts) == list("012345")
    assert [post.text for post in posts if post.text != "5"] == list("01234")
