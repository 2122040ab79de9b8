"""System checks of the site. Those with the `redis` tag connect; plain `manage.py check` stays offline."""
