"""Builds the services from the settings, starts them in order, stops them in reverse."""
