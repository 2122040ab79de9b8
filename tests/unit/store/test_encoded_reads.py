"""Encoded reads of pages equal the encoding of the same commands."""

import pytest

from accounts.accounts.repository import AccountRepository
from socialsite.ids import AccountId, PostId
from socialsite.store import EncodedPipeline, Read, Store
from socialsite.store.commands import Command, routing_key
from socialsite.store.encoding import PipelineChain, encode_command, encode_pipeline
from socialsite.store.topology.standalone import Standalone
from timelines.graph.repository import Follows
from timelines.posts.counts import read_counts
from timelines.posts.repository import PostRepository
from timelines.visibility.viewer_state import read_viewer_relations

POSTS = [PostId(9_007_199_254_740_991), PostId(1), PostId(0)]
PEOPLE = [AccountId(number) for number in (1, 42, 99, 100, 1_000_000)]


def questions() -> dict[str, Read]:
    store = Store(Standalone("unix:///nowhere"))
    follows = Follows(store, partitions=16, following_cap=100)
    side = follows._following
    return {
        "posts": PostRepository(store).read_many(POSTS),
        "counts": read_counts(POSTS),
        "authors": AccountRepository(store).read_authors([*PEOPLE, *PEOPLE]),
        "followed": follows.followed_among(AccountId(7), PEOPLE),
        "times": side.times_among(7, PEOPLE),
        "sizes": side.count(7),
        "state": read_viewer_relations(AccountId(7), POSTS, PEOPLE, 1_732_100_000_000),
        "nothing": read_viewer_relations(AccountId(7), (), (), 0),
    }


@pytest.mark.parametrize("name", sorted(questions()))
def test_encoded_reads_equal_the_encoded_commands(name):
    commands = questions()[name].commands
    assert isinstance(commands, EncodedPipeline)
    taken_apart: list[Command] = list(commands)
    assert len(commands) == len(taken_apart)
    assert encode_pipeline(PipelineChain([commands]), set()) == encode_pipeline(taken_apart, set())
    assert [commands[at] for at in range(len(commands))] == taken_apart
    assert list(commands.routing_keys()) == list(map(routing_key, taken_apart))
    assert list(commands.payloads) == [encode_command(command, []) for command in taken_apart]


def test_a_script_is_loaded_once_before_all_commands():
    state, posts = questions()["state"].commands, questions()["posts"].commands
    loaded: set[str] = set()
    first, again = (encode_pipeline(PipelineChain([posts, state, state]), loaded) for _ in range(2))
    assert (first[0], again[0]) == (1, 0)
    assert first[1].endswith(again[1])
    assert first[1].count(b"SCRIPT") == 1
