"""Blocked words and hosts refuse posts, edits, polls, picture descriptions and profiles."""

import pytest

from accounts.errors import FieldErrors
from socialsite.container import Services
from tests.support.world import Person, World
from timelines.errors import PostInvalid
from timelines.posts.post import Poll, PostDetails


@pytest.fixture
async def rules(services: Services) -> None:
    await services.site.change(blocked_words=("casino", "easy money"), blocked_hosts=("bad.example.com",))


REFUSED = ("Visit the Casino!", "EASY  money for you", "see https://bad.example.com/x", "http://a.BAD.example.com.:80/")


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("text", REFUSED)
async def test_a_text_with_a_blocked_word_or_host_is_refused_everywhere(world: World, alice: Person, text: str) -> None:
    post = await alice.publishes("fine")
    poll = PostDetails(poll=Poll(("yes", text[:50]), multiple=False, ends_ms=2**42))
    for action in (
        alice.publishes(text),
        alice.publishes("fine", details=PostDetails(spoiler_text=text)),
        alice.publishes("fine", details=poll),
        alice.edits(post, text),
    ):
        with pytest.raises(PostInvalid) as refusal:
            await action
        assert not any(word in str(refusal.value.fields).lower() for word in ("casino", "money", "bad.example"))
    for fields in ({"bio": text}, {"display_name": text[:50]}):
        with pytest.raises(FieldErrors):
            await world.services.accounts.edit_profile(account_id=alice.id, **fields)
    assert len(await alice.profile_ids()) == 1


@pytest.mark.usefixtures("rules")
async def test_a_profile_link_to_a_blocked_host_is_refused(world: World, alice: Person) -> None:
    with pytest.raises(FieldErrors) as refusal:
        await world.services.accounts.edit_profile(account_id=alice.id, link="https://www.bad.example.com")
    assert list(refusal.value.fields) == ["link"]


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    "text", ["casinos", "easy, money", "notbad.example.com", "https://example.com/bad.example.com"]
)
async def test_texts_without_blocked_words_are_published(alice: Person, text: str) -> None:
    assert (await alice.publishes(text)).text == text


@pytest.mark.usefixtures("rules")
async def test_new_rules_count_at_once_in_the_process_that_changed_them(services: Services, alice: Person) -> None:
    await services.site.change(blocked_words=("gold",), blocked_hosts=())
    await alice.publishes("Visit the casino")
    with pytest.raises(PostInvalid):
        await alice.publishes("Gold!")
