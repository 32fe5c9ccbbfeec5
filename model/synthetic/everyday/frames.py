"""The frames of everyday text, by section of frames.tsv."""

from pathlib import Path

from model.synthetic.tables import read_sections

FRAMES = read_sections(Path(__file__).with_name("frames.tsv"))
