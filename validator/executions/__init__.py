"""Running a miner's answer again: what its image does with the same bundle and nonce (SPEC 15)."""
