"""Summaries by mail are sent once a period, contain only what their reader may see, and end by one click."""

import pytest

from accounts.mail.links import unsubscribe_token
from socialsite.clock import DAY_MS, FixedClock
from socialsite.store.errors import WrongType
from tests.support.world import World
from tests.web.accounts.test_mail_pages import ALICE, BOB, confirm, open_link, smtp, work
from timelines import keys

__all__ = ["smtp"]


async def test_a_summary_is_mailed_once_a_period_however_many_workers_run(site, alice, bob, smtp, world: World):
    await confirm(site, alice, smtp)
    assert (await alice.post("/accounts/mail/digest/", digest="daily")).status_code == 303
    site.clock = clock = FixedClock(site.clock.now_ms())
    site.digests.clock = site.mail.clock = site.mail_sending.clock = clock
    await bob.post("/@alice/follow/")
    await world.deliver_all()
    await site.digests.send_due()
    await work(site)
    assert smtp.messages == []  # the first comes after a day
    clock.advance(DAY_MS)
    for _ in range(3):
        await site.digests.send_due()
    await work(site)
    (message,) = smtp.messages
    assert "New followers: 1 (@bob)" in message.get_body(("plain",)).get_content()
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    clock.advance(3 * DAY_MS)
    await site.digests.send_due()
    await work(site)
    assert len(smtp.messages) == 1  # nothing new: no mail


async def test_a_summary_leaves_out_hidden_and_read_notifications(site, alice, bob, smtp, world: World):
    await confirm(site, alice, smtp)
    await alice.post("/accounts/mail/digest/", digest="weekly")
    await bob.post("/@alice/follow/")
    await world.deliver_all()
    await alice.post("/@bob/block/")
    site.digests.clock = FixedClock(site.clock.now_ms() + 7 * DAY_MS)
    await site.digests.send_due()
    await work(site)
    assert smtp.messages == []


async def test_an_account_whose_notifications_cannot_be_read_delays_no_summary_of_others(
    site, alice, bob, smtp, world: World
):
    site.digests.clock = site.mail.clock = clock = FixedClock(site.clock.now_ms())
    for id, browser, other in ((ALICE, alice, "bob"), (BOB, bob, "alice")):
        await site.mail.mails.change(id, address=f"{id}@example.org")
        await browser.post("/accounts/mail/digest/", digest="daily")
        await browser.post(f"/@{other}/follow/")
    await world.deliver_all()
    key = keys.notifications(ALICE)  # of the summary that is due first
    await site.store.node(key).execute("SET", key, "damaged")
    clock.advance(DAY_MS)
    with pytest.raises(WrongType):
        await site.digests.send_due()
    await site.digests.send_due()
    await work(site)
    assert [message["To"] for message in smtp.messages] == [f"{BOB}@example.org"]


async def test_a_suspended_person_gets_no_summary(site, alice, bob, smtp, world: World):
    await confirm(site, alice, smtp)
    await alice.post("/accounts/mail/digest/", digest="daily")
    await bob.post("/@alice/follow/")
    await world.deliver_all()
    site.digests.clock = FixedClock(site.clock.now_ms() + DAY_MS)
    await site.accounts.suspend(account_id=ALICE)
    await site.digests.send_due()
    await work(site)
    assert smtp.messages == []
    later_ms = site.digests.clock.now_ms() + DAY_MS
    assert [id for id, _due_ms in await site.digests.mails.digests.oldest(10, until_ms=later_ms)] == [ALICE]


async def test_one_click_ends_the_summaries_without_a_session(site, alice, visitor, smtp):
    await confirm(site, alice, smtp)
    await alice.post("/accounts/mail/digest/", digest="daily")
    path = f"/accounts/mail/unsubscribe/?token={unsubscribe_token(ALICE)}"
    assert (await visitor.get(path)).status_code == 200
    assert (await alice.get_json("/accounts/mail/")).json()["digest"] == "daily"
    answer = await visitor.http.post(path, data={"List-Unsubscribe": "One-Click"})  # without a token of the page
    assert answer.status_code == 200  # mail programs follow no redirect: RFC 8058, 3.1
    assert (await alice.get_json("/accounts/mail/")).json()["digest"] == "off"
    assert (await open_link(visitor, path)).headers["Location"] == "/"
    assert (await visitor.http.post("/accounts/mail/unsubscribe/?token=x")).status_code == 404


async def test_a_summary_that_was_delayed_is_not_sent_after_its_reader_unsubscribed(site, alice, smtp):
    await confirm(site, alice, smtp)
    await alice.post("/accounts/mail/digest/", digest="daily")
    await site.mail.add_mail(ALICE, "digest", await site.mail.find(ALICE), {"lines": "Likes: 1 (@bob)"})
    await alice.post("/accounts/mail/digest/", digest="off")
    await work(site)
    assert smtp.messages == []
    assert "digest" not in {mail.kind for mail in await site.mail.list_mails(ALICE)}


# Addresses
