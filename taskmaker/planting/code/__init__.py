"""Insertion of planted faults into code: places for lines in Python, JavaScript, TypeScript and shell.

Pure: touches nothing. Called by `planting/shapes.py` and `planting/marks.py`.
"""
