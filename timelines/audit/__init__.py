"""The audit: compares every value in the store with the others that it must agree with, and repairs on request.

A walk over the keys hands each to the check of its family (key_families.py). A discrepancy is reported only
if a second check, a little later and without cached reads, finds it again: so an audit is safe while the site serves.
Discrepancies are damage, which should never occur, or leftovers of crashes and expiry, which are harmless.
"""

from timelines.audit.audit import Audit, AuditReport
from timelines.audit.discrepancy import Discrepancy

__all__ = ["Audit", "AuditReport", "Discrepancy"]
