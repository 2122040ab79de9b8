"""Formats of Arabic with Latin digits, as `Intl` of browsers shows them."""

DATETIME_FORMAT = "j F Y، H:i"
DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
