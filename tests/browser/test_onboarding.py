"""The steps after a sign-up, with and without JavaScript, on a phone and on a wide screen."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, visitor_numbers
from tests.browser.test_pictures import PHOTO
from tests.support.page_health import find_page_problems, overflowing_elements
from tests.support.random_tests import mostly_nightly
from tests.support.visitor import PASSWORD, HttpVisitor
from tests.support.waiting import wait_until


@pytest.mark.parametrize("has_script", mostly_nightly([True, False], 1), ids=["with a script", "without a script"])
def test_a_newcomer_uploads_an_avatar_follows_accounts_and_posts(
    reader: OpenReader, friend: HttpVisitor, has_script: bool
) -> None:
    friend.publishes("I write about tea")
    wait_until(
        lambda: any(post["author"]["handle"] == friend.handle for post in friend.get("/public/")["posts"]),
        "the post is on the public timeline",
    )
    me = reader(java_script_enabled=has_script, viewport={"width": 1280 if has_script else 320, "height": 700})
    page, problems = me.page, find_page_problems if has_script else overflowing_elements
    me.go_to("/accounts/signup/")
    page.locator("[name=handle]").fill(f"newcomer{next(visitor_numbers)}")
    for name in ("password1",) if has_script else ("password1", "password2"):
        page.locator(f"[name={name}]").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", name="Your name and face")).to_be_visible()
    page.get_by_label("Name").fill("A Newcomer")
    page.get_by_label("Avatar").set_input_files([PHOTO])
    if has_script:
        expect(page.locator(".picture-frame .avatar canvas")).to_be_visible()
        expect(page.locator(".crop")).to_be_visible()
    assert problems(page) == []
    page.get_by_role("button", name="Save and continue").click()
    row = page.locator(".people li").first
    row.get_by_role("checkbox").check()
    assert problems(page) == []
    me.go_to("/")
    expect(page.locator(".onboarding")).to_contain_text("step 2 of 3")
    assert problems(page) == []
    page.get_by_role("link", name="Continue").click()
    handle = row.get_by_text(re.compile("^@")).first.inner_text()
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Your first post")).to_be_visible()
    assert problems(page) == []
    page.locator("[name=text]").fill("hello from a newcomer")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(me.entries.first.locator(".post-text")).to_have_text("hello from a newcomer")
    of_followed = me.entries.nth(1).locator(f'[href="/{handle}/"]')  # a post, or a boost
    expect(of_followed.first).to_be_attached()
    expect(page.locator(".onboarding")).to_have_count(0)
    expect(me.entries.first.locator(".avatar img")).to_have_count(1)
    assert me.complaints == []
