"""What the rows do otherwise than the papers, for the page; the code that does it says so as well."""

REGIME = (
    "All rows: layer normalization before each sublayer, Muon for matrices, bf16 in most runs, and dropout behind "
    "each attention and feed-forward layer but none on the weights inside attention; the papers have normalization "
    "behind each sublayer, Adam, fp32 and dropout inside attention. Whether windows help is known to depend on "
    "normalization and regularization."
)
ATTENTION = (
    REGIME,
    "Relative positions (Shaw et al. 2018) stand beside the absolute sinusoids, which that paper replaces. It decides "
    "what Table 4 of Yang et al. compares.",
    "Every linear map that localness and windows add has a bias; the papers' equations have none.",
    "Nguyen et al.'s Table 1 prints 5, 2 and 10 million parameters more for Enc(AW)-Dec(MW), Cr(AW,Seg) and all three "
    "places. Their equations, in three layers at d=512, give 7.9, 4.7 and 12.6 million, as the code has.",
    "Only the lower half of three layers (two of them) has windows, where a row does not say otherwise.",
)
CONTEXT = (
    REGIME,
    "Context in the target language is made of the sentence model's own drafts, in training as in use; Eq. 1 "
    "conditions on translations of the other sentences, and the paper trains with references.",
    "Most rows freeze the sentence model; those where everything learns train it at a tenth of the rate. The paper "
    "trains everything.",
    "The layers learned from made documents, in which context decides, instead of talks, news and debates.",
)
