"""The pictures of posts on pages, in JSON and in feeds."""

import re

import pytest

from accounts.domain import Author
from accounts.models import Account
from socialsite.ids import AccountId, PostId, id_at
from timelines.feeds.atom import render_account_feed
from timelines.pages.page import HydratedPost
from timelines.pages.pictures import BASE83, BLUR_COLUMNS, BLUR_ROWS, average_color, blurred
from timelines.pages.presenters import entries_html, entry_html, post_json
from timelines.posts.post import MediaAttachment, Post, PostCounts, PostDetails

ORANGE = "#ff8000"


def blurhash_of(color: str) -> str:
    """Return a blurhash of one color: its size, the maximum and the average."""
    value, digits = int(color[1:], 16), ""
    for _ in range(4):
        value, digit = divmod(value, 83)
        digits = BASE83[digit] + digits
    return f"00{digits}"


def picture(number: int = 1, **fields: object) -> MediaAttachment:
    values: dict[str, object] = {"alt": f"picture {number}", **fields}
    return MediaAttachment(number, f"secret{number}", 1600, 900, blurhash_of(ORANGE), **values)


def entry(*media: MediaAttachment, text: str = "hello", **details: object) -> HydratedPost:
    post = Post(PostId(id_at(1_795_187_640_123, 5)), AccountId(9), text, details=PostDetails(media=media, **details))
    return HydratedPost(post, Author(AccountId(9), "alice", "Alice", "active", 1), PostCounts(), None)


def test_the_average_color_is_read_from_the_blurhash() -> None:
    assert average_color(blurhash_of(ORANGE)) == ORANGE
    assert re.fullmatch("#[0-9a-f]{6}", average_color("LEHV6nWB2yk8pyo0adR*.7kCMdnj"))


@pytest.mark.parametrize("damaged", ["", "0", "00ÿ\x00<>"])
def test_a_damaged_blurhash_is_some_color(damaged: str) -> None:
    assert blurred(damaged, 0) == []
    assert re.fullmatch("#[0-9a-f]{6}", average_color(damaged))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_an_entry_shows_its_pictures_in_a_grid_with_links_to_the_full_size(count: int) -> None:
    html = entry_html(entry(*(picture(n) for n in range(1, count + 1))), "en")
    assert f'class="pictures pictures-{count}"' in html
    assert html.count('<a class="picture"') == count
    for n in range(1, count + 1):
        assert f'href="/media/{n}-secret{n}/full.webp"' in html
        shown = re.search(rf'<img [^>]*src="/media/{n}-secret{n}/small.webp"[^>]*>', html)[0]
        assert f'alt="picture {n}" width="1600" height="900" loading="lazy" decoding="async"' in shown
    assert html.count(f'fill="{ORANGE}"') == count
    assert "<details" not in html.partition("post-actions")[0]


def test_only_the_first_picture_of_a_screen_is_loaded_eagerly() -> None:
    shown, hidden = entry(picture(1), picture(2)), entry(picture(3), sensitive=True)
    html = str(entries_html([entry(), shown, shown]).__html__())
    assert re.findall(r'[^ ]+ decoding="async"></picture>', html) == [
        f'{each} decoding="async"></picture>' for each in ['fetchpriority="high"', *['loading="lazy"'] * 3]
    ]
    for late in ([hidden, hidden], [entry(), entry(), entry(), shown]):
        assert "fetchpriority" not in str(entries_html(late).__html__())


def test_an_entry_without_pictures_contains_nothing_of_them() -> None:
    assert "picture" not in entry_html(entry(), "en")
    assert "media_attachments" not in post_json(entry())


def test_a_description_is_escaped() -> None:
    html = entry_html(entry(picture(alt='"><script>x')), "en")
    assert "<script>" not in html
    assert 'alt="&quot;&gt;&lt;script&gt;x"' in html


def test_a_picture_without_a_description_has_a_name_and_a_mark() -> None:
    html = entry_html(entry(picture(alt="")), "en")
    assert 'alt="Picture without a description"' in html
    assert "data-undescribed" in html


def test_sensitive_pictures_are_hidden_until_the_reader_opens_them() -> None:
    html = entry_html(entry(picture(1), picture(2), sensitive=True), "en")
    cover = html.partition('<details class="pictures-cover">')[2].partition("</details>")[0]
    assert "Sensitive: show 2 pictures" in cover
    assert cover.count('width="1.1"') == 2 * BLUR_COLUMNS * BLUR_ROWS
    assert html.count("<img") == cover.count("<img") == 2  # a closed <details> does not load them (loading="lazy")


def test_a_content_warning_folds_the_pictures_together_with_the_text() -> None:
    html = entry_html(entry(picture(1), picture(2), spoiler_text="spiders"), "en")
    folded = html.partition('<details class="warned">')[2].partition("</details>")[0]
    assert "hello" in folded
    assert html.count("<img") == folded.count("<img") == 2


def test_an_animation_does_not_play_for_readers_with_reduced_motion() -> None:
    html = entry_html(entry(picture(is_animated=True)), "en")
    assert '<source media="(prefers-reduced-motion: no-preference)" srcset="/media/1-secret1/full.webp">' in html
    assert "<source" not in entry_html(entry(picture()), "en")


@pytest.mark.parametrize(
    ("focus", "classes"), [((0.0, 0.0), "x-2 y-2"), ((-1.0, 1.0), "x-0 y-0"), ((1.0, -1.0), "x-4 y-4")]
)
def test_the_focal_point_selects_the_visible_part_of_a_cropped_picture(
    focus: tuple[float, float], classes: str
) -> None:
    assert f'<img class="{classes}"' in entry_html(entry(picture(focus=focus)), "en")


def test_the_json_of_a_post_has_the_pictures_with_mastodons_names() -> None:
    (attachment,) = post_json(entry(picture(focus=(0.5, -0.5))))["media_attachments"]
    assert attachment == {
        "id": "1",
        "type": "image",
        "url": "/media/1-secret1/full.webp",
        "preview_url": "/media/1-secret1/small.webp",
        "description": "picture 1",
        "blurhash": blurhash_of(ORANGE),
        "meta": {"original": {"width": 1600, "height": 900}, "focus": {"x": 0.5, "y": -0.5}},
    }


def test_a_feed_shows_pictures_and_links_to_hidden_ones() -> None:
    account = Account(id=9, handle="alice")
    shown = render_account_feed("https://a.example", account, [entry(picture(), text="")]).decode()
    assert '&lt;img src="https://a.example/media/1-secret1/full.webp" alt="picture 1"' in shown
    assert "<title>picture 1</title>" in shown
    hidden = render_account_feed("https://a.example", account, [entry(picture(), sensitive=True)]).decode()
    assert "&lt;img" not in hidden
    assert '&lt;a href="https://a.example/media/1-secret1/full.webp"&gt;picture 1' in hidden
