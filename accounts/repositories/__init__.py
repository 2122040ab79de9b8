"""Accounts, handles and sessions in the store. Scripts stand beside the modules that run them."""

from accounts.repositories.accounts import AccountRepository
from accounts.repositories.sessions import SessionRepository

__all__ = ["AccountRepository", "SessionRepository"]
