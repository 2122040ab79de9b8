"""Formats of English, as the templates write times: the day before the month, 24 hours."""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = "j M Y, H:i"
