"""The local network over an owner's own tasks, with miners of one's own next to those of here."""
