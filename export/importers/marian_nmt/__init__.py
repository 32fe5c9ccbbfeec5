"""Models in Marian's own files (Junczys-Dowmunt et al. 2018): those of Firefox and Bergamot, and OPUS-MT's `.npz`."""
