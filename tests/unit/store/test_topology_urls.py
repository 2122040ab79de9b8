"""URLs of several servers: their meaning, and one sentence for each unusable URL."""

import pytest

from socialsite.store import InvalidStoreUrl, Key, StoreUrls
from socialsite.store.address import MultiServerUrl
from socialsite.store.factory import components_of_url, create_topology
from socialsite.store.topology.sentinel import Sentinel
from socialsite.store.topology.shards import Shards
from socialsite.store.topology.twemproxy import Twemproxy


def test_servers_share_credentials_and_database() -> None:
    made = create_topology("redis+shards://site:secret@10.0.0.1:6379,10.0.0.2:6380/2?partitioner=ring")
    assert isinstance(made, Shards)
    one, other = (node.address for node in made.nodes)
    assert (one.host, one.port, other.host, other.port) == ("10.0.0.1", 6379, "10.0.0.2", 6380)
    assert {(each.username, each.password, each.db) for each in (one, other)} == {("site", "secret", 2)}


def test_servers_may_listen_on_sockets() -> None:
    made = create_topology("redis+shards:///run/one.sock,/run/two.sock?db=3")
    assert [(node.address.path, node.address.db) for node in made.nodes] == [("/run/one.sock", 3), ("/run/two.sock", 3)]


def test_sentinels_have_credentials_of_their_own() -> None:
    made = create_topology("redis+sentinel://site:secret@a:26379,b:26379/mymaster?db=1&sentinel_password=other")
    assert isinstance(made, Sentinel)
    node = made.nodes[0]
    assert (node.address.password, node.address.db) == ("secret", 1)


def test_a_proxy_is_named_with_the_servers_behind_it() -> None:
    made = create_topology("redis+twemproxy://127.0.0.1:22121?nodes=127.0.0.1:6379,127.0.0.1:6380")
    assert isinstance(made, Twemproxy)
    assert [node.address.port for node in made.nodes] == [6379, 6380]
    assert made.node_for("42").address.port == 22121


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("redis+shards://", "names no server"),
        ("redis+shards://a:1,,b:2", "one comma too many"),
        ("redis+shards://a:1,a:1", "names a server twice"),
        ("redis+shards://a:1,b", "is not \"host:port\""),
        ("redis+shards://a:1,b:x", "is not \"host:port\""),
        ("redis+shards://a:1,b:2/x", "is not the number of a database"),
        ("redis+shards://a:1,b:2?partitioner=modulo", "there is no partitioner 'modulo'"),
        ("redis+shards://a:1,b:2?partitoner=hash", "'partitoner' is not among its parameters"),
        ("redis+sentinel://a:1,b:2", "the name of the master follows"),
        ("redis+sentinel://a:1/one/two", "the name of the master follows"),
        ("redis+twemproxy://a:1", "name the servers behind it"),
        ("redis+twemproxy://a:1,b:2?nodes=c:3", "name one proxy"),
        ("redis+twemproxy://a:1/1?nodes=c:3", "no numbered databases"),
        ("redis+twemproxy://a:1?nodes=c:3,c:3", "names a server twice"),
        ("redis+memcached://a:1", "no topology is called"),
        ("redis://a:x", "its port is no number"),
        ("redis://a:99999", "its port is no number"),
        ("redis://:57#p4ss@a:1", "its port is no number"),
        ("redis://:57/p4ss@a:1", "its port is no number"),
        ("redis+sentinel://:57#p4ss@a:1/main", "its port is no number"),
        ("redis://[::1", "its host is not a name or address"),
        ("redis://a:1/abc", "'abc' is not the number of a database"),
        ("redis://a:1/-1", "'-1' is not the number of a database"),
        ("redis://a:1?db=x", "'x' is not the number of a database"),
        ("redis://a:1?replicas=1", "'replicas' is not among its parameters: db, replica"),
        ("unix://", "it names no socket"),
        ("embedded://", "say which directory"),
        ("redis+cluster://", "names no server"),
        ("redis+cluster://a:1,,b:2", "one comma too many"),
        ("redis+cluster://a:x", "is not \"host:port\""),
        ("redis+cluster://a:1/1", "no numbered databases"),
        ("redis+cluster:///run/redis.sock", "by host:port"),
        ("redis+cluster://a:1?replica=b:1", "'replica' is not among its parameters: replicas"),
    ],
)  # fmt: skip
def test_an_unusable_url_is_refused_with_one_sentence(url: str, reason: str) -> None:
    """A password that begins as a port, as in cameronmaske/celery-once#135, is no server at localhost."""
    with pytest.raises(InvalidStoreUrl, match=reason) as refused:
        create_topology(url)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://site:p4ss@a:x",
        "redis://site:p4ss@a:1?db=x",
        "redis://:p4ss#word@a:1",
        "redis://:57?p4ss@a:1",
        "redis://:57/p4ss@a:1",
        "redis+shards://:57?p4ss@a:1,b:2",
        "redis+cluster://site:p4ss@a:x",
        "redis+cluster://site:p4ss@a:1?replicas=x",
        "redis+shards://site:p4ss@a:1,b",
        "redis+shards://site:p4s/p4ss@a:1,b:2",
        "redis+sentinel://a:1/?sentinel_password=p4ss",
        "redis+twemproxy://site:p4ss@a:1",
        "http://site:p4ss@a:1",
        "site:p4ss@a:1",
        "redis:/site:p4ss@a:1",
        "redis://a:1?username=site&password=p4ss",
        "redis+sentinel://a:1/main?password=p4ss",
    ],
)
def test_an_error_message_contains_no_password(url: str) -> None:
    with pytest.raises(InvalidStoreUrl) as refused:
        create_topology(url)
    assert "p4s" not in str(refused.value)


def test_each_url_has_its_components() -> None:
    urls = StoreUrls("redis://a:1", {"jobs": "redis://b:2", "live": "redis://b:2"})
    assert components_of_url(urls, "redis://b:2") == {"jobs", "live"}
    assert "timelines" in components_of_url(urls, "redis://a:1")


def test_shards_without_a_map_refuse_to_route() -> None:
    made = create_topology("redis+shards://a:1,b:2")
    with pytest.raises(AssertionError):
        made.node_for(Key("posts", tag="1", name="post").tag)


def test_a_url_is_split_into_its_parts() -> None:
    parts = MultiServerUrl.parse("x://u:p@h:1,h:2/name?db=4", "db")
    assert (parts.credentials, parts.servers, parts.path, parts.query) == ("u:p", ("h:1", "h:2"), "name", {"db": "4"})
