"""Fair queues and budgets: which owner is next, and how much each may hold. No locks, no clocks, no texts."""
