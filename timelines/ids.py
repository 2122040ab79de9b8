"""The types of ids that only this app uses."""

from typing import NewType

ListId = NewType("ListId", int)
