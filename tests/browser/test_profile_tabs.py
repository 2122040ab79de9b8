"""The tabs of a profile: a grid of pictures and the own likes."""

import os

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader
from tests.browser.test_pictures import PHOTO, TALL, choose, post, wait_until_ready
from tests.support.page_health import find_page_problems
from tests.support.visitor import HttpVisitor


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_pictures_are_a_grid_of_three_columns_that_leads_to_their_posts(
    reader: OpenReader, own: HttpVisitor, scripts: bool
) -> None:
    writer = reader(own)
    writer.go_to("/")
    rows = choose(writer.page, PHOTO, TALL, PHOTO, PHOTO)
    wait_until_ready(rows, 4)
    for number, row in enumerate(rows.all()):
        row.get_by_label("Description").fill(f"Gradient {number}")
    post(writer.page)
    expect(writer.entries).to_have_count(1)
    for width, scheme in ((390, "light"), (1280, "dark")):
        me = reader(own, viewport={"width": width, "height": 844}, color_scheme=scheme, java_script_enabled=scripts)
        me.go_to(f"/@{own.handle}/")
        me.page.get_by_role("link", name="Media").click()
        tiles = me.page.locator(".media-grid > li")
        expect(tiles).to_have_count(4)
        boxes = [tile.bounding_box() for tile in tiles.all()]
        assert len({box["y"] for box in boxes[:3] if box}) == 1
        assert boxes[3]
        assert boxes[0]
        assert boxes[3]["x"] == boxes[0]["x"]
        assert abs(boxes[0]["width"] - boxes[0]["height"]) < 1
        if folder := os.environ.get("SCREENSHOTS"):
            tiles.nth(3).scroll_into_view_if_needed()
            me.page.wait_for_timeout(800)
            me.page.screenshot(path=f"{folder}/grid-{width}-{scripts}.png")
        if scripts:
            assert not find_page_problems(me.page)
        me.page.get_by_role("link", name="Gradient 2").click()
        me.page.wait_for_url(f"**/@{own.handle}/*/")


def test_an_account_finds_its_likes_on_its_profile(reader: OpenReader, own: HttpVisitor, friend: HttpVisitor) -> None:
    liked = friend.publishes("a post to like")
    own.post(f"/posts/{liked['id']}/like/")
    me = reader(own, java_script_enabled=False, viewport={"width": 390, "height": 844})
    me.go_to(f"/@{own.handle}/")
    me.page.get_by_role("link", name="Likes").click()
    expect(me.page.get_by_text("a post to like")).to_be_visible()
    me.go_to(f"/@{friend.handle}/")
    expect(me.page.get_by_role("link", name="Likes")).to_have_count(0)
