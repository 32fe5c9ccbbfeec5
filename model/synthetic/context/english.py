"""Sets of English words: verbs and adjectives whose "it" is pleonastic, an event, or a thing.

A pleonastic "it" refers to nothing ("It rains."); an event "it" to what a sentence says ("It came as a surprise.");
a referential "it" has a noun as its antecedent ("It is broken."). German keeps "es" for the first two.
"""

from pathlib import Path

from model.synthetic.tables import numbered_lines

_SETS = {
    name: frozenset(words.split())
    for name, words in (line.split("\t") for _, line in numbered_lines(Path(__file__).with_name("english.tsv")))
}
DETERMINERS, THIRD_PERSON, FEMALE, MALE = (_SETS[name] for name in ("DETERMINERS", "THIRD_PERSON", "FEMALE", "MALE"))
DEFINITE = DETERMINERS - {"a", "an"}
GENDERED = MALE | FEMALE | _SETS["GENDERED"]
"""Words that show whether a person is a man or a woman."""
ANIMALS = _SETS["ANIMALS"]
PERSON_SUBJECTS = _SETS["PERSON_SUBJECTS"]
BEING = _SETS["BEING"]
PERSON_VERBS = _SETS["PERSON_VERBS"]
"""Words behind a person: "the mayor said", "a teacher who"."""
FUNCTION = _SETS["FUNCTION"]
AUXILIARIES = _SETS["AUXILIARIES"]
PREPOSITIONS = _SETS["PREPOSITIONS"]
CLAUSE = _SETS["CLAUSE"]
WEATHER = _SETS["WEATHER"]
IMPERSONAL = _SETS["IMPERSONAL"]
TIME_AND_WEATHER = _SETS["TIME_AND_WEATHER"]
JUDGEMENTS = _SETS["JUDGEMENTS"]
EVENTS = _SETS["EVENTS"]
EVENT_NOUNS = _SETS["EVENT_NOUNS"]
EVENT_VERBS = _SETS["EVENT_VERBS"]
"""Verbs after which "it" is an event as often as a thing."""
PERSONS = _SETS["PERSONS"]
NO_THINGS = _SETS["NO_THINGS"]
"""Nouns that "it" rarely refers to, and words that only look like nouns."""
