#!/usr/bin/env python3
"""Django's command line for the site: `manage.py help` lists the commands."""

import os
import sys
from contextlib import suppress

from socialsite.web.gc_tuning import set_gc_thresholds

UNUSED_COMMANDS = dict.fromkeys(
    [
        "createcachetable",
        "dbshell",
        "dumpdata",
        "flush",
        "inspectdb",
        "loaddata",
        "makemigrations",
        "migrate",
        "optimizemigration",
        "showmigrations",
        "sqlflush",
        "sqlmigrate",
        "sqlsequencereset",
        "squashmigrations",
        "testserver",
    ],
    "the site has no SQL database",
) | {"sendtestemail": "use check_mail ADDRESS", "runserver": "use quickstart", "test": "use make test"}
"""The commands of Django that have no use here, and the reason."""


def main() -> None:
    set_gc_thresholds()
    if sys.argv[1:2] == ["quickstart"]:
        from socialsite.quickstart.bootstrap import prepare_environment

        prepare_environment(sys.argv[2:])
        from socialsite.quickstart.site import run_without_django

        run_without_django(sys.argv[2:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line, get_commands

    if reason := UNUSED_COMMANDS.get("".join(sys.argv[1:2])):
        sys.exit(f"{sys.argv[1]} is a command of Django that is not used here: {reason} (see manage.py help).")
    try:
        if sys.argv[1:2] in ([], ["help"], ["--help"], ["-h"]):
            with suppress(ImproperlyConfigured):  # `help` names the wrong setting
                django.setup()  # get_commands remembers its list, which needs the apps
                for each in UNUSED_COMMANDS:
                    get_commands().pop(each, None)
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # one line without a traceback: a setting is wrong
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"The settings cannot be used: {error}")


if __name__ == "__main__":
    main()
