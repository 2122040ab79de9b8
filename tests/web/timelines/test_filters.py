"""Filters over HTTP are created, changed and refused with a reason, and fold or hide posts."""

from tests.support.browser import HttpBrowser


async def test_a_filter_folds_or_hides_and_can_be_changed(alice: HttpBrowser, bob: HttpBrowser) -> None:
    await bob.publish("unmistakable #tea")
    made = await alice.post_json("/accounts/filters/", phrase="Unmistakable")
    assert made.status_code == 201
    assert made.json() == {
        "id": "1", "phrase": "Unmistakable", "action": "warn", "whole_word": True, "expires_at": None,
    }  # fmt: skip
    assert "Hidden by your filter: Unmistakable" in (await alice.get("/public/")).text
    assert (await alice.get_json("/public/")).json()["posts"][0]["filtered"] == "Unmistakable"
    assert (await alice.post_json("/accounts/filters/1/edit/", action="blur")).json()["action"] == "blur"
    assert "Hidden by your filter: Unmistakable" in (await alice.get("/public/")).text
    assert '<option value="blur" selected>Hide with a warning' in (await alice.get("/accounts/filters/")).text
    changed = await alice.post_json("/accounts/filters/1/edit/", action="hide", expires_in=3600)
    assert (changed.json()["action"], changed.json()["phrase"]) == ("hide", "Unmistakable")
    assert changed.json()["expires_at"]
    assert "unmistakable" not in (await alice.get("/public/")).text
    assert "#tea" in (await alice.get("/@bob/")).text
    assert (await alice.post("/accounts/filters/1/delete/")).status_code == 303
    assert "#tea" in (await alice.get("/public/")).text
    assert (await alice.get_json("/accounts/filters/")).json() == {"filters": []}


async def test_a_refused_filter_reappears_with_the_reason(alice: HttpBrowser) -> None:
    refused = await alice.post("/accounts/filters/", phrase="x" * 101)
    assert refused.status_code == 422
    assert "x" * 101 in refused.text
    assert "at most 100 characters" in refused.text
    assert (await alice.post_json("/accounts/filters/", phrase=" ")).status_code == 422
    assert (await alice.post_json("/accounts/filters/", phrase="a", action="burn")).status_code == 422
    assert (await alice.post_json("/accounts/filters/", phrase="a", expires_in="soon")).status_code == 422
    await alice.post_json("/accounts/filters/", phrase="tea")
    sent = {"action": "hide", "whole_word": "0", "expires_in": "604800"}
    for path in ("/accounts/filters/", "/accounts/filters/1/edit/"):
        again = (await alice.post(path, phrase="x" * 101, **sent)).text
        for value in sent.values():
            assert again.count(f'<option value="{value}" selected>') == 1, (path, value)
    wrong = await alice.post("/accounts/filters/1/edit/", phrase="")
    assert wrong.status_code == 422
    assert '<details class="panel" open>' in wrong.text
    assert (await alice.post_json("/accounts/filters/2/edit/", phrase="a")).status_code == 404


async def test_a_phrase_is_shown_as_text(alice: HttpBrowser, bob: HttpBrowser) -> None:
    await bob.publish("<script>alert(1)</script>")
    await alice.post_json("/accounts/filters/", phrase="<script>alert(1)</script>")
    for path in ("/public/", "/accounts/filters/"):
        page = (await alice.get(path)).text
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
