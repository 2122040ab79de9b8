"""Staff, the person and a worker act on one account at the same time: it is always as its decisions in force say."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from accounts.sanctions.sanction import COMPLETION_DELAY_MS, HOUR_MS, Sanction, SanctionKind
from socialsite.admin.audit_log import Actor
from socialsite.admin.moderation import Moderation
from socialsite.admin.sanctions import SanctionService
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.errors import ApiError
from tests.support.random_tests import mostly_nightly
from tests.support.staff import staff_member
from tests.support.world import Person, World
from timelines.posts.post import Post, PostDetails

KINDS: tuple[SanctionKind, ...] = ("limit", "mark_pictures", "silence", "suspend", "fold_posts", "fold_posts")
ROUNDS, AT_ONCE = 10, 6


class Scene:
    def __init__(self, services: Services, clock: FixedClock, staff: list[Actor], bob: Person, post: Post) -> None:
        self.services, self.clock, self.staff, self.bob, self.post = services, clock, staff, bob, post
        self.sanctions = SanctionService(services)

    async def list_sanctions(self) -> list[Sanction]:
        return await self.services.repositories.sanctions.list_all(self.bob.id)

    async def act(self, rng: random.Random) -> None:
        services, sanctions, bob_id = self.services, self.sanctions, self.bob.id
        actor, rows = rng.choice(self.staff), await self.list_sanctions()

        def apply() -> Awaitable[object]:
            kind, until_ms, posts = rng.choice(KINDS), self.clock.now_ms() + HOUR_MS, [self.post.id]
            return sanctions.apply(
                actor, bob_id, kind, "text", until_ms=until_ms, post_ids=posts, warning=rng.choice("abc")
            )

        acts: list[Callable[[], Awaitable[object]]] = [
            *[apply] * 6,
            lambda: Moderation(services).reinstate(actor, bob_id),
            lambda: services.accounts.request_deletion(account_id=bob_id),
            lambda: services.accounts.reinstate(account_id=bob_id, if_leaving=True),
            lambda: services.staff.set_role(bob_id, rng.choice(["moderator", "", "owner"])),
            sanctions.complete_due,
        ]
        if rows:
            id, accept = rng.choice(rows).id, rng.random() < 0.5
            acts += [lambda: sanctions.undo(actor, bob_id, id)] * 2
            acts.append(lambda: services.sanctions.appeal(bob_id, id, "I think this is a wrong decision."))
            acts.append(lambda: sanctions.decide_appeal(actor, bob_id, id, accept=accept, answer="Our answer."))
        with suppress(ApiError):
            await rng.choice(acts)()

    async def check(self) -> None:
        self.clock.advance(COMPLETION_DELAY_MS + 1)
        await self.services.staff.set_role(self.bob.id, "")
        await self.sanctions.complete_due()
        account, rows = await self.services.accounts.get(self.bob.id), await self.list_sanctions()
        in_force = [each for each in rows if each.is_in_force(self.clock.now_ms())]
        force = {kind: [each for each in in_force if each.kind == kind] for kind in set(KINDS)}
        assert account.limited == bool(force["limit"])
        assert account.marks_pictures == bool(force["mark_pictures"])
        ends = [each.until_ms for each in force["silence"]]
        assert (account.silenced_until_ms > self.clock.now_ms()) == bool(ends)
        assert not ends or account.silenced_until_ms == max(ends)
        assert (account.state == "suspended") == (bool(force["suspend"]) or account.is_leaving)
        assert (len(force["suspend"]), account.is_leaving) in ((0, False), (0, True), (1, False))
        extra = (await self.services.edits.find_own(self.bob.id, self.post.id)).extra
        warnings = [each.warning for each in force["fold_posts"]]
        assert (extra.is_folded, extra.spoiler_text) == (bool(warnings), [*warnings, "own"][0])
        assert all(each.is_complete for each in rows)
        repository = self.services.repositories.sanctions
        assert await repository.due.oldest(10) == []
        open_ids = {id for (_account, id), _at_ms in await repository.appeals.oldest(100)}
        assert open_ids == {each.id for each in rows if each.is_appeal_open}


@pytest.mark.parametrize("seed", mostly_nightly(range(20), 2))
async def test_an_account_is_as_its_decisions_say_whatever_happens_at_once(world: World, seed: int) -> None:
    clock, store = FixedClock(world.services.clock.now_ms()), world.services.store
    services = Services(store, clock, world.services.config)
    services.accounts.deletion_grace_ms = HOUR_MS
    people, rng = World(services), random.Random(seed)
    staff = [await staff_member(services, people, handle, "owner") for handle in ("olga", "otto")]
    bob = await people.person("bob")
    post = await bob.publishes("a spider", details=PostDetails(spoiler_text="own"))
    scene = Scene(services, clock, staff, bob, post)
    for _round in range(ROUNDS):
        await asyncio.gather(*(scene.act(rng) for _ in range(AT_ONCE)))
        await scene.check()
