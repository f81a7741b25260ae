"""The image of the local network's runtime types: it runs a bundle under the miners' own tracer (SPEC 15).

`program.py` is what it runs, `image.py` makes it on this machine, `Dockerfile` with an engine and a registry.
"""
