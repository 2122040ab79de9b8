"""JSON and HTML of posts: clients depend on the JSON, and the HTML fills placeholders of cached fragments."""

from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.utils.formats import date_format
from django.utils.translation import gettext, override
from msgspec.structs import replace

from accounts.domain import Author
from accounts.models import Account
from socialsite.ids import AccountId, PostId, id_at
from timelines.graph.follow import FollowCounts
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.lists.list_page import list_json
from timelines.pages.entry_pattern import entry_pattern
from timelines.pages.page import HydratedPost, ViewerState
from timelines.pages.presenters import entries_html, entry_html, format_minute, post_json, profile_json
from timelines.posts.post import FOLLOWERS, PUBLIC, Post, PostCounts, PostDetails

AT_MS = 1_795_187_640_123
POST_ID = PostId(id_at(AT_MS, 5))


def entry(
    text: str = "hello",
    *,
    name: str = "Alice",
    version: int = 1,
    replies: int = 0,
    own: bool | None = None,
    in_reply_to: int | None = None,
) -> HydratedPost:
    answered = PostId(in_reply_to) if in_reply_to else None
    return HydratedPost(
        Post(POST_ID, AccountId(9), text, answered),
        Author(AccountId(9), "alice", name, "active", version),
        PostCounts(replies=replies),
        None if own is None else ViewerState(own=own),
    )


def test_the_json_of_a_post_has_the_documented_fields():
    assert post_json(entry("a <b>\nc", own=False, replies=3, in_reply_to=7)) == {
        "id": str(POST_ID),
        "url": f"/@alice/{POST_ID}/",
        "author": {"id": "9", "handle": "alice", "display_name": "Alice", "url": "/@alice/"},
        "text": "a <b>\nc",
        "html": "a &lt;b&gt;<br>c",
        "created_at": "2026-11-20T15:14:00.123Z",
        "in_reply_to": "7",
        "counts": {"replies": 3, "boosts": 0, "likes": 0},
        "viewer": {"own": False, "liked": False, "boosted": False, "bookmarked": False},
        "boost_of": None,
        "audience": "public",
    }


def test_a_visitor_has_no_viewer_state():
    assert post_json(entry())["viewer"] is None


def test_the_json_of_a_profile_and_of_a_list_has_the_documented_fields():
    account = Account(id=9, handle="alice", display_name="Alice", bio="me", link="", created_ms=AT_MS)
    fields = profile_json(account, FollowCounts(followers=3, following=2), 5)
    assert (fields["id"], fields["url"], fields["created_at"]) == ("9", "/@alice/", "2026-11-20T15:14:00.123Z")
    assert (fields["followers"], fields["following"], fields["posts"]) == (3, 2, 5)
    account_list = AccountList(ListId(4), AccountId(9), "Friends", AT_MS)
    fields = list_json(account_list, 2)
    assert (fields["id"], fields["title"], fields["members"]) == ("4", "Friends", 2)
    assert (fields["replies"], fields["exclusive"], fields["operation"]) == ("all", False, None)


def test_an_entry_has_the_attributes_that_clients_depend_on():
    html = entry_html(entry("a <b> & c"))
    assert f'data-post-id="{POST_ID}" data-author="alice"' in html
    assert "a &lt;b&gt; &amp; c" in html
    assert 'datetime="2026-11-20T15:14:00.123Z"' in html


@pytest.mark.parametrize("language", [language for language, _ in settings.LANGUAGES])
def test_the_time_of_a_post_is_formatted_as_django_formats_it(language):
    """The time is inserted into the formatted day, so every translation of the format has "H:i"."""
    moment = datetime(2026, 11, 20, 7, 4, tzinfo=UTC)
    with override(language):
        assert "H:i" in gettext("j M Y, H:i")
        expected = date_format(moment, gettext("j M Y, H:i"))
        assert format_minute(int(moment.timestamp() * 1000) + 59_999, language) == expected


def test_a_viewer_can_delete_only_own_posts():
    delete = f"/posts/{POST_ID}/delete/"
    assert delete in entry_html(entry(own=True))
    assert delete not in entry_html(entry(own=False))
    assert delete not in entry_html(entry())


def test_the_number_of_replies_is_filled_in_each_time():
    assert ">7</span>" in entry_html(entry("numbers", replies=7))
    assert ">8</span>" in entry_html(entry("numbers", replies=8))
    with override("de"):
        assert ">1.234</span>" in entry_html(entry("numbers", replies=1234))


def test_an_edited_profile_changes_the_entry():
    assert "Alice" in entry_html(entry("same text"))
    assert "Alice II" in entry_html(entry("same text", name="Alice II", version=2))


def test_each_language_has_its_own_cached_entry():
    english = entry_html(entry("two languages", own=True))
    with override("de"):
        assert "two languages" in entry_html(entry("two languages", own=True))
    assert entry_html(entry("two languages", own=True)) == english


def test_entries_contain_no_token_and_no_empty_placeholder():
    html = entries_html([entry(own=True, replies=2), entry("second")]).__html__()
    assert html.count("<li>") == html.count("<article") == 2
    assert "csrfmiddlewaretoken" not in html
    assert "<!--" not in html


@pytest.mark.parametrize("text", ["<!--own-->", "<!--replies-->", "</li><li>"])
def test_a_text_is_never_taken_for_a_placeholder(text):
    html = entry_html(entry(text, own=True, replies=3))
    assert text not in html
    assert html.count("/delete/") == entry_html(entry(own=True)).count("/delete/")


@pytest.mark.parametrize("text", ["100% %(url)s %s", "\x00url\x00", "{post} {handle}"])
def test_a_text_is_never_taken_for_a_value_of_the_pattern(text):
    html = entry_html(entry(text, name=text))
    assert f'<bdi class="name">{text}</bdi>' in html
    assert f">{text}</div>" in html


def test_posts_of_the_same_shape_share_a_pattern():
    """To render the template for each post took most of the time of a page that shows posts of many authors."""
    entry_html(entry("first", own=False))
    misses = entry_pattern.cache_info().misses
    for number in range(20):
        entry_html(entry(f"text {number}", name=f"name {number}", replies=number, own=False))
    assert entry_pattern.cache_info().misses == misses
    assert 'lang="th"' in entry_html(replace(entry(), post=replace(entry().post, details=PostDetails(language="th"))))


def test_a_name_is_escaped():
    html = entry_html(entry(name="<script>alert(1)</script><!--own-->", version=7, own=True))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def boosted(viewer: ViewerState | None = None, **shown: object) -> HydratedPost:
    """Return Bob's boost of alice's post."""
    original = replace(entry(**shown), viewer=viewer)
    boost = Post(PostId(POST_ID + 9), AccountId(8), "", boost_of=POST_ID, boosted_author_id=AccountId(9))
    booster = Author(AccountId(8), "bob", "Bob <b>", "active", 1)
    return HydratedPost(boost, booster, original.counts, original.viewer, original)


def test_a_boost_contains_its_original_and_has_its_own_id():
    boost = post_json(boosted(text="hello", replies=2))
    assert (boost["id"], boost["url"]) == (str(POST_ID + 9), f"/@bob/{POST_ID + 9}/")
    assert boost["author"]["handle"] == "bob"
    assert boost["boost_of"] == post_json(entry("hello", replies=2))
    assert (boost["text"], boost["counts"]["replies"]) == ("hello", 2)


def test_an_entry_of_a_boost_acts_on_the_original():
    html = entry_html(boosted(ViewerState(own=True, boosted=True)))
    assert f'data-post-id="{POST_ID + 9}" data-boost-of="{POST_ID}" data-author="bob"' in html
    assert "Bob &lt;b&gt;" in html
    for act in ("unboost", "like", "bookmark", "delete"):
        assert f'formaction="/posts/{POST_ID}/{act}/"' in html
    assert f"/posts/{POST_ID + 9}/" not in html


def test_buttons_show_the_state_of_the_viewer():
    viewer = ViewerState(own=False, liked=True, bookmarked=True)
    html = entry_html(replace(entry(), viewer=viewer, counts=PostCounts(boosts=1234, likes=5)))
    assert 'data-act="like" aria-pressed="true"' in html
    assert 'data-act="boost" aria-pressed="false"' in html
    assert 'data-act="bookmark" aria-pressed="true"' in html
    assert 'data-count="boosts">1,234<' in html
    with override("de"):
        assert 'data-count="boosts">1.234<' in entry_html(replace(entry(), counts=PostCounts(boosts=1234)))


@pytest.mark.parametrize(("audience", "private"), [(FOLLOWERS, False), (PUBLIC, True)])
def test_a_post_of_limited_visibility_has_a_lock_instead_of_the_boost_button(audience, private):
    hydrated_post = entry()
    post, author = replace(hydrated_post.post, audience=audience), replace(hydrated_post.author, private=private)
    html = entry_html(replace(hydrated_post, post=post, author=author))
    assert 'data-act="boost"' not in html
    assert "cannot be boosted" in html
    assert 'data-act="like"' in html
