"""The assessment, a kind of task: a group of miners judges a skill's bundle (SPEC 3 to 6).

Touches nothing. Called through the registry.
"""
