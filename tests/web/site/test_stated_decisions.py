"""What docs/reference/security.md states as decided: behaviour that a reader could take for a fault."""

from socialsite.admin.sanctions import SanctionService
from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.staff import staff_member
from tests.support.world import World
from timelines.posts.post import FOLLOWERS


async def test_numbers_of_an_account_and_a_post_count_what_a_visitor_cannot_read(
    site: Services, world: World, visitor: HttpBrowser
) -> None:
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)
    post = await alice.publishes("for everybody")
    await alice.publishes("for followers", audience=FOLLOWERS)
    await bob.publishes("an answer for followers", in_reply_to=post, audience=FOLLOWERS)
    account = (await visitor.get_json("/api/v1/accounts/lookup?acct=alice")).json()
    statuses = (await visitor.get_json(f"/api/v1/accounts/{account['id']}/statuses")).json()
    context = (await visitor.get_json(f"/api/v1/statuses/{post.id}/context")).json()
    assert (account["statuses_count"], len(statuses)) == (2, 1)
    assert (statuses[0]["replies_count"], context["descendants"]) == (1, [])


async def test_a_moderator_undoes_the_suspension_of_a_member_by_an_owner(site: Services, world: World) -> None:
    owner, moderator = [await staff_member(site, world, *one) for one in (("olga", "owner"), ("mia", "moderator"))]
    (bob,) = await world.people("bob")
    sanctions = SanctionService(site)
    suspension = await sanctions.apply(owner, bob.id, "suspend", "Spam.")
    await sanctions.undo(moderator, bob.id, suspension.id)
    assert (await site.accounts.get(bob.id)).is_active


async def test_a_feed_is_the_same_for_every_reader(site: Services, world: World, visitor, open_browser) -> None:
    alice = await world.person("alice")
    await alice.publishes("for everybody")
    bob = await open_browser("bob")
    bob_id = (await site.accounts.get_by_handle("bob")).id
    await site.blocks_and_mutes.block(account_id=alice.id, other_id=bob_id, now_ms=site.clock.now_ms())
    answers = [await browser.get("/@alice/feed.atom") for browser in (visitor, bob)]
    assert answers[0].text == answers[1].text
    assert "for everybody" in answers[0].text


async def test_a_name_may_look_like_another_and_the_handle_beside_it_does_not(alice: HttpBrowser) -> None:
    for name in ("\u0430dmin", "admin \u2714\ufe0f"):
        await alice.post_json("/accounts/settings/", display_name=name)
        page = (await alice.get("/@alice/")).text
        assert name in page
        assert "@alice" in page
