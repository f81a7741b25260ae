"""Version 1.0.0 (SPEC 3 to 12). Its results never change, so that replay agrees with old rounds; only its speed may.

Pure: touches nothing. Called through `scoring.version("1.0.0")`, and by the versions that build on it.
"""
