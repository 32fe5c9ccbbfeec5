"""Times, dates, money and numbers: what each language writes is the same moment and the same amount."""

import re
from datetime import datetime

from model.synthetic.everyday.frames import FRAMES
from model.synthetic.everyday.letters import salutations
from model.synthetic.everyday.quantities import MONTHS, quantities

MADE = list(quantities(300, 1))
CLOCK = re.compile(r"(\d+)(?::(\d+))? ?([ap])\.?m", re.IGNORECASE)


def test_so_many_of_every_kind_and_the_same_again() -> None:
    assert len(MADE) == 300 * sum(name.startswith("quantities ") for name in FRAMES)
    assert list(quantities(300, 1)) == MADE != list(quantities(300, 2))


def test_times_are_the_same_moment() -> None:
    times = [(source, target) for source, target in MADE if target.endswith("Uhr ab.")]
    assert len(times) > 30
    for source, target in times:
        [(hour, minute, half)] = CLOCK.findall(source)
        moment = datetime.strptime(f"{hour}:{minute or '00'} {half}m", "%I:%M %p")
        [(german, german_minute)] = re.findall(r"(\d+)(?::(\d+))? Uhr", target)
        assert (moment.hour, moment.minute) == (int(german), int(german_minute or 0)), (source, target)


def test_hours_of_business_end_in_the_afternoon() -> None:
    hours = [pair for pair in MADE if pair[1].startswith("Der Laden ist von")]
    assert len(hours) > 30
    for source, target in hours:
        (begin, _, first), (end, _, second) = CLOCK.findall(source)
        assert (first, second) == ("a", "p")
        assert re.findall(r"\d+", target) == [begin, str(int(end) + 12)]


def test_dates_are_the_same_day() -> None:
    german_months = {german: english for english, german in MONTHS.items()}
    dates = [pair for pair in MADE if pair[0].startswith("He was born on")]
    assert len(dates) > 30
    for source, target in dates:
        [(day, month, year)] = re.findall(r"am (\d+)\. (\w+)(?: (\d+))? geboren", target)
        numbers = re.findall(r"\d+", source)
        assert sorted(numbers) == sorted([day, year] if year else [day]), (source, target)
        assert german_months[month] in source


def test_amounts_have_the_same_value() -> None:
    amounts = [pair for pair in MADE if re.search(r"[$€£]|Einwohner|Meter", pair[1])]
    assert len(amounts) > 300
    for source, target in amounts:
        [english] = re.findall(r"\d[\d,.]*\d|\d", source)
        [german] = re.findall(r"\d[\d,.]*\d|\d", target)
        assert german.replace(".", "").replace(",", ".") == english.replace(",", ""), (source, target)
        assert set("$€£") & set(source) == set("$€£") & set(target)


def test_letters_begin_by_gender() -> None:
    pairs = dict(salutations())
    assert pairs["Dear Ms. Miller,"] == pairs["Dear Mrs. Miller,"] == "Sehr geehrte Frau Miller,"
    assert (pairs["Dear Mr Miller,"], pairs["Dear Anna,"]) == ("Sehr geehrter Herr Miller,", "Liebe Anna,")
    assert (pairs["Dear Peter,"], pairs["Hi Peter, how are you?"]) == ("Lieber Peter,", "Hallo Peter, wie geht es dir?")
