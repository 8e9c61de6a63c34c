"""Collecting mistakes instead of stopping at the first one; a code never changes its meaning between versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

from dxgeom.errors import Diagnostic
from dxgeom.policy.source.text import PolicyText

CODES: Final[dict[str, str]] = {
    # reading and syntax, of policy files and queries files alike
    "DX100": "the file cannot be read: missing, not a regular file, too large, or not UTF-8",
    "DX101": "the file is not well-formed YAML",
    "DX102": "a YAML feature that this language does without: tag, anchor, alias, directive, second document, odd key",
    "DX103": "nested too deeply, or too many entries",
    "DX104": "the same key twice in one mapping",
    "DX105": "a key that is not known here",
    # DX106 was for words that the language had and a version did not; it has them all now.
    "DX107": "a key or a value is missing",
    "DX108": "a list, a mapping or a word stands where another kind is expected",
    "DX109": "not an exact decimal number, or one outside the allowed range",
    # the universe
    "DX110": "an attribute's list of values: empty, or a value twice",
    "DX111": "a range that does not run upwards in steps",
    "DX112": "bin edges that do not increase",
    "DX113": "columns of a points file that do not go together",
    "DX114": "a data file that may not or cannot be read",
    "DX115": "the content of a data file is wrong",
    "DX116": "more values or possible records than this version handles",
    "DX117": "an attribute's name cannot be used",
    "DX118": "a date that cannot be read, or dates that do not run forwards in whole days",
    "DX119": "what only looks like a word that is meant: a no-break space, or typographic quotes",
    "DX120": "whole numbers or true ends that do not go with an attribute's own values",
    "DX121": "keys of a graph or of regions that do not go together",
    "DX122": "values that wrap where going round means nothing",
    "DX126": "an attribute beside a table of records that is no column of it",
    # rules
    "DX130": "a rule selects its pairs in no way, or in more than one",
    "DX131": "a rule bounds its pairs in no way, or in more than one",
    "DX132": "a rule names an attribute that does not exist",
    "DX133": "a rule names a value that does not exist",
    "DX134": "a length that cannot be read",
    "DX135": "a length whose unit does not fit the attribute",
    "DX136": "a bound that needs distances, on an attribute that has none",
    "DX137": "an attribute is listed twice in one rule",
    "DX138": "a combination of rules whose exact metric would exceed a stated size",
    "DX145": "a rule about several attributes together that says something no such rule can",
    "DX146": "a partition by something that splits no pairs of records: no such column, or every attribute",
    "DX147": "a column that does not hold the epsilons of individuals",
    # connectivity
    "DX150": "values that no rule protects: an attribute without a rule",
    "DX151": "values that no rule protects: the near pairs of a rule do not reach all values",
    "DX155": "listed records that no chain of rules joins",
    # how tables are read
    "DX160": "a missing value whose name is taken already, or that another rule does not go with",
    "DX161": "a word for unlisted values on an attribute that can have none",
    "DX162": "a derived column that cannot be worked out, or makes nothing that the attribute could be",
    "DX163": "no time zone of that name",
    "DX164": "columns or a reach of 'nearest' that do not fit the places",
    # people
    "DX170": "people whose keys do not go together",
    "DX171": "a column that says who people are, or orders their rows, and is one of an attribute too",
    # what is written in a table
    "DX180": "a form of a table's file that no file has, or keys of it that do not go together",
    "DX181": "signs in numbers that do not go together",
    "DX182": "an example of a date that is no way to write one, or two that read a cell differently",
    "DX183": "words, units or missing words that do not fit the attribute, or would mean two things",
    "DX184": "a column whose rows are left out, and that an attribute reads",
    "DX190": "a time whose window is not made of whole periods, or whose column is an attribute",
    "DX191": "people who count over a whole life, or a public number of rows, beside a time",
    "DX192": "a rule about several periods, or about ages, that says something no such rule can",
    "DX194": "values that nobody listed, beside what needs them listed, or without 'delta'; or 'delta' without any",
    # what is public
    "DX195": "a known count that is stated in no way, or in more than one",
    "DX196": "a known count of an attribute that does not exist, or is named twice, or of too many combinations",
    "DX197": "known numbers that lack a combination, have one twice, are no counts, or contradict each other",
    "DX198": "known counts where people may have many rows",
    "DX199": "'hold' without known counts, or with counts that cross",
    # queries
    "DX200": "a query asks for nothing, or for more than one thing",
    "DX201": "a query names a column that does not exist or does not fit",
    "DX202": "a condition that cannot be read or does not fit the universe",
    "DX203": "two queries of the same name",
    "DX204": "a mean over all records without their number",
    "DX205": "the number of records is not a positive whole number, or contradicts the one given",
    "DX206": "the content of a matrix file does not fit the universe",
    "DX207": "a workload larger than this version handles",
    "DX208": "coefficients too fine or too large to keep exactly",
    "DX209": "an importance that is not a positive number",
    "DX210": "marginals of more ways than there are columns, or of none",
    "DX211": "a count along a time that the policy does not state, or by periods that it does not have",
    "DX215": "a number of records, where the policy keeps it private",
    "DX219": "a quantile's level that is not between 0 and 1, or listed twice",
    "DX220": "quantiles and other queries in one file",
    "DX221": "a query, or part of one, that needs a count of every possible record, where there are too many",
    "DX222": "a body that is none, or of other queries",
    # tasks
    "DX230": "a task asks for nothing, or for more than one thing",
    "DX231": "shares of tasks that are not positive, are stated by some only, or do not sum to 1",
    "DX232": "a number or a word that a task cannot have, such as its rounds, rows, degree or law",
    "DX233": "what a task cannot be about, such as quantiles where numbers are added up",
    "DX234": "queries and tasks in one file",
    "DX235": "two tasks of the same name",
}


MOST_REPORTED = 200


@final
@dataclass(frozen=True, order=True)
class Span:
    """Where something stands: character offsets, ``end`` not included."""

    start: int
    end: int


@final
@dataclass
class Mistakes:
    """The mistakes found so far in one text. Only grows; nothing is raised before all phases had their say."""

    text: PolicyText
    all: list[Diagnostic] = field(default_factory=list)

    def add(self, code: str, span: Span, message: str, advice: str = "") -> None:
        """Note one mistake; its code must be in the table, and the same mistake is noted once."""
        if code not in CODES:
            raise KeyError(code)
        if self.full:
            return
        line, column = self.text.position(span.start)
        paths = self.text.paths
        source = self.text.line_text(line) if paths is None else ""
        path = "" if paths is None else paths.at(span.start, span.end)
        mistake = Diagnostic(self.text.file, line, column, code, message, advice, source, path)
        if mistake not in self.all:
            self.all.append(mistake)

    @property
    def full(self) -> bool:
        """Whether so much is wrong that further mistakes are not worth finding."""
        return len(self.all) >= MOST_REPORTED

    def noted_at(self, code: str, span: Span) -> bool:
        """Whether a mistake of that code was noted at that place."""
        return (code, self.text.position(span.start)) in {(one.code, (one.line, one.column)) for one in self.all}

    def __bool__(self) -> bool:
        return bool(self.all)
