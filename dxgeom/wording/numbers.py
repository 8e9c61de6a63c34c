"""Numbers as the page writes them: odds and guesses rounded up, errors outward, never in powers of ten.

Signs that a stream cannot take, in words or signs of ASCII.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Final, NamedTuple

MOST_ODDS: Final = 1_000_000
_EXACT: Final = Context(prec=800)
NO_LIMIT: Final = "no limit"
_UP: Final = 1 + 1e-9
"""Compiled distances are rounded down by less than this, relatively; what is said of them is not."""


class Band(NamedTuple):
    """How well something is hidden: up to these odds, in these words; ``look`` is its colour's name."""

    most: float
    words: str
    look: str


BANDS: Final = (
    Band(1.23, "strongly hidden", "band-1"),
    Band(2.72, "partly hidden", "band-2"),
    Band(20.1, "weakly hidden", "band-3"),
    Band(1000, "barely hidden", "band-4"),
    Band(math.inf, "not hidden", "band-5"),
)
"""The page's own words; no law uses them."""


def odds(distance: float) -> str:
    """e^distance to 1 with three digits, *rounded up*.

    >>> odds(0.1), odds(4.5), odds(0), odds(30), odds(math.inf)
    ('1.11 to 1', '90.1 to 1', '1 to 1', 'more than 1,000,000 to 1', 'no limit')
    """
    if math.isinf(distance):
        return NO_LIMIT
    if distance == 0:
        return "1 to 1"
    value = _odds(distance)
    return f"more than {MOST_ODDS:,} to 1" if value > MOST_ODDS else f"{digits(value, 3, ROUND_CEILING)} to 1"


def _odds(distance: float) -> float:
    return math.exp(min(distance, 100.0) * _UP) * (1 + 1e-12)


def at_most(distance: float) -> str:
    """The same as a limit, to stand after "with" or ":".

    >>> at_most(0.1), at_most(30), at_most(math.inf)
    ('at most 1.11 to 1', 'more than 1,000,000 to 1', 'no limit')
    """
    said = odds(distance)
    return said if said == NO_LIMIT or said.startswith("more") else f"at most {said}"


def odds_figure(distance: float) -> str:
    """The same for a cell of a picture: the number alone.

    >>> odds_figure(0.1), odds_figure(math.inf)
    ('1.11', '∞')
    """
    if math.isinf(distance):
        return "∞"
    return "> 10⁶" if distance and _odds(distance) > MOST_ODDS else odds(distance).removesuffix(" to 1")


def guesses(distance: float) -> int:
    """How many of 1,000 guesses between two equally likely records are right on average, at most; *rounded up*.

    >>> guesses(0.1), guesses(4.5), guesses(0), guesses(math.inf)
    (525, 990, 500, 1000)
    """
    if distance == 0:
        return 500
    return math.ceil(1000 / (1 + math.exp(-min(distance, 100.0) * _UP)) * (1 - 1e-15))


def band_of(distance: float) -> Band:
    """The band of the odds as they are written.

    >>> band_of(0.1).words, band_of(1).words, band_of(3).words, band_of(7).words
    ('strongly hidden', 'partly hidden', 'weakly hidden', 'not hidden')
    """
    if math.isinf(distance):
        return BANDS[-1]
    written = 1.0 if distance == 0 else float(_rounded(_odds(distance), 3, ROUND_CEILING))
    return next(band for band in BANDS if written <= band.most)


def digits(value: float, count: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number with so many digits, in full.

    >>> digits(9.999, 3, ROUND_CEILING), digits(123456, 2), digits(0.000123, 2)
    ('10.0', '120,000', '0.00012')
    """
    if not math.isfinite(value):
        return NO_LIMIT
    return f"{_rounded(value, count, rounding):,f}"


def _rounded(value: float | Decimal, count: int, rounding: str) -> Decimal:
    exact = Decimal(value)
    if exact == 0:
        return Decimal(0)
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - count + 1), rounding, _EXACT)
    # A carry makes a digit more: 9.999 is 10.0, not 10.00.
    place = max(rounded.adjusted(), exact.adjusted()) - count + 1
    rounded = rounded.quantize(Decimal(1).scaleb(place), rounding, _EXACT)
    return rounded.quantize(Decimal(1), context=_EXACT) if place > 0 else rounded


def plus_minus(half_width: float) -> str:
    """± and two digits, *rounded up*.

    >>> plus_minus(6.04), plus_minus(12.2), plus_minus(0), plus_minus(math.inf)
    ('± 6.1', '± 13', 'exact', 'no limit')
    """
    if half_width == 0:
        return "exact"
    return f"± {digits(half_width, 2, ROUND_CEILING)}" if math.isfinite(half_width) else NO_LIMIT


def bar(value: float, low: float, high: float) -> tuple[str, str, str]:
    """An answer and its bar's ends with the digits that the bar leaves, the ends *rounded outward*.

    >>> bar(75, 68.9, 81.1), bar(1.23456, 1.2, 1.27)
    (('75', '68', '82'), ('1.235', '1.199', '1.271'))
    """
    width = (high - low) / 2
    if not math.isfinite(width) or width == 0:
        low_end, high_end = (NO_LIMIT if math.isinf(end) else amount(end) for end in (low, high))
        return amount(value), low_end, high_end
    whole = value == round(value) and width >= 1
    place = Decimal(1).scaleb(0 if whole else min(0, Decimal(width).adjusted() - 1))
    pairs = ((value, ROUND_HALF_EVEN), (low, ROUND_FLOOR), (high, ROUND_CEILING))
    said, start, end = (f"{Decimal(number).quantize(place, rounding, _EXACT):,f}" for number, rounding in pairs)
    return said, start, end


def answer_and_bar(value: float, half_width: float | None) -> tuple[str, str]:
    """An answer, and its ± with two digits, *rounded up*; the answer stops where ± does, a whole one at the point.

    >>> answer_and_bar(75.2, 6.04), answer_and_bar(201.0994512, 0.000268), answer_and_bar(75, 6.04)
    (('75.2', '± 6.1'), ('201.09945', '± 0.00027'), ('75', '± 6.1'))
    >>> answer_and_bar(1234567, 181000.0), answer_and_bar(75, 0), answer_and_bar(75, None)
    (('1,230,000', '± 190,000'), ('75', 'exact'), ('75', ''))
    """
    if half_width is None or half_width == 0 or not math.isfinite(half_width):
        return amount(value), "" if half_width is None else plus_minus(half_width)
    place = _rounded(half_width, 2, ROUND_CEILING).adjusted() - 1
    stop = max(place, 0) if value == round(value) else place
    said = Decimal(value).quantize(Decimal(1).scaleb(stop), ROUND_HALF_EVEN, _EXACT)
    # What the answer lost belongs to what it can be off by.
    wide = _EXACT.add(Decimal(half_width), abs(_EXACT.subtract(said, Decimal(value))))
    shown = f"± {_rounded(wide, 2, ROUND_CEILING):,f}"
    return f"{said.quantize(Decimal(1), context=_EXACT) if stop > 0 else said:,f}", shown


def ends_outward(low: float, high: float) -> tuple[str, str]:
    """The ends of an interval to two digits of its width, *rounded outward*.

    >>> ends_outward(0.53, 19.2), ends_outward(-1234, 181000.0), ends_outward(-math.inf, 3)
    (('0', '20'), ('-10,000', '190,000'), ('no limit', '3'))
    """
    width = high - low
    if not math.isfinite(width) or width == 0:
        start, end = (NO_LIMIT if math.isinf(one) else amount(one) for one in (low, high))
        return start, end
    place = Decimal(1).scaleb(_rounded(width, 2, ROUND_CEILING).adjusted() - 1)
    least, most = (
        Decimal(one).quantize(place, way, _EXACT).quantize(min(place, Decimal(1)), context=_EXACT)
        for one, way in ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    )
    return f"{least:,f}", f"{most:,f}"


def amount(value: float | Fraction) -> str:
    """A number that is known as it stands, in full, with six digits at most.

    >>> amount(304), amount(Fraction(1, 2)), amount(1234567.0), amount(0.00001234567)
    ('304', '0.5', '1,234,567', '0.0000123457')
    """
    number = float(value)
    if number == round(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    text = digits(number, 6)
    return text.rstrip("0").rstrip(".") if "." in text else text


def brief(number: float) -> str:
    """A number of at least 0 with four significant digits.

    >>> brief(15510.3), brief(12.50163), brief(0.0000673), brief(0.0)
    ('15,510', '12.50', '6.730e-05', '0')
    """
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    if not 1e-3 <= number < 1e15:
        return f"{number:.3e}"
    return f"{number:,.{max(0, 3 - math.floor(math.log10(number)))}f}"


def brief_or_none(number: float | None) -> str:
    """The same; a dash where there is no number."""
    return "-" if number is None else brief(number)


_POWER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?e[+-]\d{1,3}(?!\w)")


def in_full(words: str) -> str:
    """A sentence in which no number is written with a power of ten.

    >>> in_full("off by 2.496e+04, or 6.7e-05")
    'off by 24,960, or 0.000067'
    """
    return _POWER.sub(lambda found: f"{Decimal(found[0]):,f}", words)


def counted(number: int, what: str, several: str = "") -> str:
    """So many of what there is.

    >>> counted(1, "box", "boxes"), counted(1200, "task")
    ('1 box', '1,200 tasks')
    """
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def rounded(value: float, error: float) -> str:
    """A number with the digits that its error leaves meaningful: two of the error's own.

    >>> rounded(1234567.891, 25.3), rounded(203.4567, 0.00123), rounded(12.0, 0.0)
    ('1,234,568', '203.4567', '12')
    """
    if not math.isfinite(value):
        return str(value)
    if not 0 < error < math.inf:
        return f"{value:,.12g}"
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{places}f}"


_ASCII: Final = {
    " ·": ";",
    "·": "*",
    "±": "+/-",
    "▲": "[!]",
    "✖": "[x]",
    "→": "->",
    "ε": "eps",
    "δ": "delta",
    "≤": "<=",
    "≥": ">=",
    "×": "x",
    "∞": "inf",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "²": "^2",
    "√": "sqrt ",
    "°": " deg",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "\u00a0": " ",
}


def in_encoding(text: str, encoding: str) -> str:
    """The text with every sign of ours that this encoding has not in ASCII; other letters stay.

    >>> in_encoding("race ± 5 · age", "ascii"), in_encoding("▲ ± é", "latin-1"), in_encoding("±", "utf-8")
    ('race +/- 5; age', '[!] ± é', '±')
    """
    if text.isascii():
        return text
    for sign, words in _ASCII.items():
        if sign in text and not _has(encoding, sign):
            text = text.replace(sign, words)
    return text


@cache
def _has(encoding: str, sign: str) -> bool:
    try:
        sign.encode(encoding)
    except UnicodeEncodeError:
        return False
    except LookupError:  # a codec that Python does not know: the stream's own matter
        return True
    return True
