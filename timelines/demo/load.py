"""The demonstration: a few hundred real posts a language, a follow graph, three accounts to log in with.

Data and licences: timelines/demo. Safe to repeat: nothing comes twice, what was stopped is finished. Times
are moved so that the newest post is three minutes old at the first load.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import msgspec

from accounts.domain import AccountId
from accounts.errors import HandleTaken
from socialsite.batches import batches
from timelines.demo.people import LOGIN_ACCOUNTS, Person
from timelines.importing.graph import GraphImport, GraphOptions
from timelines.importing.lines import LineFile, Tally
from timelines.importing.posts import PostsImport, PostsOptions, shift_to
from timelines.importing.rows import RowRules

if TYPE_CHECKING:
    from socialsite.services import Services

FILES: Final = Path(__file__).parent.parent / "demo"
MAX_GRAPHEMES: Final = 500
PROFILES_AT_ONCE: Final = 50
REACTED_TO: Final = 60
"""Of the newest posts, so that the first pages look used."""
LIKES: Final = (0, 0, 0, 1, 1, 2, 3, 6)
REACTIONS_AT_ONCE: Final = 20

_person_decoder = msgspec.json.Decoder(dict[str, str])


async def load_demo(services: "Services", now_ms: int) -> list[tuple[str, str]]:
    """Load it; the accounts to log in with (handle, password). Takes a second or two."""
    logins = [(person.handle, f"{person.handle}-in-wonderland") for person in LOGIN_ACCOUNTS.people]
    for handle, password in logins:
        await _sign_up(services, handle, password, now_ms)
    graph = LineFile(FILES / "graph.tsv.gz")
    await GraphImport.over(services).run(graph, GraphOptions(handle_prefix=""), Tally(), now_ms)
    owners = await _introduce(services, now_ms)
    posts = LineFile(FILES / "posts.jsonl.gz")
    rules = RowRules(MAX_GRAPHEMES, latest_ms=now_ms, shift_ms=shift_to(posts, now_ms))
    await PostsImport.over(services).run(posts, PostsOptions(rules), Tally(), now_ms)
    await _react(services, owners, now_ms)
    return logins


async def _sign_up(services: "Services", handle: str, password: str, now_ms: int) -> None:
    try:
        await services.accounts.sign_up(handle=handle, password=password, now_ms=now_ms)
    except HandleTaken:
        return  # an earlier load


async def _react(services: "Services", owners: Mapping[str, AccountId], now_ms: int) -> None:
    """Likes of the newest posts and a few boosts, the same at each load."""
    draw = Random("reactions")  # noqa: S311  a repeatable draw is the point
    people = [owners[handle] for handle in sorted(owners)]
    page = await services.reading.public(viewer_id=None, limit=REACTED_TO)
    like, boost = services.reactions.like, services.reactions.boost
    acts: list[Awaitable[object]] = []
    for number, entry in enumerate(page.entries):
        for account_id in draw.sample(people, draw.choice(LIKES)):
            acts.append(like(account_id=account_id, post_id=entry.id, now_ms=now_ms))
        if number % 12 == 7:
            acts.append(boost(account_id=draw.choice(people), post_id=entry.id, now_ms=now_ms))
    for some in batches(acts, REACTIONS_AT_ONCE):
        await asyncio.gather(*some)


async def _introduce(services: "Services", now_ms: int) -> dict[str, AccountId]:
    """Give the accounts their names; their ids by handle."""
    lines = LineFile(FILES / "accounts.jsonl.gz").lines(Tally())
    people = [Person(**_person_decoder.decode(line)) for _, line in lines]
    owners = await services.accounts.import_accounts(handles=[person.handle for person in people], now_ms=now_ms)
    for some in batches(people, PROFILES_AT_ONCE):
        await asyncio.gather(
            *(
                services.accounts.edit_profile(
                    account_id=owners[person.handle],
                    display_name=person.display_name,
                    bio=person.bio,
                    link="",
                )
                for person in some
            )
        )
    return owners
