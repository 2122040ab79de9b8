"""The reply of INFO, as every reader of it understands it."""

from collections.abc import Sequence
from typing import Any

from socialsite.store.errors import StoreError, StoreUnavailable


def parse_info(info: bytes) -> dict[str, str]:
    """Its lines by their names; headings and empty lines are left out."""
    lines = (line.partition(":") for line in info.decode("utf-8", "replace").splitlines())
    return {name: value for name, colon, value in lines if colon}


def exec_results(replies: Sequence[Any]) -> list[Any]:
    """What EXEC answered for each command of its transaction. Raises the first error among them."""
    results: list[Any] | None = replies[-1]
    if results is None:
        raise StoreUnavailable("the transaction was not carried out")
    for result in results:
        if isinstance(result, StoreError):
            raise result
    return results
