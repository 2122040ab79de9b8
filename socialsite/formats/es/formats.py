"""Formats of Spanish, as `Intl` of browsers shows them."""

THOUSAND_SEPARATOR = "."
