"""Patterns: templates that are rendered once and filled with the values of each request."""

import pytest
from django.utils.translation import override

from socialsite.web.patterns import mark, render_pattern
from timelines.home_page import side_panel
from timelines.home_page.side_panel import TAB_PATHS


@pytest.mark.parametrize("value", ["Friends", "100% %(title0)s", "\x00title0\x00"])
def test_a_pattern_is_filled_with_values_as_they_are(value: str) -> None:
    pattern = render_pattern("timelines/_lists_aside.html", {"links": [{"url": mark("url"), "title": mark("title")}]})
    html = pattern % {"url": "/lists/1/", "title": value}
    assert f'<a href="/lists/1/"><bdi>{value}</bdi></a>' in html


def test_readers_with_as_many_lists_share_a_pattern() -> None:
    """Lists differ between readers. To render the side panel for each took as long as reading the session."""
    first = side_panel._render("timelines/_timeline_tabs.html", (("/lists/1/", "A <b>"),), "/", "en")
    misses = side_panel._links_pattern.cache_info().misses
    second = side_panel._render("timelines/_timeline_tabs.html", (("/lists/2/", "B & 1%"),), "/", "en")
    assert side_panel._links_pattern.cache_info().misses == misses
    assert '<a href="/lists/1/"><bdi>A &lt;b&gt;</bdi></a>' in first
    assert '<a href="/lists/2/"><bdi>B &amp; 1%</bdi></a>' in second


@pytest.mark.parametrize("path", [*TAB_PATHS, "/lists/1/", "/lists/2/"])
def test_only_the_tab_of_the_page_is_current(path: str) -> None:
    links = (("/lists/1/", "A"), ("/lists/2/", "B"))
    html = side_panel._render("timelines/_timeline_tabs.html", links, path, "en")
    assert html.count("aria-current") == 1
    assert f'<a href="{path}" aria-current="page">' in html


def test_the_words_of_the_side_panel_are_in_the_language_of_the_page() -> None:
    english = side_panel._render("timelines/_lists_aside.html", (("/lists/1/", "A"),), "", "en")
    with override("de"):
        german = side_panel._render("timelines/_lists_aside.html", (("/lists/1/", "A"),), "", "de")
    assert "Your lists" in english
    assert "Deine Listen" in german
