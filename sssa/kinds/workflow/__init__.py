"""The workflow, a kind of task: miners plan, and the validator runs their plans (SPEC 12).

Touches nothing. Called through the registry.
"""
