"""Container images without a registry in reach: made of this machine's own Python, served on loopback.

`machine.py` lists what belongs to the interpreter, `build.py` makes an image of it, `registry.py` serves it by digest.

Touches files of this machine, for reading, a cache of layers and a loopback socket. Called by `local_engine.py`.
"""
