"""The Django project: a microblog whose only database is Redis."""

__version__ = "0.2.0"
