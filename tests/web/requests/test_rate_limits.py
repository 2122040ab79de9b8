"""A request over its limit gets 429 with the rule and the waiting time, and loses no text."""

import re
from ipaddress import ip_network

import pytest

from socialsite.recipes.rate_limit import Rule
from tests.support.browser import JSON_HEADERS, hidden_field


@pytest.fixture
async def alice(limited_site, open_browser):
    return await open_browser("alice")


async def test_the_fourth_post_of_a_minute_is_refused(alice):
    for number in range(3):
        await alice.publish(f"post {number}")
    answer = await alice.post_json("/posts/", text="one more")
    assert (answer.status_code, answer.json()["error"]) == (429, "rate_limited")
    assert answer.json()["fields"] == {"rule": "post"}
    assert 1 <= int(answer.headers["retry-after"]) <= 120


async def test_a_refused_post_reappears_in_its_box(alice):
    for number in range(3):
        await alice.publish(f"post {number}")
    answer = await alice.post("/posts/", text="one more", idempotency_key="the-key")
    assert answer.status_code == 429
    assert answer.headers["retry-after"]
    assert hidden_field(answer.text, "idempotency_key") == "the-key"
    assert ">\none more</textarea>" in answer.text
    assert "You posted too often in the last minute. Try again in" in answer.text
    assert f"Try again in {answer.headers['retry-after']} second" in answer.text
    assert re.search(r'id="composer-error" role="alert">[^<]{5,}<', answer.text)


async def test_a_neighbour_behind_the_same_address_is_not_locked_out(alice, open_browser):
    for number in range(3):
        await alice.publish(f"post {number}")
    bob = await open_browser("bob")
    await bob.publish("me too")


async def test_many_accounts_behind_one_address_share_the_limits_of_ten(limited_site, open_browser):
    limited_site.rules.pop("address")
    people = [await open_browser(f"p{number}") for number in range(11)]
    statuses = [
        (await person.post_json("/posts/", text=f"post {number}")).status_code
        for person in people
        for number in range(3)
    ]
    assert statuses == [201] * 30 + [429] * 3


async def test_one_account_behind_many_addresses_keeps_its_limit(alice, open_browser):
    for number in range(3):
        await alice.publish(f"post {number}")
    elsewhere = await open_browser(address="198.51.100.7")
    elsewhere.http.cookies = alice.http.cookies
    assert (await elsewhere.post_json("/posts/", text="me again")).status_code == 429


async def test_a_refused_hit_of_an_account_does_not_count_for_another(alice, open_browser):
    """Alice is over her limit; her attempts from Bob's address must not use up his limit."""
    for number in range(3):
        await alice.publish(f"post {number}")
    elsewhere = await open_browser(address="198.51.100.7")
    elsewhere.http.cookies = alice.http.cookies
    for _ in range(5):
        await elsewhere.post_json("/posts/", text="me again")
    bob = await open_browser("bob", address="198.51.100.7")
    for number in range(3):
        await bob.publish(f"bob's {number}")


async def test_follows_have_a_rule_of_their_own(alice, open_browser):
    await open_browser("bob")
    for _ in range(2):
        assert (await alice.post_json("/@bob/follow/")).status_code == 200
    assert (await alice.post_json("/@bob/follow/")).json()["fields"] == {"rule": "follow"}
    assert (await alice.post("/@bob/follow/")).status_code == 429
    await alice.publish("still free to speak")


async def test_an_action_is_counted_before_its_target_is_looked_up(alice, open_browser):
    await open_browser("bob")
    for _ in range(2):
        assert (await alice.post_json("/@nobody/follow/")).status_code == 404  # a failure is not counted
        assert (await alice.post_json("/@bob/follow/")).status_code == 200
    assert (await alice.post_json("/@nobody/follow/")).status_code == 429


@pytest.mark.parametrize(
    ("rule", "paths"),
    [
        ("like", ["like", "unlike", "bookmark", "unbookmark"]),
        ("block", ["/@bob/block/", "/@bob/unblock/", "/@bob/mute/", "/@bob/unmute/", "/@bob/hide-boosts/"]),
        ("delete", ["delete"]),
    ],
)
async def test_likes_blocks_and_deletions_have_limits(limited_site, alice, open_browser, rule, paths):
    await open_browser("bob")
    limited_site.rules[rule] = Rule(rule, 3)
    statuses, post = [], ""
    for number in range(4):
        if number < 3:  # the limit of posts
            post = (await alice.publish(f"post {number}"))["id"]
        path = paths[number % len(paths)]
        answer = await alice.post_json(path if path.startswith("/") else f"/posts/{post}/{path}/")
        statuses.append(answer.status_code)
    assert statuses == [200, 200, 200, 429]
    assert answer.json()["fields"] == {"rule": rule}


@pytest.mark.parametrize(
    ("rule", "path", "missing_path"),
    [
        ("post", "/posts/<post>/boost/", "/posts/1/boost/"),
        ("follow", "/tags/tea/follow/", "/tags/other/unfollow/"),
        ("list", "/accounts/filters/", "/accounts/filters/99/edit/"),
        ("list", "/accounts/filters/", "/accounts/filters/99/delete/"),
        ("list", "/lists/", "/lists/"),
        ("list", "/lists/<list>/edit/", "/lists/99/edit/"),
        ("list", "/lists/<list>/members/", "/lists/99/members/"),
        ("list", "/lists/<list>/members/", "/lists/99/members/remove/"),
        ("list", "/lists/<list>/edit/", "/lists/99/delete/"),
    ],
)
async def test_boosts_hashtags_lists_and_filters_are_counted_before_they_are_looked_up(
    limited_site, alice, open_browser, rule, path, missing_path
):
    """Above the limit, a request for a missing target is 429 instead of 404, because nothing was read for it."""
    bob = await open_browser("bob")
    post = (await bob.publish("a post"))["id"]
    account_list = (await alice.post_json("/lists/", title="mine")).json()["id"]
    limited_site.rules[rule] = Rule(rule, 2)
    fields = {"phrase": "word", "title": "mine", "handle": "bob"}
    statuses = []
    for _ in range(2):
        filled_path = path.replace("<post>", post).replace("<list>", account_list)
        statuses.append((await alice.post_json(filled_path, **fields)).status_code)
    assert set(statuses) <= {200, 201}
    answer = await alice.post_json(missing_path, **fields)
    assert (answer.status_code, answer.json()["fields"]) == (429, {"rule": rule})


async def test_an_address_gets_its_number_of_requests_whatever_its_headers(limited_site, open_browser):
    browser = await open_browser(address="198.51.100.9")
    statuses = [
        (await browser.http.get("/public/", headers={**JSON_HEADERS, "X-Forwarded-For": f"192.0.2.{n}"})).status_code
        for n in range(60)
    ]
    assert statuses == [200] * 40 + [429] * 20
    assert (await browser.get("/public/")).status_code == 429
    assert (await (await open_browser(address="198.51.100.10")).get("/public/")).status_code == 200


async def test_a_network_of_ipv6_is_one_address(limited_site, open_browser):
    statuses = []
    for number in range(50):
        browser = await open_browser(address=f"2001:db8:1:2::{number:x}")
        statuses.append((await browser.get("/public/")).status_code)
    assert statuses == [200] * 40 + [429] * 10


async def test_behind_a_trusted_proxy_each_client_counts_alone(limited_site, open_browser, settings):
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    proxy = await open_browser(address="10.0.0.1")
    for number in range(60):
        assert (await proxy.get("/public/", **{"X-Forwarded-For": f"192.0.2.{number}"})).status_code == 200
    statuses = [
        (await proxy.get("/public/", **{"X-Forwarded-For": f"192.0.2.{n}, 203.0.113.5"})).status_code for n in range(60)
    ]
    assert statuses == [200] * 40 + [429] * 20


async def test_probes_are_never_refused(limited_site, open_browser):
    browser = await open_browser()
    for _ in range(60):
        assert (await browser.get("/livez")).status_code == 200
        assert (await browser.get("/readyz")).status_code == 200
