"""Dates as people write them, and in ISO 8601: pairs to translate.

    pairs = written_dates(3, unseen=False)  # [("the 3rd of March, 1998", "1998-03-03"), …]

One day in five is held out of training, in all forms: `unseen=True` draws from those.
"""

from __future__ import annotations

import datetime
import re

import tinytensor as tt

FIRST = datetime.date(1900, 1, 1)
DAYS = (datetime.date(2100, 1, 1) - FIRST).days

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
NUMBERS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

FORMS = (  # the first ones in words, the last ones in digits, as in Europe and in America
    "the {ordinal} of {month}, {year}",
    "the {ordinal} of {month}, {year_in_words}",
    "{weekday}, the {ordinal_in_words} of {month} {year}",
    "{month} the {ordinal_in_words}, {year_in_words}",
    "{month} {ordinal}, {year}",
    "{month} {day}, {year}",
    "{day} {month} {year}",
    "{ordinal} {month} {year}",
    "{weekday}, {day} {short_month} {year}",
    "{weekday}, {month} {day}, {year}",
    "on {weekday} the {ordinal} of {month} in {year}",
    "{short_month} {day} {year}",
    "{year}, {month} {day}",
    "{day}.{month_number}.{year}",
    "{month_number}/{day}/{year}",
)


def written_dates(count: int, unseen: bool) -> list[tuple[str, str]]:
    """`count` random pairs: a date in one of the forms, and the same date as YYYY-MM-DD."""
    days = tt.randint(DAYS // 5, (count,))
    offsets = tt.zeros(count).long() if unseen else tt.randint(1, 5, (count,))
    forms = tt.randint(len(FORMS), (count,))
    pairs = []
    for number, form in zip((5 * days + offsets).tolist(), forms.tolist()):
        date = FIRST + datetime.timedelta(days=number)
        pairs.append((write(date, FORMS[form]), date.isoformat()))
    return pairs


def write(date: datetime.date, form: str) -> str:
    """A date in one of the forms."""
    month, day = MONTHS[date.month - 1], date.day
    return form.format(
        day=day,
        month=month,
        year=date.year,
        weekday=WEEKDAYS[date.weekday()],
        ordinal=f"{day}{_suffix(day)}",
        ordinal_in_words=_ordinal_in_words(day),
        short_month=month[:3],
        month_number=date.month,
        year_in_words=_year_in_words(date.year),
    )


def words_of(text: str) -> list[str]:
    """The tokens of a date: words in lower case, single digits, and signs.

    >>> words_of("the 3rd of March, 1998")
    ['the', '3', 'rd', 'of', 'march', ',', '1', '9', '9', '8']
    """
    return re.findall(r"[^\W\d_]+|\S", text.lower())


def vocabulary() -> list[str]:
    """All tokens that can occur in the forms."""
    written = {
        write(FIRST + datetime.timedelta(days=k), form) for k in range(400) for form in FORMS
    }
    numbers = {*NUMBERS, *TENS, *"0123456789", "hundred", "oh", "thousand"}
    return sorted(numbers.union(*map(words_of, written)))


def _suffix(day: int) -> str:
    return "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _ordinal_in_words(day: int) -> str:
    """3 → third, 30 → thirtieth, 31 → thirty-first"""
    if day <= 20:
        return ORDINALS[day - 1]
    if day == 30:
        return "thirtieth"
    return f"{TENS[day // 10 - 2]}-{ORDINALS[day % 10 - 1]}"


def _year_in_words(year: int) -> str:
    """1998 → nineteen ninety-eight, 1905 → nineteen oh five, 2000 → two thousand"""
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        return "two thousand" + (f" {NUMBERS[rest - 1]}" if rest else "")
    begin = NUMBERS[century - 1] if century < 20 else "twenty"
    if rest < 10:
        return f"{begin} " + (f"oh {NUMBERS[rest - 1]}" if rest else "hundred")
    return f"{begin} {_in_words(rest)}"


def _in_words(number: int) -> str:
    """10 → ten, 98 → ninety-eight"""
    if number < 20:
        return NUMBERS[number - 1]
    tens, ones = divmod(number, 10)
    return TENS[tens - 2] + (f"-{NUMBERS[ones - 1]}" if ones else "")


__all__ = ["vocabulary", "words_of", "write", "written_dates"]
