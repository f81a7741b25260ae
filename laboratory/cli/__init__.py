"""Commands of the laboratory, which join `validator` by entry point."""
