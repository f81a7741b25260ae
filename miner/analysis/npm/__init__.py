"""Packages of the npm registry: package.json, what it runs at installation, and the lock files of three tools."""
