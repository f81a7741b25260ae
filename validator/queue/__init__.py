"""What waits in the store to be done beside the rounds: kinds of work, and one try of one of them."""
