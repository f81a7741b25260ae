"""Stand-in for the tests of a task, which are on no disk."""
