"""MULTI and EXEC: what came of a transaction."""

from collections.abc import Sequence
from typing import Any

from socialsite.store.errors import StoreError, StoreUnavailable


def exec_results(replies: Sequence[Any]) -> list[Any]:
    """What EXEC answered for each command of its transaction. Raises the first error among them."""
    results: list[Any] | None = replies[-1]
    if results is None:
        raise StoreUnavailable("the transaction was not carried out")
    for result in results:
        if isinstance(result, StoreError):
            raise result
    return results
