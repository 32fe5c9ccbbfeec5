"""The same weights in Hugging Face transformers (an M2M100 model for norms before the sub-layers, a Marian model for
norms behind the sums; sinusoidal positions, tied embedding), on PyTorch. It computes full attention."""

from typing import Any

import torch
from transformers import M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel

from model.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from model.layers import sinusoidal_positions
from model.translation_model import TranslationModel

SITES = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
NORMS = {"self_norm": "self_attn_layer_norm", "cross_norm": "encoder_attn_layer_norm", "ffn_norm": "final_layer_norm"}


def convert(model: TranslationModel) -> Any:
    """A transformers model with the weights of `model`."""
    config = model.config
    layers: dict[str, Any] = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("attention_heads", config.num_heads), ("ffn_dim", config.ffn_dim), ("layerdrop", 0.0))
    }
    before = config.norm == "before"
    config_class: Any = M2M100Config if before else MarianConfig
    model_class: Any = M2M100ForConditionalGeneration if before else MarianMTModel
    peer = model_class(
        config_class(
            vocab_size=config.vocab_size, d_model=config.d_model, encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers, activation_function=config.activation, scale_embedding=True,
            max_position_embeddings=config.max_length, pad_token_id=PAD_ID, bos_token_id=BOS_ID, eos_token_id=EOS_ID,
            forced_eos_token_id=None, decoder_start_token_id=BOS_ID, **layers,
        )
    ).eval()  # fmt: skip
    missing, unexpected = peer.load_state_dict(renamed(model), strict=False)
    computed = {"lm_head.weight", *(f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder"))}
    if unexpected or set(missing) - computed:
        raise ValueError(f"transformers has other weight names: {[*missing, *unexpected][:3]}")
    peer.tie_weights()
    for side in (peer.model.encoder, peer.model.decoder) if before else ():
        table = side.embed_positions.weights  # its row i is position i - 1, after the padding's
        table[1 : 1 + config.max_length] = sinusoidal_positions(config.max_length, config.d_model)[: len(table) - 1]
    return peer


def renamed(model: TranslationModel) -> dict[str, torch.Tensor]:
    """The weights under the names of transformers."""
    ours, result = model.state_dict(), dict[str, torch.Tensor]()
    for name in ("shared", "encoder.embed_tokens", "decoder.embed_tokens"):
        result[f"model.{name}.weight"] = ours["embedding.weight"]
    if model.config.output_bias:
        result["final_logits_bias"] = ours["embedding.output_bias"][None]
    for name, tensor in ours.items():
        side, _, rest = name.partition(".")
        if rest.startswith("norm."):
            result[f"model.{side}.layer_norm.{rest.removeprefix('norm.')}"] = tensor
        elif rest.startswith("layers."):
            _, index, part, *inner = rest.split(".")
            result |= {
                f"model.{side}.layers.{index}.{key}": part for key, part in rename_part(part, inner, tensor).items()
            }
    return result


def rename_part(part: str, inner: list[str], tensor: torch.Tensor) -> dict[str, torch.Tensor]:
    """One tensor of a layer under its name in transformers, which has two maps for keys and values instead of one."""
    kind = inner[-1]
    if part in NORMS:
        return {f"{NORMS[part]}.{kind}": tensor}
    if part == "ffn":
        return {f"{ {'expand': 'fc1', 'contract': 'fc2'}[inner[0]] }.{kind}": tensor}
    if inner[0] == "memory":
        key, value = tensor.chunk(2)
        return {f"{SITES[part]}.k_proj.{kind}": key, f"{SITES[part]}.v_proj.{kind}": value}
    return {f"{SITES[part]}.{ {'query': 'q_proj', 'output': 'out_proj'}[inner[0]] }.{kind}": tensor}


class TransformersEngine:
    """`generate` over a converted model."""

    def __init__(
        self,
        model: TranslationModel,
        threads: int,
        device: torch.device | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """`device`: None for the CPU."""
        torch.set_num_threads(threads)
        self.device = device or torch.device("cpu")
        self.model = convert(model).to(device=self.device, dtype=dtype)

    @torch.inference_mode()
    def translate(self, sources: list[tuple[int, ...]], beam: int, target_length: int) -> list[list[int]]:
        """Translate sources of equal length at once; exactly `target_length` tokens each."""
        out = self.model.generate(
            torch.tensor(sources, device=self.device), num_beams=beam, min_new_tokens=target_length,
            max_new_tokens=target_length,
            suppress_tokens=[PAD_ID, UNK_ID, BOS_ID], length_penalty=1.0, do_sample=False,
        )  # fmt: skip
        ids: list[list[int]] = out[:, 1:].tolist()
        return ids
