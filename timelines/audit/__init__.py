"""The audit: holds everything the store keeps against everything else it keeps, and repairs on request.

A walk over the keys hands each to the checks of its family. What a check finds is only a suspicion until a
second look, a little later and with nothing remembered, finds the same: so the audit is safe while the site
serves. `damage` should never be there; a `leftover` is what crashes and expiry leave by design, harmless.
"""

from timelines.audit.audit import Audit, AuditReport
from timelines.audit.discrepancy import Finding

__all__ = ["Audit", "AuditReport", "Finding"]
