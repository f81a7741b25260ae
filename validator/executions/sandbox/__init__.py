"""Where strangers' images run: a job in, what it left behind or a named failure out (SPEC 15).

`job.py` says what goes in and comes out, `contract.py` what an image finds inside. `scripted.py` is a sandbox that
follows a script, `containers.py` one that uses a container engine.
"""
