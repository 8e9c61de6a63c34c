"""What the names of columns say in eight languages: who a person is, what numbers can be, what is text about people."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, final

# English, German, French, Spanish, Italian, Dutch, Portuguese, Polish. Matched word by word, without accents and case.


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


# fmt: off
_PERSONS: Final = _listed("""
    id uid uuid guid user users userid username person persons personid people patient patients patientid patid mrn
    pid subject subjectid customer customers customerid client clients clientid member memberid subscriber account
    accountid ssn device deviceid household employee employeeid student studentid pupil driver rider passenger
    citizen resident donor voter taxpayer tenant participant respondent visitor visitorid guest caseid nhs pat patnr
    patientennummer versicherter versichertennr fallnr kunde kunden kundennr kundennummer kundin mitglied personalnr
    personennr nutzer nutzerid besucher teilnehmer schuler matrikel matrikelnr bewohner probandin proband usager
    utilisateur abonne adherent eleve etudiant salarie visiteur personne nir paciente cliente usuario persona alumno
    empleado visitante socio dni nif paziente utente studente dipendente visitatore codicefiscale assistito klant
    klantnr gebruiker deelnemer leerling medewerker bezoeker bsn persoon aluno funcionario cpf pessoa pacjent klient
    uzytkownik osoba uczen pracownik pesel czlonek
""")
_TEXTS: Final = _listed("""
    name names firstname lastname surname forename fullname email mail phone telephone mobile address street comment
    comments note notes remark remarks vorname nachname telefon handy adresse anschrift strasse kommentar bemerkung
    bemerkungen notiz anmerkung nom prenom courriel rue commentaire remarque nombre apellido apellidos correo
    telefono direccion calle comentario nome cognome indirizzo via commento naam voornaam achternaam adres straat
    opmerking opmerkingen sobrenome endereco rua imie nazwisko ulica uwagi msisdn imsi imei ip iban
""")
_CONTACTS: Final = _listed("ids email mail phone msisdn imsi imei mac")
_AGES: Final = _listed("age alter lebensalter edad eta leeftijd idade wiek")
_MONTHS: Final = _listed("month monat mois mes mese maand miesiac")
_HOURS: Final = _listed("hour stunde uhrzeitstunde heure hora ora uur godzina")
_PERCENTS: Final = _listed("""
    percent percentage pct prozent pourcentage pourcent porcentaje percentuale procent percentagem procenty
""")
_GERMAN: Final = _listed("""
    ankunft aufnahme aufnahmedatum datum entlassung entlassungsdatum geburtsdatum geburtstag tag zeitpunkt beginn
    ende diagnose bestelldatum kaufdatum besuch termin
""")
_ANSWERS: Final = {"aufgenommen": "admitted", "entlassen": "discharged", "verstorben": "died", "geheilt": "cured"}
_ORDINARY: Final = _listed("""
    sex gender geschlecht sexe sexo sesso geslacht plec country land pays pais paese kraj city town stadt ort
    wohnort ville ciudad citta stad cidade miasto region state kreis date datum fecha data time zeit type typ kind
    art group gruppe status class category kategorie categorie code product produkt produit ward station department
    abteilung answer antwort value wert race education income occupation job beruf colour color farbe language
    sprache channel day tag year jahr count anzahl weight gewicht height grosse price preis amount betrag number
    nummer nr no title titel
""")
TOTALS: Final = _listed("""
    total totals sum summe gesamt gesamtsumme insgesamt somme totale totaal soma suma razem ogolem subtotal
""")
MARKERS: Final = frozenset((
    "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "missing", "unknown", "k.a.", "k. a.",
    "keine angabe", "unbek.", "unbekannt", "nd", "n.d.", "inconnu", "desconocido", "sconosciuto", "onbekend",
    "desconhecido", "brak", "s/d", "n.v.t.", "(null)", "\\n",
))
# fmt: on
_UNITS: Final = frozenset(
    [
        "min",
        "h",
        "s",
        "kg",
        "g",
        "mg",
        "cm",
        "mm",
        "m",
        "km",
        "eur",
        "usd",
        "gbp",
        "chf",
        "days",
        "tage",
        "years",
        "jahre",
        "hours",
        "minutes",
        "stunden",
    ]
)
_BLANKS: Final = " \t\u00a0\u2007\u202f\ufeff"
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@final
@dataclass(frozen=True)
class PublicRange:
    """What numbers of a name can be, known without any table. ``whole``: by their nature."""

    low: int
    high: int
    unit: str
    whole: bool


def plain_text(word: str) -> str:
    """Small letters without accents."""
    return _without_accents(word).lower()


def is_total(cell: str) -> bool:
    """Whether a cell says that its row adds up the others."""
    return plain_text(cell.strip(_BLANKS + ":")) in TOTALS


def _without_accents(word: str) -> str:
    letters = unicodedata.normalize("NFKD", word.replace("ß", "ss").replace("ł", "l"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def words_of(name: str) -> tuple[str, ...]:
    """A name's words, in small letters without accents; also all of them as one.

    >>> words_of("Pat-Nr"), words_of("patientId")
    (('pat', 'nr', 'patnr'), ('patient', 'id', 'patientid'))
    """
    parts = tuple(part.lower() for part in _PARTS.findall(_without_accents(name)))
    return parts if len(parts) < 2 else (*parts, "".join(parts))


def names_a_person(name: str) -> bool:
    """Whether a column of this name may say who a row is of."""
    return not _PERSONS.isdisjoint(words_of(name))


def names_a_contact(name: str) -> bool:
    """Whether a column of this name holds what most people have one of, such as an address of mail."""
    return not _CONTACTS.isdisjoint(words_of(name))


def names_text(name: str) -> bool:
    """Whether a column of this name holds names, addresses or remarks."""
    return not _TEXTS.isdisjoint(words_of(name))


def is_known(name: str) -> bool:
    """Whether a name is one that columns have."""
    known = (_PERSONS, _TEXTS, _AGES, _MONTHS, _HOURS, _PERCENTS, _GERMAN, _ORDINARY, _UNITS, _ANSWERS)
    return any(word in words for word in words_of(name) for words in known)


def is_german(name: str) -> bool:
    """Whether a name is German, so that what is made of its column is called so too."""
    return not _GERMAN.isdisjoint(words_of(name))


def public_range(name: str) -> PublicRange | None:
    """What the numbers of a column can be by its name.

    >>> public_range("Alter bei Aufnahme").high, public_range("birth_month").low, public_range("size")
    (110, 1, None)
    """
    words = words_of(name)
    for known, found in (
        (_AGES, PublicRange(0, 110, "years", False)),
        (_MONTHS, PublicRange(1, 12, "", True)),
        (_HOURS, PublicRange(0, 23, "", True)),
        (_PERCENTS, PublicRange(0, 100, "%", False)),
    ):
        if not known.isdisjoint(words):
            return found
    return PublicRange(0, 100, "%", False) if "%" in name else None


def unit_of(name: str) -> tuple[str, str]:
    """A name without the unit at its end, and the unit; empty where it has none.

    >>> unit_of("Wartezeit min"), unit_of("weight (kg)"), unit_of("min")
    (('Wartezeit', 'min'), ('weight', 'kg'), ('min', ''))
    """
    found = re.fullmatch(r"(.+?)[ _]+[(\[]?([A-Za-z]{1,7})[)\]]?", name)
    if found is None or found[2].lower() not in _UNITS:
        return name, ""
    return found[1].strip(), found[2]


def in_english(name: str) -> str:
    """What a question about a column is called."""
    return _ANSWERS.get(plain_text(name), name.lower())
