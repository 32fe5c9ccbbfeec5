"""Shapes of requests that single clients or small servers have, one file each; `registry` lists them."""
