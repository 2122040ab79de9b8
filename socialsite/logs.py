"""Logging: one JSON line an event on stderr, with whatever the request bound (its id, the account's id).

Never a secret: what is logged is chosen where it is logged, and JSON escapes control characters.
"""

from typing import Any

import structlog
from structlog.typing import Processor

SHARED_PROCESSORS: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure_structlog() -> None:
    """Send structlog's own loggers through the standard library, so both kinds end as the same line."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED_PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def logging_settings(level: str, *, readable: bool) -> dict[str, Any]:
    """Django's LOGGING; `readable` writes for a developer's terminal instead of a log collector."""
    ending: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if readable:
        ending.append(structlog.dev.ConsoleRenderer())
    else:
        ending += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED_PROCESSORS,
                "processors": ending,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's defaults would print a second time and mail administrators.
            "django": {"handlers": [], "level": level, "propagate": True},
            # A traceback for every wrong Host would let anybody fill the log; the access log has the 400.
            "django.security.DisallowedHost": {"handlers": [], "level": "CRITICAL", "propagate": False},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            # A page per request at INFO: the access log is the proxy's work.
            "daphne.http_protocol": {"level": "WARNING"},
        },
    }
