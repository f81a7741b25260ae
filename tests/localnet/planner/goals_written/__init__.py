"""Goals of the benchmark, with truth that none of the step services computes."""
