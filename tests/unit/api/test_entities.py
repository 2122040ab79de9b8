"""The entities have the fields that clients require, and the HTML has only Mastodon's elements."""

import re
from typing import Any

from msgspec import structs

from accounts.domain import Author
from accounts.models import Account
from socialsite.ids import AccountId, PostId, id_at
from timelines.api.entities.account import account_entity, credential_account_entity
from timelines.api.entities.content import content_html
from timelines.api.entities.media import upload_entity
from timelines.api.entities.poll import poll_entity
from timelines.api.entities.relationship import relationship_entity
from timelines.api.entities.status import status_fields
from timelines.graph.follow import Relationship
from timelines.media.media import Media
from timelines.pages.page import HydratedPost, PollState, ViewerState
from timelines.posts.post import FOLLOWERS, MediaAttachment, Poll, Post, PostCounts, PostDetails
from timelines.profiles.summaries import AccountSummary
from timelines.visibility.rights import NO_EXPIRY_MS

SITE = "https://example.org"
AT_MS = 1_795_187_640_123
ALICE = Author(AccountId(9), "alice", "Alice", "active", 1)
ACCOUNT = Account(bio="I am @bob\n\n#Cats", link="https://alice.example/")
SUMMARY = AccountSummary(ALICE, tuple(ACCOUNT.texts.values()), "", AT_MS, False, "public", 3, 2, 5, AT_MS)
POST_ID = PostId(id_at(AT_MS, 5))
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ACCOUNT_FIELDS = """id username acct url display_name note avatar avatar_static header header_static locked fields
    emojis bot group created_at statuses_count followers_count following_count""".split()  # noqa: SIM905
STATUS_FIELDS = """id uri created_at content visibility sensitive spoiler_text media_attachments mentions tags emojis
    reblogs_count favourites_count replies_count""".split()  # noqa: SIM905
RELATIONSHIP_FIELDS = """id following showing_reblogs notifying followed_by blocking blocked_by muting
    muting_notifications requested domain_blocking endorsed note""".split()  # noqa: SIM905


def entry(text: str = "hello", details: PostDetails | None = None, **fields: object) -> HydratedPost:
    post = Post(POST_ID, AccountId(9), text, details=details)
    return HydratedPost(**{"post": post, "author": ALICE, "counts": PostCounts(1, 2, 3), "viewer": None, **fields})  # type: ignore[arg-type]


def test_an_account_has_every_field_that_clients_require():
    account = account_entity(SUMMARY, SITE)
    assert all(account[name] is not None for name in ACCOUNT_FIELDS)
    assert (account["id"], account["acct"], account["url"]) == ("9", "alice", f"{SITE}/@alice/")
    assert (account["followers_count"], account["following_count"], account["statuses_count"]) == (3, 2, 5)
    assert TIME.fullmatch(account["created_at"])
    assert account["last_status_at"] == account["created_at"][:10]
    assert account["fields"][0]["value"].startswith('<a href="https://alice.example/"')


def test_an_account_that_moved_leads_to_the_new_one():
    assert "moved" not in account_entity(SUMMARY, SITE)
    moved = moved_entity("https://social.example/@alice2")
    assert all(moved[name] is not None for name in ACCOUNT_FIELDS)
    assert (moved["acct"], moved["url"]) == ("alice2@social.example", "https://social.example/@alice2")
    assert (moved["id"], moved["note"], moved["followers_count"], moved["fields"]) == ("0", "", 0, [])
    assert TIME.fullmatch(moved["created_at"])
    here = moved_entity(f"{SITE}/@alice2/")
    assert (here["acct"], here["username"]) == ("alice2", "alice2")
    assert moved_entity("https://alice.example")["username"] == "alice.example"


def moved_entity(url: str) -> dict[str, Any]:
    texts = tuple(Account(bio="Gone", moved_to=url).texts.values())
    moved: dict[str, Any] = account_entity(structs.replace(SUMMARY, texts=texts), SITE)["moved"]
    return moved


def test_clients_know_a_missing_picture_by_its_name():
    account = account_entity(SUMMARY, SITE)
    assert account["avatar"].endswith("/missing.png")
    assert account["header"].endswith("/missing.png")
    with_picture = structs.replace(SUMMARY, author=structs.replace(ALICE, avatar="1-ab"))
    assert account_entity(with_picture, SITE)["avatar"] == f"{SITE}/media/1-ab/full.webp"


def test_the_own_account_has_the_texts_of_its_forms():
    own = Account(id=9, handle="alice", bio="me", link="https://a.example", is_private=True)
    source = credential_account_entity(SUMMARY, own, 4, SITE)["source"]
    assert (source["privacy"], source["note"], source["follow_requests_count"]) == ("private", "me", 4)
    assert source["fields"][0]["value"] == "https://a.example"


def test_a_post_has_every_field_that_clients_require():
    status = status_fields(entry(), (), SITE)
    assert all(status[name] is not None for name in STATUS_FIELDS)
    assert (status["id"], status["url"], status["visibility"]) == (str(POST_ID), f"{SITE}/@alice/{POST_ID}", "public")
    assert (status["replies_count"], status["reblogs_count"], status["favourites_count"]) == (1, 2, 3)
    assert TIME.fullmatch(status["created_at"])
    assert "favourited" not in status, "a visitor has no state"


def test_a_post_contains_the_reactions_of_its_viewer():
    status = status_fields(entry(viewer=ViewerState(own=True, liked=True, pinned=True)), (), SITE)
    names = ("favourited", "reblogged", "bookmarked", "muted", "pinned")
    assert [status[name] for name in names] == [True, False, False, False, True]


def test_a_post_of_a_private_account_is_private():
    assert status_fields(entry(author=structs.replace(ALICE, private=True)), (), SITE)["visibility"] == "private"
    assert status_fields(entry(post=Post(POST_ID, AccountId(9), "x", audience=FOLLOWERS)), (), SITE)["visibility"] == (
        "private"
    )


def test_a_boost_has_the_text_of_its_original_and_its_own_id():
    booster = Author(AccountId(8), "bob", "Bob", "active", 1)
    boost = Post(PostId(POST_ID + 1), AccountId(8), "", boost_of=POST_ID)
    original = entry("look @bob", PostDetails(spoiler_text="cw"))
    status = status_fields(HydratedPost(boost, booster, PostCounts(), None, original), (("bob", 8),), SITE)
    assert status["id"] == str(boost.id)
    assert status["url"] == f"{SITE}/@bob/{boost.id}"
    assert "look" in status["content"]
    assert (status["spoiler_text"], status["favourites_count"], status["mentions"]) == ("cw", 3, [])


def test_the_text_becomes_paragraphs_with_links():
    html = content_html("hi @bob & @nobody\nb\n\n#Cats https://a.example.org/x", SITE, ["bob"])
    assert html.startswith(
        f'<p>hi <span class="h-card" translate="no"><a href="{SITE}/@bob/" class="u-url mention">@<span>bob</span></a>'
        "</span> &amp; @nobody<br>b</p><p>"
    )
    assert f'<a href="{SITE}/tags/cats/" class="mention hashtag" rel="tag">#<span>Cats</span></a>' in html
    assert '<span class="invisible">https://</span>a.example.org/x</a></p>' in html


def test_the_text_has_no_element_of_its_author():
    html = content_html('<script>alert(1)</script> <img src="x"> https://a.example.org/"onload="x', SITE)
    assert set(re.findall(r"<(\w+)", html)) <= {"p", "br", "span", "a"}
    assert "onload" not in html.replace("&quot;onload=", "")


def test_a_long_link_hides_its_end_but_not_its_host():
    host = "a" * 40 + ".example.org"
    html = content_html(f"https://{host}/path/{'x' * 40}", SITE)
    assert f'<span class="ellipsis">{host}/</span><span class="invisible">path/' in html


def test_mentions_and_hashtags_have_the_urls_of_the_text():
    status = status_fields(entry("@bob #Cats"), (("bob", 8),), SITE)
    for each in (*status["mentions"], *status["tags"]):
        assert f'href="{each["url"]}"' in status["content"]
    assert status["mentions"] == [{"id": "8", "username": "bob", "acct": "bob", "url": f"{SITE}/@bob/"}]


def test_a_poll_hides_its_counts_until_the_viewer_has_voted():
    details = PostDetails(poll=Poll(("a", "b"), multiple=False, ends_ms=AT_MS))
    hidden = poll_entity(entry("?", details, poll=PollState(3, None), viewer=ViewerState(own=False)))
    shown = poll_entity(entry("?", details, poll=PollState(3, (1, 2), (1,)), viewer=ViewerState(own=False)))
    assert hidden is not None
    assert shown is not None
    assert ([each["votes_count"] for each in hidden["options"]], hidden["votes_count"]) == ([None, None], 3)
    assert ([each["votes_count"] for each in shown["options"]], shown["votes_count"]) == ([1, 2], 3)
    assert (hidden["voted"], shown["voted"], shown["own_votes"]) == (False, True, [1])


def test_a_picture_has_its_sizes_as_soon_as_it_is_encoded():
    attachment = MediaAttachment(7, "ab", 200, 100, "LK", "a cat")
    (media,) = status_fields(entry(details=PostDetails(media=(attachment,))), (), SITE)["media_attachments"]
    assert media["url"] == f"{SITE}/media/7-ab/full.webp"
    assert media["meta"]["original"] == {"width": 200, "height": 100, "size": "200x100", "aspect": 2.0}
    row = Media(7, "ab", AccountId(9), "picture", AT_MS)
    assert upload_entity(row, SITE)["url"] is None
    ready = structs.replace(row, state="ready", width=2, height=1, small_width=2, small_height=1)
    assert upload_entity(ready, SITE)["preview_url"].startswith(f"{SITE}/media/7-ab/small.webp?key=")


def test_a_relationship_has_every_field_that_clients_require():
    follow = Relationship(follows=True, muted_until_ms=AT_MS)
    relation = relationship_entity(AccountId(3), follow, requested_by=True, endorsed=True)
    assert all(relation[name] is not None for name in RELATIONSHIP_FIELDS)
    assert (relation["following"], relation["showing_reblogs"], relation["requested_by"]) == (True, True, True)
    assert TIME.fullmatch(relation["muting_expires_at"])
    endless = relationship_entity(
        AccountId(3), Relationship(muted_until_ms=NO_EXPIRY_MS), requested_by=False, endorsed=True
    )
    assert (endless["muting"], endless["muting_expires_at"], endless["endorsed"]) == (True, None, False)
