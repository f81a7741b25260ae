"""Sources of tasks: folders, canaries, packing, the task server and its client (SPEC 5, 13).

Touches task folders, the task server, pip, npm and git; `layout`, `source` and `wire` do no I/O. Called by rounds,
through kinds, by doctor, and by `validator tasks`.
"""
