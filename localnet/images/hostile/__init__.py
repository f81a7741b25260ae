"""Images that do not do what their miners claim, or that turn on the machine they run on (SPEC 15).

`program.py` is what they run, by its first argument; `image.py` makes them.
"""
