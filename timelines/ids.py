"""Ids of this app."""

from typing import NewType

ListId = NewType("ListId", int)
