"""The demonstration: a few hundred real posts a language, a follow graph, three accounts to log in with.

Data and licences: timelines/demo. Safe to repeat: nothing comes twice, what was stopped is finished. Times
are moved so that the newest post is three minutes old at the first load.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from accounts.errors import HandleTaken
from timelines.demo.people import LOGINS, Person
from timelines.services.importing import LineFile, Tally, batches
from timelines.services.importing_graph import GraphImport, GraphOptions
from timelines.services.importing_posts import PostsImport, PostsOptions, shift_to
from timelines.services.importing_rows import RowRules

if TYPE_CHECKING:
    from socialsite.services import Services

FILES: Final = Path(__file__).parent.parent / "demo"
MAX_GRAPHEMES: Final = 500
PROFILES_AT_ONCE: Final = 50

_person_decoder = msgspec.json.Decoder(dict[str, str])


async def load_demo(services: "Services", now_ms: int) -> list[tuple[str, str]]:
    """Load it; the accounts to log in with (handle, password). Takes a second or two."""
    logins = [(person.handle, f"{person.handle}-in-wonderland") for person in LOGINS.people]
    for handle, password in logins:
        await _sign_up(services, handle, password, now_ms)
    graph = LineFile(FILES / "graph.tsv.gz")
    await GraphImport.over(services).run(graph, GraphOptions(handle_prefix=""), Tally(), now_ms)
    await _introduce(services, now_ms)
    posts = LineFile(FILES / "posts.jsonl.gz")
    rules = RowRules(MAX_GRAPHEMES, latest_ms=now_ms, shift_ms=shift_to(posts, now_ms))
    await PostsImport.over(services).run(posts, PostsOptions(rules), Tally(), now_ms)
    return logins


async def _sign_up(services: "Services", handle: str, password: str, now_ms: int) -> None:
    try:
        await services.accounts.sign_up(handle=handle, password=password, now_ms=now_ms)
    except HandleTaken:
        return  # an earlier load


async def _introduce(services: "Services", now_ms: int) -> None:
    """Give the accounts their names."""
    lines = LineFile(FILES / "accounts.jsonl.gz").lines(Tally())
    people = [Person(**_person_decoder.decode(line)) for _, line in lines]
    owners = await services.accounts.import_accounts(
        handles=[person.handle for person in people], now_ms=now_ms
    )
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
