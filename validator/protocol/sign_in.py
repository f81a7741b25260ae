"""The text by which a hotkey asks a validator for its own page."""


def sign_in_text(host: str, hotkey: str, nonce: str) -> bytes:
    """Return the bytes that a miner signs: they name the host, so that no other validator can use the signature."""
    return f"sssa-validator sign-in\n{host}\n{hotkey}\n{nonce}".encode(errors="surrogateescape")
