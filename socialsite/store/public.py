"""The public names of the store. Other packages import them from `socialsite.store`."""

from socialsite.store.commands import Command, PreparedCommand, Reply, Script, load_script, prepare_command
from socialsite.store.errors import (
    AccessDenied,
    ClusterRedirection,
    CommandRefused,
    NotDurable,
    StoreError,
    StoreFull,
    StoreUnavailable,
    WritesRefused,
    WrongType,
)
from socialsite.store.factory import InvalidStoreUrl, StoreUrls
from socialsite.store.key import Key
from socialsite.store.node import Node
from socialsite.store.read import LazyAwaitable, Read, combine
from socialsite.store.store import KeyDataShardedConnection, KeyShardedConnection, Partition, Repository, Store

__all__ = [
    "AccessDenied", "ClusterRedirection", "Command", "CommandRefused", "InvalidStoreUrl", "Key",
    "KeyDataShardedConnection", "KeyShardedConnection", "LazyAwaitable", "Node", "NotDurable", "Partition",
    "PreparedCommand", "Read", "Reply", "Repository", "Script", "Store", "StoreError", "StoreFull",
    "StoreUnavailable", "StoreUrls", "WritesRefused", "WrongType", "combine", "load_script", "prepare_command",
]  # fmt: skip
