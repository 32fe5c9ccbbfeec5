"""One way in for every request: readiness, key, deadline, body, cancellation, metrics; and which model it gets."""
