"""A synthetic site: accounts, follows and posts of the last week, always the same for the same seed.

Sized like the peers' measurements: 1,000 accounts that follow 48 others on average, 20,000 posts. A few
accounts have many followers and write much, most have few and write little.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

import msgspec

from socialsite.container import Services
from socialsite.ids import AccountId, PostId, id_at
from socialsite.store import Command
from timelines import keys
from timelines.graph.follow import Follow
from timelines.posts.post import MediaAttachment, Post, PostDetails, encode_post

WEEK_MS = 7 * 86_400_000
BATCH = 2_000
WORDS = """
after again along always and another around because before between bread bridge bright city coffee cold
could day early every evening finally first found friend garden good great green harbour home house just
kitchen last late letter light little long morning mountain music never new nothing old only open other
paper people quiet rain really river road sea since slowly small snow something song still street summer
table that there think this time today tomorrow train tree under until very walk water week while wind
window winter with without word work world would write yesterday
""".split()  # noqa: SIM905


@dataclass(slots=True)
class SyntheticSite:
    """The accounts, most followed first, and their posts, newest first."""

    people: dict[str, AccountId]
    posts: list[Post]
    following: dict[AccountId, list[AccountId]]

    @property
    def ids(self) -> list[AccountId]:
        return list(self.people.values())


async def create_synthetic_site(
    services: Services,
    accounts: int = 1_000,
    posts: int = 20_000,
    follows: int = 48,
    seed: int = 20_261_120,
    pictures_every: int = 0,
) -> SyntheticSite:
    """Fill an empty store. The first read of a home builds it, as after an import.

    Every post whose number is a multiple of `pictures_every` has four pictures; 0 is for a site without pictures.
    """
    chance, now_ms = random.Random(seed), services.clock.now_ms()
    handles = [f"citizen_{n:04d}" for n in range(accounts)]
    people = await services.accounts.import_accounts(handles=handles, now_ms=now_ms - WEEK_MS)
    ids = list(people.values())
    following = choose_follows(chance, ids, follows)
    edges = (Follow(one, other, now_ms - 1 - one % 5_000) for one in ids for other in following[one])
    await services.repositories.follows.add_many(edges)
    written = write_posts(chance, handles, ids, posts, now_ms)
    if pictures_every:
        written = [add_pictures(post) if n % pictures_every == 0 else post for n, post in enumerate(written)]
    await store_posts(services, written)
    return SyntheticSite(people, written, following)


def choose_follows(chance: random.Random, ids: Sequence[AccountId], mean: int) -> dict[AccountId, list[AccountId]]:
    """Choose between a few and four times the mean follows for each account.

    The popularity of an account is proportional to 1/rank^0.7.
    """
    weights = list(accumulate((1 / (rank + 3) ** 0.7) for rank in range(len(ids))))
    chosen: dict[AccountId, list[AccountId]] = {}
    for one in ids:
        count = min(len(ids) // 2, 4 * mean, max(3, round(chance.lognormvariate(0, 0.6) * mean * 0.84)))
        followed: dict[AccountId, None] = {}
        while len(followed) < count:
            followed.update(dict.fromkeys(chance.choices(ids, cum_weights=weights, k=count)))
            followed.pop(one, None)
        chosen[one] = list(islice(followed, count))
    return chosen


def write_posts(
    chance: random.Random, handles: Sequence[str], ids: Sequence[AccountId], count: int, now_ms: int
) -> list[Post]:
    """Return posts over the last week, newest first; a tenth of them are replies."""
    weights = list(accumulate((1 / (rank + 10) ** 0.6) for rank in range(len(ids))))
    authors = chance.choices(ids, cum_weights=weights, k=count)
    times = sorted((now_ms - 5_000 - chance.randrange(WEEK_MS) for _ in range(count)), reverse=True)
    new_posts = [
        Post(id_at(ms, n), author, random_text(chance, handles))
        for n, (ms, author) in enumerate(zip(times, authors, strict=True))
    ]
    for n in range(count - 100):
        if chance.random() < 0.1:
            old = new_posts[n]
            new_posts[n] = Post(old.id, old.author_id, old.text, new_posts[n + chance.randrange(1, 100)].id)
    return new_posts


def add_pictures(post: Post) -> Post:
    """Return the post with four pictures. Their rows and files do not exist, and no page reads them."""
    pictures = tuple(
        MediaAttachment(
            post.id + n, f"{post.id:022d}", 1_600, 1_200, "LEHV6nWB2yk8pyo0adR*.7kCMdnj", "a cat on a chair"
        )
        for n in range(4)
    )
    return msgspec.structs.replace(post, details=PostDetails(media=pictures))


def random_text(chance: random.Random, handles: Sequence[str]) -> str:
    """Return 60 to 300 characters; some texts contain a mention, some a link, some a hashtag."""
    words = chance.choices(WORDS, k=chance.randrange(12, 50))
    if chance.random() < 0.2:
        words.insert(0, f"@{chance.choice(handles)}")
    if chance.random() < 0.2:
        words.insert(len(words) // 2, f"https://example.org/{chance.choice(WORDS)}/{chance.randrange(10_000)}")
    if chance.random() < 0.3:
        words.append(f"#{chance.choice(WORDS)}")
    return " ".join(words)


async def store_posts(services: Services, posts: Sequence[Post]) -> None:
    """Store the posts as publish does, and the public timeline."""
    commands: list[Command] = []
    for post in posts:
        profile = keys.author_timeline(post.author_id)
        commands += [("SET", keys.post(post.id), encode_post(post)), ("ZADD", profile, post.id, post.id)]
        if post.in_reply_to:
            commands.append(("ZADD", keys.replies(post.in_reply_to), post.id, post.id))
    for start in range(0, len(commands), BATCH):
        await services.store.execute_all(commands[start : start + BATCH])
    newest: list[PostId] = [post.id for post in posts[: services.config.public_cap]]
    await services.repositories.public.add_many(newest)


async def readers_of(services: Services, town: SyntheticSite, *, readers: int, follow: int) -> list[AccountId]:
    """Create new accounts that follow the `follow` most followed accounts, and build their homes."""
    now_ms = services.clock.now_ms()
    handles = [f"follows_{follow}_{n}" for n in range(readers)]
    account_ids = list((await services.accounts.import_accounts(handles=handles, now_ms=now_ms)).values())
    edges = (Follow(reader, other, now_ms) for reader in account_ids for other in town.ids[:follow])
    await services.repositories.follows.add_many(edges)
    await build_homes(services, account_ids)
    return account_ids


async def build_homes(services: Services, ids: Sequence[AccountId]) -> None:
    for account_id in ids:
        await services.reading.home(account_id, limit=1)
