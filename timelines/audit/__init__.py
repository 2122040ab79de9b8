"""The audit compares every stored value with the other values that it must agree with, and repairs on request.

A walk over all keys passes each key to the check of its family (key_checks.py). A discrepancy is reported only if a
second check, a little later and without cached reads, finds it again. So an audit can run while the site serves
requests. A discrepancy is either damage, which should never occur, or a harmless leftover of a crash or of expiry.
"""

from timelines.audit.audit import Audit, AuditReport
from timelines.audit.discrepancy import Discrepancy

__all__ = ["Audit", "AuditReport", "Discrepancy"]
