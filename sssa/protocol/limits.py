"""Bounds on everything that a miner or a task can send (SPEC 5, 13). Sizes in bytes unless the name says otherwise."""

from typing import Final

MIB: Final = 1024 * 1024

# Answers (SPEC 5)
MAX_BODY: Final = 4 * MIB
MAX_BODY_RUNTIME_PRIMARY: Final = 16 * MIB
MAX_FINDINGS: Final = 512
MAX_DEPENDENCIES: Final = 4_096
MAX_CAPABILITIES: Final = 1_024
MAX_RULES: Final = 4_096
MAX_CVES_PER_ENTRY: Final = 64
MAX_CVES: Final = 20_000
MAX_STRING: Final = 4_096  # code points
MAX_DESCRIPTION: Final = 16_384  # code points
# What is kept permanently (D-44): canonical bytes, the signature's value included.
MAX_ATTESTATION: Final = 192 * 1024
MAX_PLAN: Final = MIB
MAX_RUN: Final = MIB
MAX_JSON_DEPTH: Final = 32  # the root is 1
# Values of a JSON document, empty lists and objects counted twice: `[],[],…` takes 25 times its bytes of memory.
# The fullest legal answer has 62,000 and one trace hash per 76 bytes of a body of 16 MiB.
MAX_ANSWER_VALUES: Final = 300_000
MAX_JSON_VALUES: Final = 2_000_000  # every other document

# Trace bundles (SPEC 5)
MAX_TRACES_COMPRESSED: Final = 8 * MIB
MAX_TRACES_EXPANDED: Final = 16 * MIB  # sum of file sizes
MAX_TRACE_RECORDS: Final = 200_000
MAX_TRACE_LINE: Final = MIB  # a command line is long at 128 KiB
MAX_TRACE_VALUES: Final = 2_000_000  # in all lines, counted as MAX_JSON_VALUES is: ten in each of 200,000 records

# Archives of either kind. Packers write one gzip member, block packers one per 64 KiB; every member costs a start.
MAX_GZIP_MEMBERS: Final = 4_096
MAX_TAR_RECORD: Final = 16 * 1024  # a header's extension: a long name, extended attributes
MAX_TAR_GLOBALS: Final = 64  # keywords for all entries: every entry copies them

# Skill bundles (SPEC 13)
MAX_BUNDLE_COMPRESSED: Final = 8 * MIB
MAX_BUNDLE_EXPANDED: Final = 64 * MIB
MAX_BUNDLE_FILE: Final = 16 * MIB
MAX_BUNDLE_ENTRIES: Final = 4_096
MAX_BUNDLE_RATIO: Final = 100

# Archives and folders that are packed, digested or gated (docs/archives.md)
MAX_PACKAGE: Final = 64 * MIB  # compressed
MAX_PACKAGE_EXPANDED: Final = 256 * MIB
MAX_PACKAGE_ENTRIES: Final = 65_534  # about 20 µs each, whatever the size

# What a validator writes and anybody can check (docs/auditors.md)
MAX_RECEIPT: Final = MIB
MAX_LOG_LINE: Final = 128 * MIB
MAX_LOG_TASKS: Final = 64  # in one round
MAX_LOG_MINERS: Final = 4_096  # in one round
MAX_LOG_HOTKEYS: Final = 250_000  # in all rounds of a file
MAX_LOG_SALTS: Final = 250_000
MAX_FILLED: Final = 500  # deferred qualities that one round takes in; the others wait for the next
MAX_CASE_MEMBERS: Final = 64  # of a group in `validator score consensus`, which compares each with each

# Documents (SPEC 13)
MAX_CAPABILITIES_BODY: Final = 64 * 1024
MAX_CAPABILITIES_AGE_S: Final = 24 * 3600
CLOCK_TOLERANCE_S: Final = 60
MAX_TASK_BODY: Final = 4 * MIB
MAX_TASKS_BODY: Final = 16 * MIB
MAX_EXCLUDE: Final = 256
MAX_OFFERED: Final = 64  # tasks of a type that a server is asked for, to choose from (D-29)
MAX_SAFE_INTEGER: Final = 2**53 - 1
MAX_ROUND_ID: Final = MAX_SAFE_INTEGER  # receipts carry it as a JSON number; every column holds it

# Workflows (SPEC 12)
MAX_TAO: Final = 1e6
MAX_WORKFLOW_SECONDS: Final = 3_600
MAX_TOOLS: Final = 64
MAX_CHECKLIST: Final = 64
MAX_CRITERION: Final = 512  # code points
MAX_PLAN_BODY: Final = 256 * 1024
MAX_PLAN_DEPTH: Final = 16  # of JSON; the root is 1
MAX_PLAN_NODES: Final = 10
MAX_PARAMS: Final = 16 * 1024  # canonical bytes of one step's params, before references are resolved
MAX_RETRIES: Final = 5
MAX_STEP_TIMEOUT_S: Final = 300
MAX_STEP_TEXT: Final = 16 * 1024
MAX_STEP_CODE: Final = 64 * 1024
MAX_STEP_DATA: Final = 16 * 1024  # canonical bytes
MAX_STEP_OUTPUT: Final = MAX_RUN // 12  # canonical bytes: a run of ten steps with all its attempts has room
MAX_STEP_BODY: Final = 256 * 1024
MAX_RESOLVED_PARAMS: Final = 256 * 1024
