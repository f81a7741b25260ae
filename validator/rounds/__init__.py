"""The flow of a round: prepare, dispatch, gates, settle, around the pure plan and score."""
