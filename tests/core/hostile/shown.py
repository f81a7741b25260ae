"""Detection of control sequences in shown text that a terminal, log or reader would act on."""

import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def unescaped(text: str) -> set[str]:
    """The characters of `text` that nothing may show raw, by their escapes; line feeds are none."""
    return {ascii(c) for c in set(text) if c != "\n" and unicodedata.category(c) in _UNSAFE}
