"""`/api/v1/trends/statuses`: popular posts for apps."""

import re

from tests.web.api.conftest import OpenApi

PATH = "/api/v1/trends/statuses"


async def test_popular_posts_are_read_by_offset_and_within_the_rights_of_the_reader(open_api: OpenApi, world) -> None:
    reader, visitor = await open_api("reader"), await open_api()
    people, likers = await world.people("writer1", "writer2", "writer3"), await world.people("liker1", "liker2")
    for author in people:
        post = await author.publishes(f"by {author.handle}")
        for liker in likers:
            await world.services.reactions.like(
                account_id=liker.id, post_id=post.id, now_ms=world.services.clock.now_ms()
            )
    await world.services.popular.refill()
    first = await visitor.get(f"{PATH}?limit=2")
    assert len(first.json()) == 2
    (query,) = re.findall(rf'<[^>]*{PATH}\?([^>]*)>; rel="next"', first.headers["link"])
    assert query == "limit=2&offset=2"
    second = await visitor.get(f"{PATH}?{query}")
    assert 'offset=0>; rel="prev"' in second.headers["link"]
    assert 'rel="next"' not in second.headers["link"]
    names = sorted(each["account"]["acct"] for each in (*first.json(), *second.json()))
    assert names == ["writer1", "writer2", "writer3"]
    assert (await visitor.get(f"{PATH}?offset=100")).json() == []
    await reader.post(f"/api/v1/accounts/{people[0].id}/block")
    own = (await reader.get(PATH)).json()
    assert sorted(each["account"]["acct"] for each in own) == ["writer2", "writer3"]
