"""The daily summary for operators: what happened within a day, and the state of disk and backup."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from django.template.defaultfilters import filesizeformat
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from socialsite.alerts.board import AlertRepository, Board
from socialsite.alerts.checks import find_disks
from socialsite.alerts.messages import TITLES
from socialsite.analytics.metrics import ERRORS, POSTS, SIGNUPS
from socialsite.clock import DAY_MS
from socialsite.container import Services
from timelines.templatetags.timelines_tags import number


async def read_summary(services: Services, board: Board) -> Callable[[], Sequence[str]]:
    """Return a function that writes the lines in the active language."""
    now_ms = services.clock.now_ms()
    totals = await services.statistics.stats.site_totals(now_ms - DAY_MS, now_ms, now_ms=now_ms)
    backup_ms = await AlertRepository(services.store).last_backup_ms()
    disks = await asyncio.to_thread(find_disks, services)
    closed = await services.repositories.reports.count_closed(now_ms - DAY_MS)
    waiting = await services.joining.count_waiting()
    names = dict.fromkeys([*board.active, *(name for name, _ in board.past)])

    def write_lines() -> Sequence[str]:
        accounts, posts, errors = (totals[metric.name] for metric in (SIGNUPS, POSTS, ERRORS))
        lines = [
            ngettext("%(count)s new account", "%(count)s new accounts", accounts) % {"count": number(accounts)},
            ngettext("%(count)s new post", "%(count)s new posts", posts) % {"count": number(posts)},
            ngettext("%(count)s error of the site", "%(count)s errors of the site", errors) % {"count": number(errors)},
            ngettext("%(count)s closed report", "%(count)s closed reports", closed) % {"count": number(closed)},
            ngettext("%(count)s waiting application", "%(count)s waiting applications", waiting)
            % {"count": number(waiting)},
            *(_("Alert: %(title)s") % {"title": TITLES[name]} for name in names),
            *(
                _("%(size)s are free on the disk of %(folder)s.") % {"size": filesizeformat(size), "folder": folder}
                for folder, size in disks
            ),
        ]
        if not backup_ms:
            return [*lines, _("There was no backup yet.")]
        time = f"{date_format(datetime.fromtimestamp(backup_ms / 1000, UTC), 'DATETIME_FORMAT')} UTC"
        return [*lines, _("Last backup: %(time)s.") % {"time": time}]

    return write_lines
