"""The sizes of pictures. The encoder imports this module, so it imports nothing of the site."""

import math

SMALL_MAX_PIXELS = 230_400  # 640 x 360, as Mastodon's small size
SMALL_MAX_SIDE = 2_048


def fitting_size(size: tuple[int, int], max_pixels: int, max_side: int) -> tuple[int, int]:
    """Return the largest size with the same proportions within both limits, at least 1 x 1."""
    width, height = (max(1, each) for each in size)
    factor = min(1.0, math.sqrt(max_pixels / (width * height)), max_side / max(width, height))
    return max(1, int(width * factor)), max(1, int(height * factor))
