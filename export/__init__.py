"""From checkpoints to artifacts: the only folder that sees both the models and the server."""
