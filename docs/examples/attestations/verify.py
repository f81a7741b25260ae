"""Verify an attestation with securesystemslib: python verify.py ATTESTATION.json KEY.pem."""

import base64
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

file, key_file = sys.argv[1:]
document = json.loads(Path(file).read_text())
envelope = Envelope.from_dict(document.get("envelope", document))
der = base64.b64decode("".join(Path(key_file).read_text().splitlines()[1:-1]))
keyid = next(iter(envelope.signatures))
envelope.verify([SSlibKey(keyid, "ed25519", "ed25519", {"public": der[-32:].hex()})], threshold=1)

statement = json.loads(envelope.payload)
predicate, subject = statement["predicate"], statement["subject"][0]
if datetime.fromisoformat(predicate["until"]) <= datetime.now(UTC):
    sys.exit(f"it held until {predicate['until']}")
print(f"{subject['digest']['sha256']}: {predicate['verdict']}, risk {predicate['risk']}, until {predicate['until']}")
