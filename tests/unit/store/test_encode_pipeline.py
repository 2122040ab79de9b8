"""The bytes of a pipeline: prepared commands, scripts by their digests, and the loading of scripts."""

from socialsite.ids import AccountId, PostId
from socialsite.store import Key, Script
from socialsite.store.commands import encode, encode_pipeline, prepare_command
from timelines import keys
from timelines.posts.counts import read_counts
from timelines.visibility.viewer_state import READER_STATE, read_viewer_relations

POSTS = [PostId(9_007_199_254_740_991), PostId(1), PostId(0)]
SCRIPT = Script("one", "return 1")


def test_prepared_commands_have_the_bytes_of_the_same_commands() -> None:
    plain = [("GET", keys.post_counts(post_id)) for post_id in POSTS]
    prepared = read_counts(POSTS).commands
    assert list(prepared) == plain
    assert encode_pipeline(prepared, set()) == encode_pipeline(plain, set()) == (0, b"".join(map(encode, plain)))


def test_a_script_is_loaded_once_before_all_commands() -> None:
    key, loaded = Key("posts", tag="1", name="post"), set[str]()
    commands = [prepare_command("GET", key), SCRIPT.command([key], [7]), SCRIPT.command([key], [8])]
    calls = [encode(("EVALSHA", SCRIPT.sha, 1, key, number)) for number in (7, 8)]
    rest = b"".join((encode(("GET", key)), *calls))
    assert encode_pipeline(commands, loaded) == (1, encode(("SCRIPT", "LOAD", SCRIPT.source)) + rest)
    assert encode_pipeline(commands, loaded) == (0, rest)


def test_the_relations_of_a_viewer_are_one_script_call() -> None:
    (command,) = read_viewer_relations(AccountId(7), POSTS, [AccountId(9)], 1_732_100_000_000).commands
    name, script, key_count, *rest = command
    assert (name, script, rest[key_count:]) == ("EVALSHA", READER_STATE, [3, 1_732_100_000_000, *POSTS, 9])
    assert rest[0] == keys.liked_posts(7)


def test_a_key_with_another_last_part_is_the_key_that_a_builder_returns() -> None:
    key = keys.following("p3", 0).with_last_part(12)
    assert (key, key.component, key.tag) == (keys.following("p3", 12), "follows", "p3")
