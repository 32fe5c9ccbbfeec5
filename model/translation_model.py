"""The whole model: encode a source, then decode it teacher-forced or one token at a time."""

from torch import Tensor, nn

from model.attention.recurrent import advance
from model.attention.ring_cache import ring_positions, ring_write
from model.attention.visible_keys import VisibleKeys
from model.config import ConfigError, ModelConfig
from model.decoder import Decoder, DecoderOutput, LayerMemory
from model.encoder import Encoder
from model.layers import TargetEmbedding, TokenEmbedding
from model.masks import ngram_keep, padding_keep, positions_of


class TranslationModel(nn.Module):
    """Encoder-decoder Transformer, by the conventions of its configuration."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if not config.encoder_layers:
            raise ConfigError("encoder_layers 0 is a language model, which translates nothing: set it to 1 or more")
        self.config = config
        self.embedding = TargetEmbedding(config)
        self.source_embedding: TokenEmbedding | None = None
        if config.source_embedding == "separate":
            self.source_embedding = TokenEmbedding(config, config.source_vocab_size or config.vocab_size)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        for parameter in [*self.encoder.parameters(), *self.decoder.parameters()]:
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def encode(self, source: Tensor, source_keep: Tensor) -> Tensor:
        """source ids [batch, source] (EOS at the end), source_keep bool, same shape -> memory [batch, source, d]."""
        position = positions_of(source)
        embedding = self.source_embedding or self.embedding
        return self.encoder(embedding(source), padding_keep(source_keep), position)  # type: ignore[no-any-return]

    def decode(self, target: Tensor, encoder_output: Tensor, source_keep: Tensor) -> Tensor:
        """Teacher-forced: target ids [batch, target] beginning with BOS -> hidden [batch, target, d]."""
        return self.decoder_output(target, encoder_output, source_keep).state

    def decoder_output(self, target: Tensor, encoder_output: Tensor, source_keep: Tensor) -> DecoderOutput:
        """`decode`, with everything that a context layer reads."""
        return self.decoder_output_from(target, self.decoder.project_source(encoder_output), source_keep)

    def decoder_output_from(self, target: Tensor, cross: list[LayerMemory], source_keep: Tensor) -> DecoderOutput:
        """`decoder_output`, for sources that were projected before (see Decoder.project_source)."""
        position = positions_of(target)
        seen = VisibleKeys(ngram_keep(position, position, self.config.ngram), position, position)
        return self.decoder(  # type: ignore[no-any-return]
            self.embedding(target), seen, cross, self.visible_source(position, source_keep)
        )

    def visible_source(self, position: Tensor, source_keep: Tensor) -> VisibleKeys:
        """What tokens at `position` [batch or 1, target] see of sources [batch, source]."""
        return VisibleKeys(padding_keep(source_keep), position, positions_of(source_keep))

    def hidden(self, source: Tensor, source_keep: Tensor, target: Tensor) -> Tensor:
        """Teacher-forced, encoder and decoder in one: hidden [batch, target, d]."""
        return self.decode(target, self.encode(source, source_keep), source_keep)

    def forward(self, source: Tensor, source_keep: Tensor, target: Tensor) -> Tensor:
        """Logits [batch, target, vocabulary] of the token that follows each target position."""
        return self.embedding.logits(self.hidden(source, source_keep, target))

    def empty_rings(self, rows: int) -> list[LayerMemory]:
        """Rings before the first token: per layer one zero buffer [row, heads, capacity, head_dim] per cached name, or
        the zero vector [row, 1, d] of a recurrent cell."""
        config, reference = self.config, self.embedding.weight
        ring = (rows, config.num_heads, config.ring_capacity, config.head_dim)
        return [
            tuple(
                reference.new_zeros((rows, 1, config.d_model) if layer.is_recurrent else ring)
                for _ in layer.self_attention.memory_names
            )
            for layer in self.decoder.decoder_layers()
        ]

    def step(
        self, token: Tensor, position: Tensor, rings: list[LayerMemory], cross: list[LayerMemory], source_keep: Tensor
    ) -> tuple[Tensor, list[LayerMemory]]:
        """token [row], position [row] (rows may stand anywhere), source_keep [row, source].

        Returns logits [row, vocabulary] of the next token and the rings with this token written.
        """
        decoded = self.step_output(token, position, rings, cross, source_keep)
        return self.embedding.logits(decoded.state[:, 0]), decoded.memory

    def step_output(
        self, token: Tensor, position: Tensor, rings: list[LayerMemory], cross: list[LayerMemory], source_keep: Tensor
    ) -> DecoderOutput:
        """`step`, with everything that a context layer reads. Layers write their slots, then attend to their rings."""
        layers = self.decoder.decoder_layers()
        key_position = ring_positions(position, self.config.ring_capacity)
        here = position[:, None]
        # Every filled slot is within the window by construction, so no order is needed for the N-gram mask.
        seen = VisibleKeys(ngram_keep(here, key_position, None), here, key_position, ordered=False)

        def update_cache(layer: int, new: LayerMemory) -> LayerMemory:
            if layers[layer].is_recurrent:
                return advance(new, rings[layer][0], position)
            return tuple(ring_write(ring, token, position) for ring, token in zip(rings[layer], new, strict=True))

        return self.decoder(  # type: ignore[no-any-return]
            self.embedding(token[:, None], here), seen, cross, self.visible_source(here, source_keep), update_cache
        )
