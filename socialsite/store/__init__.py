"""The Redis store: the only code that imports redis. Knows no Django and no application.

Names for other layers: `Key`, `Store`, `open_store`, the two look-ups, scripts and errors.
"""

from socialsite.store.connections import KeyDataShardedConnection, KeyShardedConnection, Partition
from socialsite.store.encoding import Encoded, wire_of, wire_text
from socialsite.store.errors import (
    CommandRefused,
    Redirected,
    StoreError,
    StoreFull,
    StoreUnavailable,
    Unconfirmed,
    WrongType,
)
from socialsite.store.factory import BadUrl, StoreUrls
from socialsite.store.key import Key
from socialsite.store.node import Node, Reply
from socialsite.store.pending_reply import Asked, Later
from socialsite.store.read import Question, joined
from socialsite.store.scripts import Command, Prepared, Script, load, prepared
from socialsite.store.store import Store

__all__ = [
    "Asked", "BadUrl", "Command", "CommandRefused", "Encoded", "Key", "KeyDataShardedConnection",
    "KeyShardedConnection", "Later", "Node", "Partition", "Prepared", "Question", "Redirected", "Reply",
    "Script", "Store", "StoreError", "StoreFull", "StoreUnavailable", "StoreUrls", "Unconfirmed", "WrongType",
    "joined", "load", "prepared", "wire_of", "wire_text",
]  # fmt: skip
