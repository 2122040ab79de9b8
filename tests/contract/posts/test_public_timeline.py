"""The public timeline: its cap and its rebuilding."""

from socialsite.ids import PostId
from socialsite.store import Store
from timelines.author_timelines.repository import PublicTimelineRepository


async def standing(public: PublicTimelineRepository) -> list[PostId]:
    return await public.read(100, 100, upward=False)


async def test_the_newest_posts_are_kept(store: Store) -> None:
    public = PublicTimelineRepository(store, cap=3)
    await public.add_many([PostId(n) for n in (2, 5, 3)])
    assert await standing(public) == [5, 3, 2]
    await public.add_many([PostId(n) for n in (1, 6, 4)])
    assert await standing(public) == [6, 5, 4]
    await public.add(PostId(7))
    await public.add(PostId(1))
    assert await standing(public) == [7, 6, 5]


async def test_a_rebuild_removes_wrong_posts_and_keeps_newer_posts(store: Store) -> None:
    public = PublicTimelineRepository(store, cap=4)
    await public.add_many([PostId(n) for n in (3, 4, 5)])
    await public.replace([PostId(3), PostId(4)], [PostId(4), PostId(2)])
    assert await standing(public) == [5, 4, 2]
    await public.replace([], [PostId(6), PostId(7)])
    assert await standing(public) == [7, 6, 5, 4]
