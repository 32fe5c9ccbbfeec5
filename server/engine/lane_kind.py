"""Which sentences run in the same lane."""

from typing import NamedTuple

from server.engine.running_sentence import EncodedSentence


class LaneKind(NamedTuple):
    """What the sentences of a lane have in common: the lane's beam width, whether steps attend to documents, whether
    translations are given and only scored, and whether they are of short requests, whose lanes take turns with all
    others."""

    beam: int
    attends_context: bool
    is_scoring: bool = False
    is_short: bool = False

    @classmethod
    def of(cls, sentence: EncodedSentence) -> "LaneKind":
        """The kind of lane in which a sentence runs."""
        request = sentence.request
        width = lane_width(request.options.beam_size)
        return cls(width, bool(sentence.content.document), bool(request.targets), request.is_short)


def lane_width(beam_size: int) -> int:
    """The narrowest lane that holds `beam_size` beams: a power of two, so that there are few lanes to step."""
    return 1 << (beam_size - 1).bit_length()
