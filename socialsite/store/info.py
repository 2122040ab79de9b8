"""The reply of INFO, as every reader of it understands it."""


def parse_info(info: bytes) -> dict[str, str]:
    """Its lines by their names; headings and empty lines are left out."""
    lines = (line.partition(":") for line in info.decode("utf-8", "replace").splitlines())
    return {name: value for name, colon, value in lines if colon}
