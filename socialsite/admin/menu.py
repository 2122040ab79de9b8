"""The menu of /ops/: pages in groups, with the numbers of what waits for staff."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import Account
from accounts.roles import Right, has_right
from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.store import StoreError

OPS_PATH: Final = "/ops/"


class Page(NamedTuple):
    """A page of the menu. It is marked as current on its own page and on the pages below `path` and `others`."""

    path: str
    label: Promise
    right: Right
    others: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        return path == self.path or (self.path != OPS_PATH and path.startswith((self.path, *self.others)))


GROUPS: Final[tuple[tuple[Promise, *tuple[Page, ...]], ...]] = (
    (
        _("Reports"),
        Page("/ops/reports/", _("Reports"), "reports"),
        Page("/ops/appeals/", _("Appeals"), "sanctions"),
        Page("/ops/held/", _("Held posts"), "accounts"),
    ),
    (
        _("People"),
        Page("/ops/accounts/", _("Accounts"), "accounts", ("/ops/invitations/",)),
        Page("/ops/applications/", _("Applications"), "accounts"),
        Page("/ops/staff/", _("Staff"), "roles"),
    ),
    (
        _("Your site"),
        Page("/ops/site/", _("Your site"), "site"),
        Page("/ops/announcements/", _("Announcements"), "site"),
        Page("/ops/trends/", _("Trends"), "site"),
    ),
    (
        _("Operations"),
        Page(OPS_PATH, _("Now"), "operations"),
        Page("/ops/statistics/", _("Statistics"), "operations"),
        Page("/ops/alerts/", _("Alerts"), "operations"),
        Page("/ops/deadletters/", _("Failed jobs"), "operations"),
        Page("/ops/trail/", _("Audit trail"), "audit_log"),
    ),
)


async def read_queue_counts(services: Services) -> dict[str, int]:
    """Return the numbers by the path of the page, without those that cannot be read."""
    counts = {"/ops/reports/": services.reports.backlog.open_reports}
    try:
        appeals = services.repositories.sanctions.appeals.count()
        waiting, held, open_appeals = await run_together(
            services.joining.count_waiting(), services.drafts.count_held(), appeals
        )
    except StoreError:
        return counts
    return {**counts, "/ops/applications/": waiting, "/ops/held/": held, "/ops/appeals/": open_appeals}


def build_menu(account: Account, path: str, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the groups with the pages that the account may open. `path` is that of the page with the menu.

    A group of one page has its name.
    """
    groups: list[dict[str, Any]] = []
    for label, *pages in GROUPS:
        rows: list[dict[str, Any]] = [
            {
                "path": page.path,
                "label": str(page.label),
                "count": counts.get(page.path, 0),
                "is_current": page.covers(path),
            }
            for page in pages
            if has_right(account, page.right)
        ]
        if rows:
            group = {"label": str(label), "pages": rows} if len(rows) > 1 else {"pages": rows}
            total, is_current = sum(row["count"] for row in rows), any(row["is_current"] for row in rows)
            groups.append({**rows[0], "count": total, "is_current": is_current, **group})
    return groups
