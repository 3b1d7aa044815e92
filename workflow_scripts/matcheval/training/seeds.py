"""Seeds derived from their purpose, so that no result depends on the order of the work."""

import hashlib


def derived_seed(*parts: str | int) -> int:
    """Derive a seed from names and numbers: 63 bits of the SHA-256 of their joined text."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
