"""The text that a hotkey signs to see its own page at a validator; `wallet link` signs it, `web/` verifies it."""


def sign_in_text(host: str, hotkey: str, nonce: str) -> bytes:
    """Return the bytes that a miner signs: they name the host, so that no other validator can use the signature."""
    return f"sssa-validator sign-in\n{host}\n{hotkey}\n{nonce}".encode(errors="surrogateescape")
