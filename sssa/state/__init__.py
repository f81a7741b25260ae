"""The mechanism's state as a value: what decides the next round or vector, and nothing else (SPEC 8 to 12).

A round is a step: a scoring version's `step(state, ended)` returns what an ended round changes, `apply` the next state.
Every frozen round is one, void and abandoned ones too. What a log does not show is unknown, and stays so in a step.

Pure: touches no clock, randomness, I/O or settings. Called by scoring, store, audit, rounds and the laboratory.
"""
