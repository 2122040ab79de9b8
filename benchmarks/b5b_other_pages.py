"""The most read pages other than the home, signed in, measured as B5 and against the same "hello".

A profile with 10 posts, the public timeline with 50, a post's own page with its thread, and the home of 30
as JSON.
"""

from collections.abc import Sequence

from benchmarks.figures import Figure, Plan
from benchmarks.web import HttpSite, PageRequests, compare, figures_of, populated_site

ENTRY_MARK = b"data-post-id="


async def measure(plan: Plan) -> list[Figure]:
    async with populated_site(plan) as site:
        kinds = kinds_of(site)
        results = await compare(plan, site, kinds)
    return [figure for name in kinds for figure in figures_of(name, results[name], results["hello"])]


def kinds_of(site: HttpSite) -> dict[str, PageRequests]:
    readers, handles = list(site.cookies), {id: handle for handle, id in site.town.people.items()}
    posts = [post for post in site.town.posts[:2000] if post.in_reply_to is None][: len(readers)]
    profiles = [f"/@{handles[id]}/?limit=10" for id in site.town.ids[: len(readers)]]
    own = [f"/@{handles[post.author_id]}/{post.id}/" for post in posts]
    json = [site.get("/", reader, accept="application/json") for reader in readers]
    public = ["/public/?limit=50"] * len(readers)
    return {
        "profile of 10": PageRequests(encode_gets(site, profiles), holds=ENTRY_MARK, times=10),
        "public timeline of 50": PageRequests(encode_gets(site, public), holds=ENTRY_MARK, times=50),
        "post page": PageRequests(encode_gets(site, own), holds=b"<h1"),
        "JSON home of 30": PageRequests(json, holds=b'"in_reply_to"', times=30),
    }


def encode_gets(site: HttpSite, paths: Sequence[str]) -> list[bytes]:
    """Return one request for each path, each by another reader."""
    return [site.get(path, reader) for path, reader in zip(paths, site.cookies, strict=True)]
