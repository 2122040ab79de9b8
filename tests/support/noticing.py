"""What somebody is told and has not read yet, as tests look at it."""

from typing import Any

from socialsite.ids import MAX_ID, PostId
from tests.support.world import Person

ThreePeople = tuple[Person, Person, Person]


async def notification_texts(person: Person, **page: Any) -> list[str]:
    """What somebody reads, newest first: "like by bob"."""
    found = await person._services.notifications.page(person.id, **page)
    return [f"{each.kind} by {each.author.handle}" for each in found.entries]


async def count_unread(person: Person) -> int:
    return await person._services.notifications.unread(person.id)


async def mark_all_read(person: Person) -> int:
    """How many are unread then."""
    return await person._services.notifications.mark_read(person.id, PostId(MAX_ID))
