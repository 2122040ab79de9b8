"""Read notifications and unread counts in tests."""

from typing import Any

from socialsite.ids import MAX_ID, PostId
from tests.support.world import Person

ThreePeople = tuple[Person, Person, Person]


async def notification_texts(person: Person, **page: Any) -> list[str]:
    """Return an account's notifications as texts, newest first: "like by bob"."""
    page_read = await person._services.notifications.page(person.id, **page)
    return [f"{each.kind.name} by {each.author.handle}" for each in page_read.entries]


async def count_unread(person: Person) -> int:
    return await person._services.notifications.unread(person.id)


async def mark_all_read(person: Person) -> int:
    """Mark everything as read and return the unread count."""
    return await person._services.notifications.mark_read(person.id, PostId(MAX_ID))
