"""What the goals of the benchmark ask for, with truth that none of the step services computes."""
