"""Shapes of archives that people have published: keys that are written twice, edited tweets, odd characters, lengths.

Only the shapes are theirs; the texts are invented. Reports of the same: mastodon/mastodon#31091,
glitch-soc/mastodon#2787, the-convocation/twitter-scraper#94, TheExGenesis/community-archive#161,
Automattic/wordpress-atmosphere#133, snarfed/bridgy-fed#1112, elk-zone/elk#1803.
"""

import gzip
import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from socialsite.container import Services
from tests.contract.importing.test_bluesky_archives import car
from tests.contract.importing.test_foreign_archives import outbox, read_rows, tweet, x_archive, zipped
from tests.contract.importing.test_import_archives import attachment, note
from tests.support.imports import import_file, read_profile_posts
from tests.support.pictures import picture
from tests.support.world import World
from timelines.importing.archive_files import ArchiveUnreadable
from timelines.importing.lines import Tally
from timelines.importing.service import open_archive

FIRST, SECOND, THIRD = 1767496415922585688, 1767497756157866020, 1767498756157866020
AT = ("Tue Mar 12 10:22:38 +0000 2024", "Tue Mar 12 10:27:58 +0000 2024", "Tue Mar 12 10:31:56 +0000 2024")


def edited(ids: list[int]) -> list[dict[str, Any]]:
    """Return the field `edit_info` of each version of a tweet, as X writes it."""
    control = {"editTweetIds": list(map(str, ids)), "editableUntil": "2024-03-12T11:22:38.000Z", "editsRemaining": "4"}
    edit = {"edit": {"initialTweetId": str(ids[0]), "editControlInitial": control}}
    return [{"edit_info": each} for each in ({"initial": control}, *[edit] * (len(ids) - 1))]


@pytest.mark.parametrize("space", ["", " ", "\n  "])
def test_the_list_that_mastodon_writes_after_an_empty_one_is_read(space: str) -> None:
    """An earlier release read the empty list. It imported nothing and reported nothing."""
    items = json.dumps([note(number, f"<p>{number}</p>") for number in range(3)])
    lists = f'"orderedItems":{space}[]{space},{space}"orderedItems":{items}'
    rows, refused = read_rows(zipped({"outbox.json": f'{{"id":"outbox.json","totalItems":3,{space}{lists}}}'}))
    assert ([row["text"] for row in rows], refused) == (["0", "1", "2"], {})


def test_an_outbox_without_posts_is_empty() -> None:
    assert read_rows(zipped({"outbox.json": outbox()})) == ([], {})


async def test_the_versions_of_an_edited_tweet_are_one_post(services: Services, world: World) -> None:
    """X stores each version as a tweet. Answers name any of them."""
    alice = await world.person("alice")
    ids, texts = [FIRST, SECOND, THIRD], ["Helo", "Hello", "Hello all"]
    versions = [
        tweet(id, text, created_at=at, **info) for id, text, at, info in zip(ids, texts, AT, edited(ids), strict=True)
    ]
    answer = tweet(THIRD + 2**22 * 60_000, "An answer", created_at=AT[2], in_reply_to_status_id_str=str(SECOND))
    done = await import_file(services, alice.id, x_archive([answer, *reversed(versions)]))
    assert (done.counts["posts"], done.refused) == (2, {})
    first, second = await read_profile_posts(services, "alice")
    assert (first.text, first.extra.version, second.in_reply_to) == ("Hello all", 2, first.id)
    assert [each.text for each in await services.edits.versions(first.id)] == texts
    again = await import_file(services, alice.id, x_archive([answer, *versions]))
    assert (again.counts.get("posts", 0), again.counts["standing"]) == (0, 2)


@pytest.mark.parametrize("kept", [[0], [1], [0, 2], [1, 2]], ids=str)
def test_an_edited_tweet_of_which_versions_are_missing_is_one_post(kept: list[int]) -> None:
    ids = [FIRST, SECOND, THIRD]
    versions = [tweet(id, str(id), created_at=at, **info) for id, at, info in zip(ids, AT, edited(ids), strict=True)]
    rows, refused = read_rows(x_archive([versions[each] for each in kept]))
    assert ([(row["id"], row["text"]) for row in rows], refused) == ([(str(FIRST), str(ids[kept[-1]]))], {})
    assert [each["text"] for each in rows[0]["versions"]] == [str(ids[each]) for each in kept[:-1]]


ODD_TEXTS = [
    ("two\x94 words", "two words"), ("a\x03b", "ab"), ("cut \ud83d", "cut"), ("a\ufffeb\U0001ffffc", "abc"),
    ("e" + "\u0301" * 30 + "!", "\u00e9" + "\u0301" * 7 + "!"),
]  # fmt: skip


@pytest.mark.parametrize(("odd", "stored"), ODD_TEXTS, ids=ascii)
async def test_a_character_that_no_text_may_have_costs_no_post(
    services: Services, world: World, odd: str, stored: str
) -> None:
    alice = await world.person("alice")
    notes = [note(1, f"<p>{odd}</p>", attachment=[attachment("a.png", odd)]), note(2, summary=odd)]
    archive = zipped({"outbox.json": outbox(*notes), "media_attachments/files/1/original/a.png": picture()})
    for content in (x_archive([tweet(1, odd)]), archive):
        assert (await import_file(services, alice.id, content)).refused == {}
    of_tweet, warned, of_note = sorted(await read_profile_posts(services, "alice"), key=lambda post: -post.id)
    assert (of_tweet.text, of_note.text, warned.extra.spoiler_text) == (stored, stored, stored)
    assert of_note.extra.media[0].alt == stored


def test_a_post_of_bluesky_keeps_the_address_of_what_it_quotes() -> None:
    """The kinds of app.bsky.embed.record#view, of which readers know some only (ascorbic/astro-loaders#66)."""
    quoted = {"uri": "at://did:plc:quoted/app.bsky.feed.post/3mnzu7nvcss2e", "cid": "x"}
    page = "https://bsky.app/profile/did:plc:quoted/post/3mnzu7nvcss2e"
    feed = {"uri": "at://did:plc:quoted/app.bsky.feed.generator/cats", "cid": "x"}
    pack = {"uri": "at://did:plc:quoted/app.bsky.graph.starterpack/3lam2j5jg2y2p", "cid": "x"}
    labeler = {"uri": "at://did:plc:quoted/app.bsky.labeler.service/self", "cid": "x"}
    other = {"uri": "at://did:plc:quoted/app.bsky.feed.threadgate/3a", "cid": "x"}
    embeds = [
        {"record": quoted},
        {"record": {"record": quoted}, "media": {"images": []}},
        *({"record": each} for each in (feed, pack, labeler, other)),
    ]
    records = {
        f"app.bsky.feed.post/3{number}": {"text": "Look", "createdAt": "2024-05-01T10:00:00Z", "embed": embed}
        for number, embed in enumerate(embeds)
    }
    rows = [json.loads(line) for _, line in open_archive(BytesIO(car(records)), "alice").lines(Tally())]
    others = ("profile/did:plc:quoted/feed/cats", "starter-pack/did:plc:quoted/3lam2j5jg2y2p", "profile/did:plc:quoted")
    expected = [f"Look\n{page}"] * 2 + [f"Look\nhttps://bsky.app/{path}" for path in others] + ["Look"]
    assert [row["text"] for row in rows] == expected


async def test_the_hosts_of_names_do_not_count_as_text_of_a_post(services: Services, world: World) -> None:
    """Mastodon and X count no hosts, so their posts of full length would otherwise be too long here."""
    alice = await world.person("alice")
    names = " ".join(f"@person{number:02}@a-long-name-of-a-site.example" for number in range(10))
    text = f"{names} {'a' * (500 - 10 * 10)}"
    tweets = [tweet(1, " ".join(f"@person{number:02}" for number in range(48)) + " " + "a" * 19)]
    for content in (zipped({"outbox.json": outbox(note(1, f"<p>{text}</p>"))}), x_archive(tweets)):
        assert (await import_file(services, alice.id, content)).refused == {}


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("packs", [bytes, gzip.compress])
async def test_the_file_of_the_posts_alone_is_imported(
    services: Services, world: World, before: bytes, packs: Callable[[bytes], bytes]
) -> None:
    """Safari unpacks a zip, and an archive with videos is large: codl/forget#119, neodb-social/neodb#1868."""
    alice = await world.person("alice")
    done = await import_file(services, alice.id, packs(before + outbox(note(1)).encode()))
    assert (done.counts["posts"], done.refused) == (1, {})
    assert [post.text for post in await read_profile_posts(services, "alice")] == ["A note"]


@pytest.mark.parametrize("content", [b"{}", b"{", b'{"orderedItems":', b"window.YTD.tweets.part0 = [", b"[]"])
def test_a_file_other_than_the_one_with_the_posts_is_refused(content: bytes) -> None:
    with pytest.raises(ArchiveUnreadable):
        read_rows(content)


QUOTED_PAGE = "https://other.example/@bob/117"
FALLBACKS = {
    "mastodon": (
        f'<p class="quote-inline">RE: <a href="{QUOTED_PAGE}" target="_blank" rel="nofollow noopener"><span '
        'class="invisible">https://</span><span class="ellipsis">other.example/@bob</span><span class="invisible">/117'
        "</span></a></p><p>Look</p>"
    ),
    "misskey": f'<p>Look<span class="quote-inline"><br><br>RE: <a href="{QUOTED_PAGE}">{QUOTED_PAGE}</a></span></p>',
    "without": "<p>Look</p>",
    "other": f'<p>Look</p><p class="quote-inline">At <a href="{QUOTED_PAGE}">{QUOTED_PAGE}</a></p>',
}


@pytest.mark.parametrize("name", FALLBACKS)
@pytest.mark.parametrize("field", ["quoteUrl", "quoteUri", "quote", "_misskey_quote"])
async def test_a_post_keeps_the_address_of_what_it_quotes(
    services: Services, world: World, name: str, field: str
) -> None:
    """mastodon/mastodon#36963, glitch-soc/mastodon#3340: some posts have the address only in a field."""
    alice = await world.person("alice")
    quote = note(1, FALLBACKS[name], **{field: QUOTED_PAGE})
    await import_file(services, alice.id, zipped({"outbox.json": outbox(quote)}))
    (post,) = await read_profile_posts(services, "alice")
    assert post.text == ("Look\n\nAt " if name == "other" else "Look\n") + QUOTED_PAGE


async def test_a_post_without_room_for_the_address_of_what_it_quotes_is_imported(
    services: Services, world: World
) -> None:
    """Mastodon adds the line after it has counted."""
    alice, text = await world.person("alice"), "x" * 490
    quote = note(1, FALLBACKS["mastodon"].replace("Look", text), quote="https://other.example/users/bob/117")
    done = await import_file(services, alice.id, zipped({"outbox.json": outbox(quote)}))
    assert ([post.text for post in await read_profile_posts(services, "alice")], done.refused) == ([text], {})


async def test_a_quote_with_only_a_warning_keeps_the_warning(services: Services, world: World) -> None:
    alice = await world.person("alice")
    quote = note(1, "", quote=QUOTED_PAGE, summary="Spiders")
    await import_file(services, alice.id, zipped({"outbox.json": outbox(quote)}))
    (post,) = await read_profile_posts(services, "alice")
    assert (post.text, post.extra.spoiler_text) == (QUOTED_PAGE, "Spiders")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "at://x/y", 7, None, ["https://"]])
def test_an_address_of_a_quoted_post_that_is_no_page_is_left_out(url: object) -> None:
    (row,), refused = read_rows(zipped({"outbox.json": outbox(note(1, "<p>Look</p>", quoteUrl=url))}))
    assert row["quoted_url"] in ("", "https://")
    assert not refused
