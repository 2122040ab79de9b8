#!/usr/bin/env python3
"""Django's command line for the site: `manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    if sys.argv[1:2] == ["quickstart"]:
        from socialsite.quickstart.preparation import prepare

        prepare(sys.argv[2:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
