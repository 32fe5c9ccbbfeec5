"""What an operator sees: metrics, traces, logs."""
