"""The cost of attention variants: tokens per second of the engine at one size, with random weights."""

import dataclasses
import json
import os

from loadtest.bench.measure import CompetitorOptions, Workload, alternate, competitors, median
from loadtest.bench.report import Row
from loadtest.bench.shapes import shape
from model.config import AttentionConfig, ModelConfig

BATCH, BEAM = 32, 4
LOCAL = AttentionConfig(kind="localness")
ADDITIVE = AttentionConfig(kind="window", window_mode="additive")
SEGMENTS = dataclasses.replace(ADDITIVE, segment=5)
MULTIPLICATIVE = AttentionConfig(kind="window", window_mode="multiplicative")


def variants(base: ModelConfig) -> dict[str, ModelConfig]:
    """Name -> configuration; the first is the baseline."""
    eight = dataclasses.replace(base, ngram=8)
    windows = dataclasses.replace(eight, encoder_attention=ADDITIVE, decoder_attention=MULTIPLICATIVE)
    relative = AttentionConfig(relative=True)
    return {
        "plain, N=8": eight,
        "plain, N=2": dataclasses.replace(base, ngram=2),
        "plain, N=4": dataclasses.replace(base, ngram=4),
        "plain, N=16": dataclasses.replace(base, ngram=16),
        "plain, full attention": base,
        "relative positions, N=8": dataclasses.replace(eight, encoder_attention=relative, decoder_attention=relative),
        "relative positions in the encoder, N=8": dataclasses.replace(eight, encoder_attention=relative),
        "localness in the encoder, N=8": dataclasses.replace(eight, encoder_attention=LOCAL),
        "localness everywhere, N=8": dataclasses.replace(
            eight, encoder_attention=LOCAL, decoder_attention=LOCAL, cross_attention=LOCAL
        ),
        "Enc(AW)-Dec(MW), N=8": windows,
        "Enc(AW)-Cr(AW,Seg)-Dec(MW), N=8": dataclasses.replace(windows, cross_attention=SEGMENTS),
    }


def variant_rows(name: str, rounds: int) -> list[Row]:
    """Each variant (ours) beside plain attention with N=8 (peer), both at int8."""
    configs = variants(shape(name, None))
    cores = os.cpu_count() or 1
    options = [
        CompetitorOptions("ours", "", "int8", None, workers=cores, config=json.dumps(config.to_dict()))
        for config in configs.values()
    ]
    with competitors(options) as processes:
        speeds = [median(speed) for speed in alternate(processes, Workload(BATCH, BEAM), rounds)]
    return [
        Row(f"{name} int8 beam {BEAM} batch {BATCH}, {label}", speed, speeds[0], speed / speeds[0], "tokens/s")
        for label, speed in zip(configs, speeds, strict=True)
    ]
