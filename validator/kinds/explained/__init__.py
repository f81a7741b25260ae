"""What every kind explains alike: selection, gates, what is stored of a task."""
