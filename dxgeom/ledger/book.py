"""What a ledger says: its rows read in their order, each checked against the chain of seals and the budgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dxgeom.ledger.chances import Chances
from dxgeom.ledger.entry import Account, Accounts, Entry, altered, exact, unusable
from dxgeom.ledger.tables import BESIDE, DISJOINT, INSIDE, SHARED, Field, Record, Table, commitment_of, seal_of
from dxgeom.ledger.windows import InstalmentStep, Window
from dxgeom.metrics.metric import DataSet
from dxgeom.privacy.measures import CONCENTRATED, PURE, PrivacyMeasure, privacy_measure_of

ALL: Final = 0
"""Stands for all accounts together."""


@final
@dataclass(frozen=True)
class Allotment:
    """A part of an account, for an owner: a user, a team or a purpose.

    ``edition``: whose spends are counted where editions have other people, else None. ``remaining``: what the owner can
    still spend, if the account's and the data set's budgets allow it. Where squares add up ``spent`` is the root of the
    sum of squares, *rounded up*, and ``remaining`` the root of what is left of the amount's square, *rounded down*.
    """

    account: int
    owner: str
    edition: str | None
    amount: Fraction
    spent: Fraction
    remaining: Fraction


@final
class Sums:
    """Sums of spends so far. Where editions have other people each has its own, besides what was spent before that.

    All amounts here are as the ledger's measure counts them: spends, allotments and budgets, or the squares of these.
    """

    def __init__(self) -> None:
        self.disjoint = False
        self._accounts: dict[tuple[int, str | None], Fraction] = defaultdict(Fraction)
        self._parts: dict[tuple[int, str | None, str | None], Fraction] = defaultdict(Fraction)
        self._allotted: dict[tuple[int, str], Fraction] = {}

    def add(self, account: int, owner: str | None, edition: str | None, added: Fraction) -> None:
        """Count an entry: against its owner's allotment if he has one by now, else against what is not allotted."""
        counted = edition if self.disjoint else None
        for whose in (account, ALL):
            self._accounts[whose, counted] += added
        self._parts[account, self.part(account, owner), counted] += added

    def allot(self, account: int, owner: str, amount: Fraction) -> None:
        """Give an owner this much of an account from now on, in place of what he had."""
        self._allotted[account, owner] = amount

    def spent(self, account: int, edition: str | None) -> Fraction:
        """By an account, or by :data:`ALL`."""
        before = self._accounts[account, None]
        return before + self._accounts[account, edition] if self.disjoint and edition is not None else before

    def part(self, account: int, owner: str | None) -> str | None:
        """The owner if a part of the account is his, None for what is not allotted."""
        return owner if owner is not None and (account, owner) in self._allotted else None

    def spent_of_part(self, account: int, part: str | None, edition: str | None) -> Fraction:
        """Of an owner's part, or of what is not allotted (None)."""
        before = self._parts[account, part, None]
        return before + self._parts[account, part, edition] if self.disjoint and edition is not None else before

    def allotted(self, account: int) -> dict[str, Fraction]:
        """What each owner was given of an account."""
        return {owner: amount for (number, owner), amount in self._allotted.items() if number == account}

    def size_of_part(self, account: int, part: str | None, budget: Fraction) -> Fraction:
        """What was given to an owner, or what of the budget was given to none (None)."""
        return budget - sum(self.allotted(account).values()) if part is None else self._allotted[account, part]

    def most_spent(self, account: int, part: str | None) -> Fraction:
        """:meth:`spent_of_part` of the edition in which it is most."""
        editions = {edition for number, _, edition in [*self._parts] if number == account} | {None}
        return max(self.spent_of_part(account, part, edition) for edition in editions)

    def largest_allotment(self, account: int, owner: str, budget: Fraction) -> Fraction:
        """What an owner can be given at most: the budget less what others have, and what was spent of no allotment."""
        others = sum(amount for name, amount in self.allotted(account).items() if name != owner)
        return budget - others - self.most_spent(account, None)


@final
@dataclass(frozen=True)
class KeptAccount:
    """An account of this ledger; ``number`` counts from 1."""

    number: int
    policy_name: str
    policy_fingerprint: str
    budget: Fraction
    privacy_measure: str


@final
@dataclass(frozen=True)
class KeptAnswer:
    """What the ledger says of an entry's answer; ``beside``: it has a file of its own. ``seal``: covers it, too."""

    entry: int
    beside: bool
    size: int
    digest: str
    seal: str


@final
class Book:
    """A ledger's contents, as far as they were read: :meth:`add` takes the next row, and refuses a wrong one."""

    def __init__(self, described: str) -> None:
        self.described = described
        self.ledger = ""
        self.data_set = DataSet()
        """As the ledger says it: without an edition, which is each entry's own."""
        self.continues: str | None = None
        self.accounts: list[KeptAccount] = []
        self.documents: dict[int, str] = {}
        self.entries: list[Entry] = []
        self.answers: dict[int, KeptAnswer] = {}
        self.keys: dict[str, Entry] = {}
        self.seals: list[str] = []
        self.receipt: tuple[int, str] | None = None
        """The entry of the last row that is an entry or an answer, and that row's seal."""
        self.declared = 0
        self.sums = Sums()
        self.allotted = 0
        self.windows: dict[int, Window] = {}
        """By entry, of plans that are released in instalments."""
        self.steps = 0
        self.chances = Chances()
        self._alike: dict[str, dict[int, bool]] = {}
        self._readers: dict[str, Callable[[Record, dict[str, Any]], None]] = {
            "data_sets": self._add_data_set,
            "accounts": self._add_account,
            "policies": self._add_policy,
            "entries": self._add_entry,
            "answers": self._add_answer,
            "allotments": self._add_allotment,
            "instalments": self._add_step,
            "chances": self._add_chance,
        }

    @property
    def disjoint(self) -> bool:
        """Whether the editions of the data have other people."""
        return self.sums.disjoint

    @property
    def position(self) -> int:
        """Of the last row; 0 before the first."""
        return len(self.seals)

    @property
    def seal(self) -> str:
        """Of the last row; "" before the first."""
        return self.seals[-1] if self.seals else ""

    def next_record(self, table: Table, *fields: Field) -> Record:
        """The row that would come next, sealed."""
        position = self.position + 1
        fields = table.whole(fields)
        return Record(table, position, fields, seal_of(table, self.seal, position, fields))

    @property
    def privacy_measure(self) -> PrivacyMeasure:
        """How spends add up here: in all accounts as in the first."""
        return privacy_measure_of(self.accounts[0].privacy_measure if self.accounts else PURE)

    def account_of(self, policy_fingerprint: str) -> KeptAccount | None:
        """The account of a policy, if there is one."""
        return next((kept for kept in self.accounts if kept.policy_fingerprint == policy_fingerprint), None)

    def account_for(self, account: Account) -> KeptAccount | None:
        """The account of this policy, or else of one that is kept here and means the same."""
        kept = self.account_of(account.policy_fingerprint)
        if kept is not None or account.alike is None:
            return kept
        known = self._alike.setdefault(account.policy_fingerprint, {})
        for number, document in self.documents.items():
            if number not in known:
                known[number] = account.alike(document)
        return next((one for one in self.accounts if known.get(one.number)), None)

    def together(self, edition: str | None) -> Accounts | None:
        """What all accounts come to, where there are several."""
        if len(self.accounts) < 2:
            return None
        measure = self.privacy_measure
        budgets = sum((measure.counted(one.budget) for one in self.accounts), Fraction(0))
        counted = edition if self.disjoint else None
        spent = measure.spend_above(self.spent(ALL, counted))
        return Accounts(len(self.accounts), counted, measure.spend_above(budgets), spent, self.data_set.budget)

    def spent(self, account: int, edition: str | None) -> Fraction:
        """What an account, or :data:`ALL` together, spent, as the measure counts it: of the edition only where
        editions have other people.

        What was spent before there were editions counts in each.
        """
        return self.sums.spent(account, edition)

    def add(self, record: Record) -> None:
        """Read the next row. Raises: LedgerError when it cannot have been written after the rows before it."""
        described = f"row {record.position} of its table '{record.table.name}'"
        if record.position != self.position + 1 or not record.table.fits(record.fields):
            raise altered(self.described, f"{described} is out of order or has fields of a wrong kind")
        if self.ledger == "" and record.table.name != "data_sets":
            raise altered(self.described, "it does not say whose budget it keeps")
        if not record.rightly_sealed(self.seal):
            raise altered(self.described, f"{described} does not match its seal")
        named = {column.name: field for column, field in zip(record.table.columns, record.fields, strict=True)}
        self._readers[record.table.name](record, named)
        self.seals.append(record.seal)

    def _add_data_set(self, record: Record, row: dict[str, Any]) -> None:
        self.declared += 1
        budget = None if row["budget"] is None else exact(row["budget"], "the data set's budget", self.described)
        known = self.data_set
        changes = (self.ledger not in ("", row["ledger"])) or (
            known.name is not None and (row["name"] != known.name or (row["people"] == DISJOINT) != self.disjoint)
        )
        loosens = known.budget is not None and budget != known.budget
        if row["number"] != self.declared or row["people"] not in (SHARED, DISJOINT) or changes or loosens:
            raise altered(self.described, f"row {record.position} makes it a ledger of other data")
        self.ledger, self.sums.disjoint = row["ledger"], row["people"] == DISJOINT
        self.data_set = DataSet(row["name"], budget=budget)
        self.continues = self.continues or row["continues"]

    def _add_account(self, record: Record, row: dict[str, Any]) -> None:
        if row["number"] != len(self.accounts) + 1 or self.account_of(row["policy_fingerprint"]) is not None:
            raise altered(self.described, f"row {record.position} opens an account that is there already")
        if row["currency"] not in (PURE, CONCENTRATED):
            counts = f"it counts in '{row['currency']}', which this dxgeom does not know; use a newer one"
            raise unusable(self.described, counts)
        if self.accounts and row["currency"] != self.privacy_measure.name:
            raise altered(self.described, f"row {record.position} counts in another measure than the rows before it")
        budget = exact(row["budget"], "its budget", self.described)
        self.accounts.append(
            KeptAccount(row["number"], row["policy_name"], row["policy_fingerprint"], budget, row["currency"])
        )

    def _add_policy(self, record: Record, row: dict[str, Any]) -> None:
        if not 1 <= row["account"] <= len(self.accounts) or row["account"] in self.documents:
            raise altered(self.described, f"row {record.position} states a policy of no account, or again")
        self.documents[row["account"]] = row["document"]

    def _add_entry(self, record: Record, row: dict[str, Any]) -> None:
        number = len(self.entries) + 1
        if row["number"] != number or not 1 <= row["account"] <= len(self.accounts) or row["reserved"] < 0:
            raise altered(self.described, f"entry {number} is missing or is of no account")
        if row["key"] in self.keys or (self.disjoint and row["edition"] is None):
            raise altered(self.described, f"entry {number} has the key of another, or lacks its edition")
        if row["commitment"] is None and self.entries and self.entries[-1].commitment is not None:
            raise altered(self.described, f"entry {number} commits to no secret, and the one before it does")
        spend = exact(row["spend"], f"the spend of entry {number}", self.described)
        account, edition, owner = row["account"], row["edition"], row["owner"]
        counted, added = self.privacy_measure.counted, self.privacy_measure.counted(spend)
        budget = counted(self.accounts[account - 1].budget)
        left = budget - self.spent(account, edition) - added
        total = self.spent(ALL, edition) + added
        cap = self.data_set.budget
        if left < 0 or (cap is not None and total > counted(cap)):
            raise altered(self.described, f"entry {number} spends more than remained")
        if (str(left), str(total)) != (row["remaining"], row["total"]):
            raise altered(self.described, f"entry {number} does not say what remained after it")
        part = self.sums.part(account, owner)
        if part is None and owner is not None and self.sums.allotted(account):
            raise altered(self.described, f"entry {number} is of an allotment that is not there")
        if self.sums.spent_of_part(account, part, edition) + added > self.sums.size_of_part(account, part, budget):
            raise altered(self.described, f"entry {number} spends more than remained of its allotment")
        self.sums.add(account, owner, edition, added)
        stated: dict[str, Any] = {
            name: row[name] for name in ("purpose", "plan_fingerprint", "time_utc", "account", "edition")
        }
        kept = {name: row[name] for name in ("owner", "key", "reserved", "commitment", "charged_by")}
        below, above = self.privacy_measure.spend_below(left), self.privacy_measure.spend_above(total)
        sums: dict[str, Any] = {"remaining": below, "counted_remaining": left, "total": above}
        entry = Entry(number, spend, seal=record.seal, **sums, **stated, **kept, accounts=self.together(edition))
        self.entries.append(entry)
        self.receipt = (number, record.seal)
        if entry.key is not None:
            self.keys[entry.key] = entry

    def _add_answer(self, record: Record, row: dict[str, Any]) -> None:
        entry = row["entry"]
        if not 1 <= entry <= len(self.entries) or entry in self.answers or row["bytes"] < 0:
            raise altered(self.described, f"row {record.position} answers no entry, or one that was answered")
        if row["place"] not in (INSIDE, BESIDE):
            raise altered(self.described, f"row {record.position} does not say where the answer is")
        secret = row["secret"]
        if (None if secret is None else commitment_of(secret)) != self.entries[entry - 1].commitment:
            raise altered(
                self.described, f"row {record.position} answers entry {entry} without what its charge committed to"
            )
        self.receipt = (entry, record.seal)
        self.answers[entry] = KeptAnswer(entry, row["place"] == BESIDE, row["bytes"], row["digest"], record.seal)

    def _add_allotment(self, record: Record, row: dict[str, Any]) -> None:
        self.allotted += 1
        if row["number"] != self.allotted or not 1 <= row["account"] <= len(self.accounts) or not row["owner"]:
            raise altered(self.described, f"row {record.position} divides no account, or for nobody")
        account, owner = row["account"], row["owner"]
        stated = (
            Fraction(0) if row["amount"] == "0" else exact(row["amount"], f"the allotment of '{owner}'", self.described)
        )
        amount, budget = map(self.privacy_measure.counted, (stated, self.accounts[account - 1].budget))
        most = self.sums.largest_allotment(account, owner, budget)
        if not self.sums.most_spent(account, owner) <= amount <= most:
            raise altered(self.described, f"row {record.position} allots less than was spent, or more than there is")
        self.sums.allot(account, owner, amount)

    def _add_step(self, record: Record, row: dict[str, Any]) -> None:
        self.steps += 1
        step = InstalmentStep.of(row, record.seal)
        known = None if step is None else self.windows.get(step.entry)
        if step is None or row["number"] != self.steps or not 1 <= step.entry <= len(self.entries):
            raise altered(self.described, f"row {record.position} is no step of an instalment")
        if known is None:
            known = Window(self.entries[step.entry - 1])
            # No charge that paid for something else can be opened afterwards.
            if known.entry.seal != self.seal:
                raise altered(self.described, f"row {record.position} opens an entry that was not charged for it")
        if known.refusal(step) is not None:
            raise altered(self.described, f"row {record.position} cannot follow: {known.refusal(step)}")
        self.windows[step.entry] = known
        known.add(step)

    def _add_chance(self, record: Record, row: dict[str, Any]) -> None:
        last = self.entries[-1] if self.entries else None
        self.chances.add(self.described, row, last, last is not None and last.seal == self.seal)

    def division(self, account: int, edition: str | None) -> tuple[Allotment, ...]:
        """How an account is divided, and what was spent of each part; where squares add up in roots of these."""
        counted = edition if self.disjoint else None
        return tuple(
            Allotment(
                account,
                owner,
                counted,
                amount=self.privacy_measure.spend_below(size),
                spent=self.privacy_measure.spend_above(spent),
                remaining=self.privacy_measure.spend_below(size - spent),
            )
            for owner, size in self.sums.allotted(account).items()
            for spent in [self.sums.spent_of_part(account, owner, counted)]
        )
