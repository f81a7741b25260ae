"""The names of capabilities that the analysis knows."""

from typing import Final

NETWORK: Final = "network"
SUBPROCESS: Final = "subprocess"
FILE_READ: Final = "file_read"
FILE_WRITE: Final = "file_write"
FILE_DELETE: Final = "file_delete"
ENV_READ: Final = "env_read"
DYNAMIC_CODE: Final = "dynamic_code"
SERIALIZATION: Final = "serialization"
NATIVE_CODE: Final = "native_code"
LINKS: Final = "external_links"  # documents only: hosts that a reader may be led to

# What a skill can do harm with beyond its own folder: worth a look when nobody declared it.
POWERFUL: Final = frozenset({NETWORK, SUBPROCESS, DYNAMIC_CODE, NATIVE_CODE, FILE_DELETE, ENV_READ})
