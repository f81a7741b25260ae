"""Places for lines in code: Python, JavaScript, TypeScript and shell."""
