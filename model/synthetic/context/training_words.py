"""The lists that training documents are drawn from. They stay as they are: the same command makes the same training
text."""

from model.synthetic.context.biographies import LIVES, SURNAMES, WORK
from model.synthetic.context.frames import AFTER
from model.synthetic.context.impersonal import CHOICES, EVENT, PLEONASTIC
from model.synthetic.context.two_nouns import CLASSES, PERSONS, PLACES, PLURALS, REPEATED
from model.synthetic.context.wordlists import WordLists

TRAINING_WORDS = WordLists(
    CLASSES, PLURALS, PERSONS, PLACES, AFTER, REPEATED, EVENT, PLEONASTIC, CHOICES, LIVES, WORK, SURNAMES
)
