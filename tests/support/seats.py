"""Viewers of open timelines, and the viewers that receive a post."""

from socialsite.container import Services
from tests.support.world import Person
from timelines.posts.post import Post
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


def home_viewer(services: Services, reader: Person) -> ViewerContext:
    return ViewerContext(reader.id, ViewContext.HOME, services.reading.home_rights(reader.id))


async def list_viewer(services: Services, owner: Person, *members: Person) -> ViewerContext:
    """Return the viewer of a new list of these members."""
    rule = await services.lists.rule(await owner.makes_list(*members))
    return ViewerContext(owner.id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights)


async def visible_to(services: Services, post: Post, seats: list[ViewerContext]) -> list[bool]:
    entries = await services.pipeline.read_post_for_viewers(post.id, post.author_id, seats)
    return [entry is not None for entry in entries]
