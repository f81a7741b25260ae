"""The kinds of task, a room each: what it sends and takes, its gates, its run, its proof, its explanation.

`interface` says what the rest of the program asks of a kind, `registry` has the row of each. The rooms import nothing
of each other, and nobody else names them but who puts the daemon together.
"""
