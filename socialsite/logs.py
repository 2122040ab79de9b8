"""Logging: one JSON line per event on stderr, with the bound context of the request (request id, client address).

Callers must not log secrets. JSON escapes control characters.
"""

import sys
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
    """Send structlog's events through the standard library, so that all events have the same format."""
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
    """Return Django's LOGGING setting. If `readable`, lines are formatted for a terminal instead of as JSON."""
    processors: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if readable:
        processors.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    else:
        processors += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED_PROCESSORS,
                "processors": processors,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Without this entry, Django prints events twice and mails administrators.
            "django": {"handlers": [], "level": level, "propagate": True},
            # Clients could fill the log with tracebacks of wrong Host headers. The access log records these requests.
            "django.security.DisallowedHost": {"handlers": [], "level": "CRITICAL", "propagate": False},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            # At INFO, daphne logs every request. The access log of the proxy has them already.
            "daphne.http_protocol": {"level": "WARNING"},
        },
    }
