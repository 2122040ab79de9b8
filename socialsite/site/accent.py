"""The accent colour of the site in light and dark, with the contrast that WCAG 2.2, 1.4.3 (AA) requires of text."""

from functools import lru_cache

Rgb = tuple[int, int, int]
AA_CONTRAST = 4.5
WHITE, BLACK = (255, 255, 255), (0, 0, 0)
DARK_SHEET = (0x1D, 0x20, 0x22)
"""The lightest background of accent-coloured text in dark pages, except the soft accent itself."""
DARK_INK = (0x12, 0x14, 0x16)
SOFT_SHARE_LIGHT, SOFT_SHARE_DARK = 0.08, 0.16
"""Share of the accent in the background of highlighted parts."""


def is_readable(colour: str) -> bool:
    """Return whether text of this colour (`#rrggbb`) can be read on all light backgrounds, and white text on it.

    For dark pages, `accent_css` mixes the colour with white until it can be read there.
    """
    accent = _parse(colour)
    return _contrast(accent, mix(WHITE, accent, SOFT_SHARE_LIGHT)) >= AA_CONTRAST


@lru_cache(maxsize=64)
def accent_css(colour: str) -> str:
    """Return a style sheet that replaces the accent of site.css, except for readers who prefer more contrast."""
    light = _parse(colour)
    dark = _lighten(light)
    pairs = {
        "accent": (light, dark),
        "accent-strong": (mix(light, BLACK, 0.2), mix(dark, WHITE, 0.3)),
        "on-accent": (WHITE, DARK_INK),
        "accent-soft": (mix(WHITE, light, SOFT_SHARE_LIGHT), mix(DARK_SHEET, dark, SOFT_SHARE_DARK)),
    }
    rules = "".join(f"--{name}:light-dark({_format(a)},{_format(b)});" for name, (a, b) in pairs.items())
    return f"@media not (prefers-contrast: more){{:root{{{rules}}}}}\n"


def _lighten(accent: Rgb) -> Rgb:
    """Return the colour, mixed with as much white as text on the soft accent of dark pages needs."""
    shades = (mix(accent, WHITE, share / 20) for share in range(20))
    return next(
        (
            shade
            for shade in shades
            if _contrast(shade, mix(DARK_SHEET, shade, SOFT_SHARE_DARK)) >= AA_CONTRAST
            and _contrast(shade, DARK_INK) >= AA_CONTRAST
        ),
        WHITE,
    )


def mix(first: Rgb, second: Rgb, share: float) -> Rgb:
    """Return `first` with a share of `second`, from 0 to 1."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def _contrast(first: Rgb, second: Rgb) -> float:
    """Return the contrast ratio of WCAG 2.2, from 1 to 21."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Rgb) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parse(colour: str) -> Rgb:
    number = int(colour.removeprefix("#"), 16)
    return number >> 16, number >> 8 & 255, number & 255


def _format(colour: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
