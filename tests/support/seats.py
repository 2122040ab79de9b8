"""Places at which readers sit before open timelines, and who of them is sent a post."""

from socialsite.services import Services
from tests.support.world import Person
from timelines.posts.post import Post
from timelines.reading.batch_hydration import Seat, hydrate_for
from timelines.visibility.rights import Place


def home_viewer(services: Services, reader: Person) -> Seat:
    return Seat(reader.id, Place.HOME, services.reading.home_rights(reader.id))


async def list_viewer(services: Services, owner: Person, *members: Person) -> Seat:
    """Before a new list of these."""
    rule = await services.lists.rule(await owner.makes_list(*members))
    return Seat(owner.id, Place.LIST, rule.read_member_authors, rule.reply_rights)


async def visible_to(services: Services, post: Post, seats: list[Seat]) -> list[bool]:
    found = await hydrate_for(services.hydrator, post.id, post.author_id, seats)
    return [entry is not None for entry in found]
