"""What others have for the same work, beside ours."""
