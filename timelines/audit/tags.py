"""Tag timelines against the texts of posts: caches, but no reader rebuilds them."""

from collections.abc import Mapping, Sequence
from functools import partial

from socialsite.store import Key
from timelines.audit.discrepancy import Finding
from timelines.audit.members import name_of, pages, was_pushed_out
from timelines.audit.reader import Looking
from timelines.audit.repairs import Places
from timelines.hashtags.repository import HASHTAG_CAP, hashtag_key
from timelines.posts.post import Post
from timelines.text.linkify import hashtags


class TagChecks:
    def __init__(self, places: Places) -> None:
        self._places = places

    async def tags(self, look: Looking, found: Sequence[Key]) -> list[Finding]:
        """Each entry is a post that stands and has the tag."""
        findings: list[Finding] = []
        for key in found:
            async for members in pages(look, key):
                posts = await look.posts(int(member) for member, _ in members if member.isdigit())
                for member, score in look.known(members):
                    post = posts.get(int(member)) if member.isdigit() else None
                    if post is None or not post.is_discoverable or key not in map(hashtag_key, hashtags(post.text)):
                        drop = self._places.run(("ZREM", key, member))
                        findings.append(Finding("tag_of_nothing", key, name_of(member), drop))
                    elif int(float(score)) != post.id:
                        move = self._places.run(("ZADD", key, post.id, post.id))
                        findings.append(Finding("tag_misplaced", key, name_of(member), move))
        return findings

    async def missing(self, look: Looking, posts: Mapping[Key, Post]) -> list[Finding]:
        """Each post stands under its tags, unless TAG_CAP newer ones pushed it out."""
        listed = ((key, post) for key, post in posts.items() if post.is_discoverable)
        pairs = [(key, post, hashtag_key(tag)) for key, post in listed for tag in hashtags(post.text)]
        scores = await look.gather(("ZSCORE", tag, post.id) for _, post, tag in pairs)
        lost = [pair for pair, score in zip(pairs, scores, strict=True) if score is None]
        sizes = await look.gather(("ZCARD", tag) for _, _, tag in lost)
        oldest = await look.gather(("ZRANGE", tag, 0, 0) for _, _, tag in lost)
        owed = await look.owed() if lost else None
        return [
            Finding("tag_incomplete", key, str(tag), partial(self._places.tags.add, [post]))
            for (key, post, tag), size, lowest in zip(lost, sizes, oldest, strict=True)
            if not was_pushed_out(post.id, size, lowest, HASHTAG_CAP) and owed and post.id not in owed.posts
        ]
