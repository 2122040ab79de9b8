"""The data of `make scale`: follows and posts of any number of accounts, always the same, written by parts.

Account 0 is followed by all others. The popularity of an account is proportional to rank^-0.8, so with 1,000,000
accounts about ten have more than 100,000 followers. Posts are of the last 90 days, by authors with weight rank^-0.6; a
tenth answers an earlier post. Words are as unequal as those of a language: the weight of the n-th is 1/n.
"""

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

POPULARITY, ACTIVITY = 0.8, 0.6
FOLLOWING_CAP = 4_000
REPLY_SHARE, REPLIED_TO = 0.1, 100
TEXTS, VOCABULARY = 40_000, 100_000
POSTS_SPAN_S = 90 * 86_400


@dataclass(frozen=True, slots=True)
class Crowd:
    """The size of a site. `now_s` (Unix s) is the time of its newest post."""

    accounts: int
    follows: int
    posts: int
    now_s: int

    def scaled_to(self, accounts: int) -> "Crowd":
        follows, posts = (count * accounts // self.accounts for count in (self.follows, self.posts))
        return Crowd(accounts, follows, posts, self.now_s)


def share(count: int, number: int, of: int) -> range:
    """Split 0 to `count` into `of` parts, and return the part with this number."""
    return range(count * number // of, count * (number + 1) // of)


def write_follows(crowd: Crowd, of: int, number: int, path: Path) -> int:
    """Write the follows of a part of the accounts, each a line `follower<TAB>followed`. Return their number."""
    chance, mean = random.Random(f"follows {number}"), crowd.follows / crowd.accounts - 1
    power, span, draw = 1 / (1 - POPULARITY), crowd.accounts ** (1 - POPULARITY) - 1, chance.random
    most, count = min(FOLLOWING_CAP, crowd.accounts // 4), 0
    with path.open("w") as file:
        for follower in share(crowd.accounts, number, of):
            wanted = min(most, max(1, round(chance.lognormvariate(0, 0.8) * mean * 0.726)))  # e^(-0.8^2 / 2)
            followed = {0}
            while len(followed) <= wanted:
                followed.add(int((1 + draw() * span) ** power))
            followed.discard(follower)
            count += len(followed)
            file.write("".join([f"{follower}\t{each}\n" for each in followed if each < crowd.accounts]))
    return count


def write_posts(crowd: Crowd, of: int, number: int, path: Path) -> None:
    """Write the posts of a part of the time as lines of JSON, oldest first."""
    chance, part = random.Random(f"posts {number}"), share(crowd.posts, number, of)
    texts = [
        " ".join([f"w{int(VOCABULARY ** chance.random())}" for _ in range(chance.randrange(12, 50))] + ending)
        for _ in range(TEXTS // 4)
        for ending in ([], [], [f"@n{chance.randrange(1_000)}"], [f"#tag{int(VOCABULARY ** chance.random())}"])
    ]
    power, span = 1 / (1 - ACTIVITY), crowd.accounts ** (1 - ACTIVITY) - 1
    with path.open("w") as file:
        for post in part:
            author = int((1 + chance.random() * span) ** power) - 1
            at = datetime.fromtimestamp(crowd.now_s - POSTS_SPAN_S * (crowd.posts - post) // crowd.posts, UTC)
            parent = post - chance.randrange(1, REPLIED_TO) if chance.random() < REPLY_SHARE else -1
            reply = f', "in_reply_to": "{parent}"' if parent >= part.start else ""
            file.write(
                f'{{"id": "{post}", "author": "n{author}", "text": "{chance.choice(texts)}", '
                f'"created_at": "{at.isoformat()}"{reply}}}\n'
            )
