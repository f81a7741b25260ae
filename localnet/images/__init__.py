"""Container images without a registry in reach: made of this machine's own Python, served on loopback.

`machine.py` lists what belongs to the interpreter, `build.py` makes an image of it, `registry.py` serves it by digest.

Reads files of this machine, writes a cache of layers, serves a loopback socket. Called by `executions/local_engine.py`.
"""
