"""The image that judges code, made on this machine (`image.py`); runner/ beside the package has its program."""
