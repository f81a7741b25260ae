"""Sources of tasks: folders, canaries, packing, the task server and its client (SPEC 5, 13).

Touches task folders, the task server, and pip, npm and git. Called by rounds, through kinds, and by `validator tasks`.
"""
