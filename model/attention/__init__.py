"""One attention mechanism = one file = one paper."""
