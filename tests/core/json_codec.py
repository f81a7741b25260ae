"""A runtime whose values are JSON where a real one has SCALE.

It is all that is not the SDK's own between the SDK and a `NodeServer`, which tells what its runtime has in place of
metadata: sockets, reconnecting, subscriptions, pinned blocks, nonces, eras and outcomes of extrinsics are the SDK's.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import bittensor_core
import pytest
from bittensor._transport.codec import RuntimeCodec, StorageEntry, ss58_encode
from bittensor._transport.contract import CallBytes
from bittensor._transport.errors import StorageFunctionNotFound
from bittensor._transport.runtime import RuntimeManager

MARK: Final = b"json"  # where metadata has b"meta"
_TYPE: Final = "scale_info::0"


def packed(value: Any) -> bytes:
    """Return a value as this runtime encodes it; bytes become hex."""
    return json.dumps(value, separators=(",", ":"), default=lambda raw: "0x" + bytes(raw).hex()).encode()


class JsonCodec:
    """Runtime codec of the SDK, reduced to the calls that the validator makes.

    Args:
        metadata: MARK and a JSON object: `storage` (name to number of keys), `calls`, `apis`, `constants`.
        spec_version: of the runtime.
        transaction_version: the same.
    """

    extrinsic_version = 4
    ss58_format = 42
    spec_name = "json"

    def __init__(self, metadata: bytes, spec_version: int, transaction_version: int) -> None:
        self.metadata_bytes = metadata
        self.spec_version = spec_version
        self.transaction_version = transaction_version
        self._has: Mapping[str, Any] = json.loads(metadata.removeprefix(MARK))
        inputs = {"inputs": [("netuid", _TYPE)], "output": _TYPE}
        self.runtime_api_map = {api: dict.fromkeys(methods, inputs) for api, methods in self._has["apis"].items()}

    def encode(self, _: str, value: Any) -> bytes:
        return packed(value)

    def decode(self, _: str, data: bytes, *, strict: bool = True) -> Any:
        del strict
        return json.loads(data)

    def type_name_of(self, type_id: int) -> str:
        return f"Json{type_id}"

    def storage_entry(self, pallet: str, name: str) -> StorageEntry:
        keys = self._has["storage"].get(name)
        if keys is None:
            raise StorageFunctionNotFound(f"Storage function {pallet}.{name} does not exist")
        return StorageEntry(pallet, name, pallet, _TYPE, [_TYPE] * keys, [""] * keys, "Default", b"null")

    def storage_key(self, entry: StorageEntry, params: list[Any]) -> bytes:
        return packed([entry.pallet, entry.name, params])

    def decode_map_changes(
        self, entry: StorageEntry, changes: Sequence[tuple[str, str | None]], *, fixed: int
    ) -> list[tuple[Any, Any]]:
        del entry
        pairs = ((json.loads(bytes.fromhex(key[2:]))[2][fixed:], value) for key, value in changes)
        return [(free[0], json.loads(bytes.fromhex(value[2:]))) for free, value in pairs if value is not None]

    def constant(self, module: str, name: str) -> Any:
        return self._has["constants"].get(f"{module}.{name}")

    def compose_call(self, module: str, function: str, params: Mapping[str, Any]) -> CallBytes:
        if function not in self._has["calls"]:
            raise ValueError(f"Call '{module}.{function}' not found in registry")
        return CallBytes(packed([module, function, params]), self.spec_version)

    @staticmethod
    def call_data(call: CallBytes | bytes) -> bytes:
        return call.data if isinstance(call, CallBytes) else bytes(call)

    def signed_extension_identifiers(self) -> list[str]:
        return []

    def encode_era(self, era: Any) -> bytes:
        return packed(era)

    def era_birth(self, era: Mapping[str, Any], current: int) -> int:
        return int(bittensor_core.era_birth(int(era["period"]), int(current)))

    def signature_payload_parts(self, call: CallBytes | bytes, **fields: Any) -> tuple[bytes, bytes, bytes]:
        return self.call_data(call), packed({"nonce": fields["nonce"], "era": fields["era"]}), b""

    def encode_signed_extrinsic(self, call: CallBytes | bytes, **fields: Any) -> tuple[bytes, str]:
        signed = {name: fields[name] for name in ("era", "nonce", "signature")}
        data = packed({"call": json.loads(self.call_data(call)), "who": ss58_encode(fields["public_key"]), **signed})
        return data, "0x" + blake2b(data, digest_size=32).hexdigest()

    def decode_extrinsic(self, data: str) -> Any:
        return json.loads(bytes.fromhex(data.removeprefix("0x")))


def signed_payload(extrinsic: Mapping[str, Any]) -> bytes:
    """Return the bytes that the signature of a decoded extrinsic is over."""
    payload = packed(extrinsic["call"]) + packed({"nonce": extrinsic["nonce"], "era": extrinsic["era"]})
    return payload if len(payload) <= 256 else blake2b(payload, digest_size=32).digest()


def speak_json(patch: pytest.MonkeyPatch) -> None:
    """Let the SDK take the runtime of a `NodeServer`; those of other nodes stay as they are."""
    usual = RuntimeManager._make_codec

    def made(self: RuntimeManager, metadata: bytes, spec: int, version: int, *, spec_name: str = "") -> Any:
        if metadata.startswith(MARK):
            return JsonCodec(metadata, spec, version)
        codec: RuntimeCodec = usual(self, metadata, spec, version, spec_name=spec_name)
        return codec

    patch.setattr(RuntimeManager, "_make_codec", made)
