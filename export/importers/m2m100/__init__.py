"""M2M-100 and NLLB-200 as `transformers` keeps them (Fan et al. 2020; NLLB Team 2022)."""
