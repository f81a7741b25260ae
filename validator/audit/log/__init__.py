"""The log of receipts as a file of lines: written from a store, verified without one (docs/audit.md)."""

from typing import TYPE_CHECKING

from validator.audit.log.chain_evidence import ChainRow, Reach, Reached, look_for, read_row, row_fault
from validator.audit.log.checkpoint import CheckpointError, GoneOn, Key, key_file, own_key, verify_on, write_checkpoint
from validator.audit.log.comparing import Compared, InFileError, Place, compare_files
from validator.audit.log.folders import Folder, Given, GivenError
from validator.audit.log.lines import FaultError, NotAnAuditFileError
from validator.audit.log.report import Verified
from validator.audit.log.verify import verify_file
from validator.audit.log.weights import Confirmed
from validator.doors import door

if TYPE_CHECKING:
    from validator.audit.log.export import EVERY, RETIRED, audit_lines, first_sequence
else:  # these read a store; verifying a file has no use for one
    __getattr__ = door(
        __name__,
        {
            "EVERY": "export",
            "RETIRED": "export",
            "audit_lines": "export",
            "first_sequence": "export",
        },
    )

__all__ = [
    "EVERY",
    "RETIRED",
    "ChainRow",
    "CheckpointError",
    "Compared",
    "Confirmed",
    "FaultError",
    "Folder",
    "Given",
    "GivenError",
    "GoneOn",
    "InFileError",
    "Key",
    "NotAnAuditFileError",
    "Place",
    "Reach",
    "Reached",
    "Verified",
    "audit_lines",
    "compare_files",
    "first_sequence",
    "key_file",
    "look_for",
    "own_key",
    "read_row",
    "row_fault",
    "verify_file",
    "verify_on",
    "write_checkpoint",
]
