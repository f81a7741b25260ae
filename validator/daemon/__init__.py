"""The daemon: builds the services from the settings, starts them in order and stops them in reverse.

`start.py` is the first look at chain and store: it binds a new store to its chain.
`worker.py`, `serving.py` and `entrypoint.py` are other processes: `validator worker`, `serve`, the image's first one.

Touches signals, the process's memory, and through `world.py` everything; `watches.py` removes old rows. Called by
`validator run`, `worker`, `serve` and `doctor`, the local network and the simulation.
"""
