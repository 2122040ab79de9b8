#!/usr/bin/env python3
"""Django's command line for the site: `manage.py help` lists the commands."""

import os
import sys

from socialsite.web.gc_tuning import set_gc_thresholds


def main() -> None:
    set_gc_thresholds()
    if sys.argv[1:2] == ["quickstart"]:
        from socialsite.quickstart.bootstrap import prepare_environment

        prepare_environment(sys.argv[2:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # one line: what is wrong is not in the code
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"The settings cannot be used: {error}")


if __name__ == "__main__":
    main()
