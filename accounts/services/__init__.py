"""What can be done with accounts and sessions."""

from accounts.services.account_service import AccountService
from accounts.services.session_service import SessionService

__all__ = ["AccountService", "SessionService"]
