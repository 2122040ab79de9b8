"""Private accounts, follow requests and posts for followers over HTTP."""

from tests.support.browser import HttpBrowser


async def test_a_follow_of_a_private_account_is_a_request(alice: HttpBrowser, bob: HttpBrowser) -> None:
    assert (await bob.post_json("/accounts/settings/", private=1)).json()["account"]["private"] is True
    post = await bob.publish("unmistakable #tea")
    assert post["audience"] == "followers"
    assert "Request to follow" in (await alice.get("/@bob/")).text
    follow_answer = await alice.post_json("/@bob/follow/")
    assert follow_answer.json() == {"following": False, "followers": 0, "requested": True}
    profile = await alice.get("/@bob/")
    assert "Requested" in profile.text
    assert "unmistakable" not in profile.text
    assert (await alice.get(f"/@bob/{post['id']}/")).status_code == 404
    assert "unmistakable" not in (await alice.get("/@bob/feed.atom")).text
    waiting = (await bob.get_json("/accounts/requests/")).json()
    assert [account["handle"] for account in waiting["accounts"]] == ["alice"]
    accepted = await bob.post("/@alice/accept/")
    assert (accepted.status_code, accepted.headers["location"]) == (303, "/accounts/requests/")
    assert "unmistakable" in (await alice.get("/@bob/")).text
    assert "unmistakable" in (await alice.get("/")).text
    assert (await bob.get_json("/accounts/requests/")).json()["accounts"] == []
    assert (await bob.post_json("/@alice/accept/")).status_code == 200  # as after a lost answer


async def test_a_request_is_refused_or_withdrawn(alice: HttpBrowser, bob: HttpBrowser) -> None:
    await bob.post_json("/accounts/settings/", private="1")
    for act in (lambda: bob.post_json("/@alice/refuse/"), lambda: alice.post_json("/@bob/unfollow/")):
        await alice.post_json("/@bob/follow/")
        assert (await act()).status_code == 200
        assert (await bob.get_json("/accounts/requests/")).json()["accounts"] == []
    assert (await bob.post_json("/@alice/accept/")).status_code == 404


async def test_a_missing_privacy_field_keeps_the_setting(bob: HttpBrowser) -> None:
    await bob.post("/accounts/settings/", private="1", display_name="Bob")
    await bob.post("/accounts/settings/", display_name="Robert")
    assert '<option value="1" selected>' in (await bob.get("/accounts/settings/")).text
    await bob.post("/accounts/settings/", display_name="Robert", private="0")
    assert '<option value="0" selected>' in (await bob.get("/accounts/settings/")).text
    assert (await bob.post_json("/accounts/settings/", private="maybe")).status_code == 422


async def test_the_composer_sets_the_visibility_of_a_post(alice: HttpBrowser, bob: HttpBrowser) -> None:
    assert (await alice.post("/posts/", text="unmistakable", audience="followers")).status_code == 303
    assert "unmistakable" in (await alice.get("/")).text
    for path in ("/public/", "/@alice/"):
        assert "unmistakable" not in (await bob.get(path)).text
    refused = await alice.post("/posts/", text=" ", audience="unlisted")
    assert refused.status_code == 422
    assert '<option value="unlisted" selected>' in refused.text
    assert (await alice.post_json("/posts/", text="x", audience="friends")).status_code == 422


async def test_the_reply_box_of_a_post_for_followers_is_for_followers(alice: HttpBrowser, bob: HttpBrowser) -> None:
    await alice.post_json("/@bob/follow/")
    post = await bob.publish("among us", audience="followers")
    assert '<option value="followers" selected>' in (await alice.get(f"/@bob/{post['id']}/")).text
    assert (await alice.publish("yes", in_reply_to=post["id"]))["audience"] == "followers"
