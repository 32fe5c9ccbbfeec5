"""What is known of English words: which verbs and adjectives take a pleonastic "it", which an event, which a thing.

A pleonastic "it" refers to nothing ("It rains."); an event "it" to what a sentence says ("It came as a surprise.");
a referential "it" has a noun as its antecedent ("It is broken."). German keeps "es" for the first two.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS = _words("the a an my your his her our their this that")
DEFINITE = DETERMINERS - {"a", "an"}
THIRD_PERSON = _words("he she him her his hers they them their it its itself himself herself themselves")
FEMALE = _words("she her hers herself")
MALE = _words("he him his himself")
GENDERED = (
    MALE
    | FEMALE
    | _words(
        "tom mary john bob jim bill mike alice jane mr mrs miss ms man woman men women father mother brother sister"
        " boy girl wife husband son daughter uncle aunt king queen prince princess sir lady gentleman lord god jesus"
        " male female"
    )
)
"""Words that say themselves who is a man and who a woman."""
ANIMALS = _words("tiger wolf lion bear monkey elephant donkey dog cat fox rabbit hare ape goat")
PERSON_SUBJECTS = _words("i you he she who tom mary father mother brother sister husband wife man woman")
BEING = _words("is was 's 'm am are 're were be been become became")
PERSON_VERBS = _words(
    "said says told tells asked asks wants wanted thinks thought knows knew believes believed wrote writes decided"
    " smiled laughed replied answered refused tried hopes hoped died who himself herself"
)
"""Words behind a person: "the mayor said", "a teacher who"."""
FUNCTION = _words(
    "the a an of to in is it and i you he she we they was are be been do does did have has had not n't that this on"
    " for with at from by as my your his her our their me him us them what who how when where why if or but so up"
    " out about there will would can could should must 's 're 'm 'll 'd 've don't very too all no one"
)
AUXILIARIES = _words(
    "is was 's are were be been being has had have will 'll would 'd wo ca can could should may might must do does"
    " did not n't never ever always also still just already really very too so quite almost only even now then again"
    " soon probably perhaps definitely actually certainly completely totally absolutely rather pretty all both going"
    " to"
)
PREPOSITIONS = _words(
    "in on at of to from with by for about into under over behind near through without before after than as like"
    " between against around along across during until since toward towards upon beyond above below beside inside"
    " outside off and or but called named is was are were be been 's"
)
CLAUSE = _words("to that if when because like as who than how why what whether while until since which though")

WEATHER = _words("rain rains rained raining snow snows snowed snowing pour pours pouring hail hailed hailing drizzle"
                 " drizzling thunder thundering freezing dawned dawning storming")  # fmt: skip
IMPERSONAL = _words("seems seemed seem appears appeared turns turned takes took take depends matters mattered turned")
TIME_AND_WEATHER = _words(
    "late early dark cold hot warm cool chilly sunny windy cloudy foggy rainy stormy humid noon midnight morning"
    " evening night monday tuesday wednesday thursday friday saturday sunday christmas easter spring summer autumn"
    " winter time o'clock almost past half half-past today tomorrow yesterday january may june july"
)
JUDGEMENTS = _words(
    "true possible impossible important necessary obvious clear strange odd weird easy hard difficult okay ok fine"
    " good great nice enough over simple sad funny ridiculous silly stupid wrong right likely unlikely certain sure"
    " quiet terrible awful horrible crazy fun unfair fair wonderful fantastic amazing unbelievable incredible urgent"
    " useless hopeless normal natural embarrassing pointless inevitable better worse best worst different"
    " complicated a-shame unusual common rare lucky dangerous exciting boring annoying disappointing surprising"
    " shocking painful risky"
)
EVENTS = _words(
    "happened happens happen surprised shocked surprises scares scared hurt hurts caused causes cause led leads"
    " resulted means meant worked helped helps ended began started came continued failed"
)
EVENT_NOUNS = _words(
    "mistake accident joke shame pity surprise lie dream coincidence misunderstanding problem miracle idea honor"
    " honour pleasure disaster matter fact secret start beginning end trap trick tragedy nightmare relief scandal"
    " success failure challenge crime habit game fun reason question pain risk waste mess situation experience"
    " opportunity chance decision plan truth rumor custom tradition duty job day night thing story bargain deal"
)
EVENT_VERBS = _words(
    "do did done doing say said know knew known mean meant believe believed think thought regret regretted deny"
    " promise understand understood tell told swear admit guess doubt explain try tried get make made bet hear heard"
    " happen take call imagine prove forget forgot help afford manage risk put stop enjoy like love hate mention"
    " deserve want wanted notice prevent avoid discuss accept"
)
"""Verbs after which "it" is an event as often as a thing."""

PERSONS = _words(
    "man woman boy girl child baby mother father brother sister son daughter uncle aunt cousin friend wife husband"
    " parent parents people person king queen prince princess lady gentleman sir doctor nurse teacher student lawyer"
    " judge police policeman thief neighbor neighbour guest guy kid god lord grandfather grandmother grandma grandpa"
    " mom dad mum boss chief president minister general soldier captain enemy nephew niece bride genius fool liar"
    " idiot member folk men women children priest someone somebody anybody everyone dr mr mrs miss monk bishop"
    " prophet servant master crowd couple family audience team jury committee victim patient witness twin human"
    " stranger widow orphan hero expert guide pilot clerk cook actor actress singer author writer poet artist"
    " painter musician engineer scientist professor driver farmer fisherman hunter baker butcher player leader"
    " speaker owner user customer client agent spy coward beggar citizen foreigner tourist passenger visitor angel"
    " devil ghost witch knight emperor girlfriend boyfriend adult teenager youth lover partner colleague roommate"
    " darling jesus santa buddha brahmin mendicant ascetic tom mary john bob jim jack bill mike alice ken jane linda"
    " kate emily susan lisa"
)
NO_THINGS = _words(
    "time day night morning evening year week month hour minute today yesterday tomorrow january february march"
    " april may june july august september october november december spring summer autumn winter noon midnight"
    " moment second weekend way thing something anything nothing everything lot bit kind sort right left love fun"
    " luck help work fact case reason end part number name german english french japanese chinese boston germany"
    " japan australia america data thanks kiss worry russian superman ms side matter use course rest hand home truth"
    " life death god"
)
"""Nouns that "it" seldom stands for, and words that only look like nouns."""
