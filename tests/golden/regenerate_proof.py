"""Makes the golden proof of the worked example again; run it after a change of the form, never to make a test pass."""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent / "core"))

from group_rounds import VALIDATOR, group_proof, worked_example  # noqa: E402 - it lies beside the tests

from sssa.proofs.document import document_bytes, seal  # noqa: E402

proof = group_proof(*worked_example(), "t1")
if proof is None:
    raise SystemExit("the worked example has no proof")
(FOLDER / "group-proof.json").write_bytes(document_bytes(seal(proof, VALIDATOR)))
(FOLDER / "group-proof.md").write_text(proof.to_markdown(), encoding="utf-8")
