"""Formats of numbers and dates that differ from those of Django, so that pages and scripts show the same."""
