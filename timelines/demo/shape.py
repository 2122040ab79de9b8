"""Who follows whom in the demo: a piece of a real follower graph, its leaders given to those who say most."""

import gzip
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from timelines.demo.people import LOGIN_ACCOUNTS, Person

GRAPH_FILE = "twitter-followers-verizoncareers.tsv.gz"
SEED_NODES = 25
FOLLOWED_BY_LOGINS = 36
FOLLOWERS_OF_LOGINS = 18

Follow = tuple[str, str]


def build_follows(data: Path, people: list[Person], rows: list[dict[str, Any]], draw: Random) -> list[str]:
    """Lines `follower<TAB>followed`, sorted."""
    logins = {person.handle for person in LOGIN_ACCOUNTS.people}
    said = Counter(row["author"] for row in rows)
    others = sorted((p.handle for p in people if p.handle not in logins), key=lambda handle: (-said[handle], handle))
    follows = _assign_handles(_sample_edges(data, len(others), draw), others)
    follows |= _login_follows(sorted(logins), others, draw)
    return [f"{follower}\t{followed}" for follower, followed in sorted(follows)]


def _sample_edges(data: Path, size: int, draw: Random) -> set[tuple[str, str]]:
    """Edges among `size` nodes of the graph, grown from its most followed ones (target follows source)."""
    following: dict[str, set[str]] = {}
    with gzip.open(data / "graphs" / GRAPH_FILE, "rt") as lines:
        for line in lines:
            if not line.startswith("#"):
                followed, follower = line.split()
                following.setdefault(follower, set()).add(followed)
    followers = Counter(followed for some in following.values() for followed in some)
    chosen = set(sorted(followers, key=lambda node: (-followers[node], node))[:SEED_NODES])
    ties = {node: len(some & chosen) for node, some in sorted(following.items()) if node not in chosen}
    likely = sorted(ties, key=lambda node: (-ties[node], node))[: 6 * size]
    chosen |= set(draw.sample(likely, size - len(chosen)))
    return {(node, other) for node in chosen for other in following.get(node, set()) & chosen}


def _assign_handles(edges: set[tuple[str, str]], handles: list[str]) -> set[Follow]:
    """The most followed node becomes the one who says most, and so on down."""
    followers = Counter(followed for _, followed in edges)
    nodes = sorted({node for edge in edges for node in edge}, key=lambda node: (-followers[node], node))
    handle_of = dict(zip(nodes, handles, strict=False))
    return {(handle_of[a], handle_of[b]) for a, b in edges if a in handle_of and b in handle_of and a != b}


def _login_follows(logins: list[str], others: list[str], draw: Random) -> set[Follow]:
    """They follow each other, the leaders and people of every language; some follow them."""
    follows = {(one, other) for one in logins for other in logins if one != other}
    for login in logins:
        followed = {*others[:8], *draw.sample(others[8:], FOLLOWED_BY_LOGINS - 8)}
        follows |= {(login, handle) for handle in followed}
        follows |= {(handle, login) for handle in draw.sample(others, FOLLOWERS_OF_LOGINS)}
    return follows
