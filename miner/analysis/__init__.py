"""How the local network's miners analyse skills: pure functions over a bundle's files, nothing fetched, nothing run."""
