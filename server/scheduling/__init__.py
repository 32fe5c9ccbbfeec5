"""Who goes next, and how much of something each may hold: fair queues and budgets. No locks, no clocks, no texts."""
