// Verify an attestation with sigstore's packages: node verify.mjs ATTESTATION.json KEY.pem
// npm install @sigstore/verify@3.1.1 @sigstore/bundle@4.0.0
import { readFileSync } from "node:fs";
import { bundleFromJSON } from "@sigstore/bundle";
import { Verifier, toSignedEntity, toTrustMaterial } from "@sigstore/verify";

const [file, keyFile] = process.argv.slice(2);
const document = JSON.parse(readFileSync(file, "utf8"));
const envelope = document.envelope ?? document;
const hint = envelope.signatures[0].keyid;

// A bundle of sigstore without its transparency log: the validator's own log has the key.
const bundle = bundleFromJSON({
  mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
  verificationMaterial: { publicKey: { hint }, tlogEntries: [] },
  dsseEnvelope: envelope,
});
const authorities = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
const keys = { [hint]: { rawBytes: readFileSync(keyFile, "utf8") } };
const options = { ctlogThreshold: 0, tlogThreshold: 0, tsaThreshold: 0, timestampThreshold: 0 };
new Verifier(toTrustMaterial(authorities, keys), options).verify(toSignedEntity(bundle));

const { predicate, subject } = JSON.parse(Buffer.from(envelope.payload, "base64"));
if (Date.parse(predicate.until) <= Date.now()) throw new Error(`it held until ${predicate.until}`);
console.log(`${subject[0].digest.sha256}: ${predicate.verdict}, risk ${predicate.risk}, until ${predicate.until}`);
