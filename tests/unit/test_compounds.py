"""Compounds meet the words that they join: in German, Dutch, Swedish and Finnish, asked either way round."""

from __future__ import annotations

import unicodedata
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import user
from foldmark.retrieval.compounds import MOST_COMPOUNDS, begun_with, compounds, slack_of
from foldmark.session import Session

MEET = (
    ("Die Rechnungsnummer ist 4711.", "Nummer der Rechnung"),
    ("Der Zahlungsverzug dauert elf Tage.", "Verzug der Zahlung"),
    ("Die Lieferadresse liegt in Ulm.", "Adresse für die Lieferung"),
    ("Das Kundenkonto wurde gesperrt.", "Konto des Kunden"),
    ("Der Vertragsbeginn ist im Mai.", "Beginn des Vertrags"),
    ("Die Datenbanksicherung läuft nachts.", "Sicherung der Datenbank"),
    ("Das Fehlerprotokoll ist leer.", "Protokoll der Fehler"),
    ("Die Benutzerverwaltung zieht um.", "Verwaltung der Benutzer"),
    ("Der Speicherplatz reicht nicht.", "Platz im Speicher"),
    ("Die Versandkosten trägt Marta.", "Kosten für den Versand"),
    ("Das Ablaufdatum fehlt.", "Datum des Ablaufs"),
    ("Die Serverwartung beginnt um drei.", "Wartung des Servers"),
    ("Die Nummer der Bestellung ist 815.", "Bestellnummer"),
    ("Der Leiter des Projekts heißt Ole.", "Projektleiter"),
    ("Der Plan für den Notfall liegt im Schrank.", "Notfallplan"),
    ("Der Name des Rechners ist Igel.", "Rechnername"),
    ("Die Kosten der Miete steigen.", "Mietkosten"),
    ("Die Leitung für das Wasser tropft.", "Wasserleitung"),
    ("Het factuurnummer is 900.", "nummer van de factuur"),
    ("De betalingstermijn is dertig dagen.", "termijn voor de betaling"),
    ("Het bezorgadres is Utrecht.", "adres om te bezorgen"),
    ("De datum van de levering is zondag.", "leveringsdatum"),
    ("Het wachtwoord van de gebruiker is oud.", "gebruikerswachtwoord"),
    ("De sleutel van de voordeur ligt hier.", "voordeursleutel"),
    ("Fakturanumret är 77.", "numret på fakturan"),
    ("Leveransadressen är Lund.", "adressen för leverans"),
    ("Namnet på servern är Fax.", "servernamnet"),
    ("Laskunumero on 31.", "laskun numero"),
    ("Asiakasnumero puuttuu.", "asiakas numero"),
    ("Die Kündigungsfrist beträgt drei Monate.", "Kündigung Frist"),
    ("Die Kündigungsfrist beträgt drei Monate.", "Kuendigung Frist"),
    ("Die Haushaltsführung prüft Anna.", "Haushalt Führung"),
    ("Der Güterbahnhof liegt im Norden.", "Güter Bahnhof"),
    ("Die Wareneingangsprüfung macht Bernd.", "Wareneingang Prüfung"),
    ("Die Wareneingangsprüfung macht Bernd.", "Prüfung des Wareneingangs"),
    ("Die Wareneingangsprüfung macht Bernd.", "Wareneingang Pruefung"),
    ("Die Wareneingangspruefung macht Bernd.", "Wareneingang Prüfung"),
    ("Das Rechnungsprüfungsamt hat zu.", "Rechnung Prüfungsamt"),
    ("Die Nummer der Prüfung ist 12.", "Prüfungsnummer"),
    ("Die Nummer der Prüfung ist 12.", "Pruefungsnummer"),
    ("Die Übersicht der Aufträge fehlt.", "Auftragsübersicht"),
    ("Försäljningssiffrorna kommer i maj.", "försäljning siffror"),
    ("Priset för försäkring är 90.", "försäkringspris"),
    ("Lähetysnumero on 31.", "lähetys numero"),
    ("Sähköpostiosoite puuttuu.", "sähköposti osoite"),
)
BESIDE = ("Das Wetter bleibt freundlich.", "De kat slaapt op de bank.", "Katten sover i solen.", "Kissa nukkuu.")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(("said", "asked"), MEET)
def test_a_compound_meets_its_words(said: str, asked: str, form: str) -> None:
    session = Session("s", clock=lambda: 1.0)
    events = map(user, (*BESIDE, unicodedata.normalize(form, said), *(f"{one} Genau." for one in BESIDE)))  # type: ignore[arg-type]
    session.record(*events)
    hits = session.search(asked)
    assert hits[:1]
    assert hits[0].ref == f"event:{len(BESIDE) + 1}"


def test_among_all_of_them_most_are_found_first() -> None:
    session = Session("s", clock=lambda: 1.0)
    session.record(*(user(said) for said, _ in MEET))
    found = [session.search(asked)[:1] for _, asked in MEET]
    first = [bool(hits) and hits[0].ref == f"event:{at}" for at, hits in enumerate(found, 1)]
    assert sum(first) >= 20


def test_a_hit_says_the_compound_that_stands_there() -> None:
    session = Session("s", clock=lambda: 1.0)
    session.record(user("Die Rechnungsnummer ist 4711."))
    assert session.search("Nummer der Rechnung")[0].why == "words: rechnungsnummer"


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Die Wareneingangsprüfung macht Bernd.", "Wareneingang"), ("Die Kündigungsfrist ist kurz.", "Kündigung"),
        ("Die Kündigungsfrist ist kurz.", "Kuendigung"), ("Het betalingsbewijs ontbreekt.", "betaling"),
        ("Försäljningssiffrorna kommer i maj.", "försäljning"), ("Sähköpostiosoite puuttuu.", "sähköposti"),
        ("Die Kündigungsfrist ist kurz.", "Kündigung Protokoll"),
    ],
)  # fmt: skip
def test_a_part_alone_finds_its_compounds_where_nothing_else_is_found(said: str, asked: str) -> None:
    session = Session("s", clock=lambda: 1.0)
    session.record(*map(user, BESIDE), user(said))
    assert [hit.ref for hit in session.search(asked)[:1]] == [f"event:{len(BESIDE) + 1}"]


def test_a_part_is_no_compound_where_another_word_is_found() -> None:
    session = Session("s", clock=lambda: 1.0)
    session.record(user("Das Wetter bleibt freundlich."), user("Die Kündigungsfrist ist kurz."))
    assert [hit.why for hit in session.search("Kündigung bei Wetter")] == ["words: Wetter"]


@pytest.mark.parametrize(
    ("missing", "known"),
    [
        ("import", ["important", "imports"]),  # what goes on is no word
        ("organ", ["organisation"]),
        ("frist", ["kündigungsfrist", "fristverlängerung"]),
    ],
)
def test_words_that_begin_alike_are_no_compounds(missing: str, known: list[str]) -> None:
    assert begun_with([missing], known) == []


def test_of_many_that_begin_so_those_that_go_on_least_are_meant() -> None:
    known = [f"kontrolle{'x' * more}" for more in range(12, 3, -1)]
    assert begun_with(["kontrolle"], known) == [f"kontrolle{'x' * more}" for more in (4, 5, 6, 7)]


@pytest.mark.parametrize(
    ("asked", "missing", "known"),
    [
        (["rechnungsnummer"], ["rechnungsnummer"], ["rechnung", "telefon"]),  # a part alone
        (["rechnungsnummer"], ["rechnungsnummer"], ["nummer", "telefon"]),
        (["nummer", "rechnung"], ["nummer"], ["rechnungsdatum", "hausnummer"]),
        (["nummer", "rechnung"], [], ["rechnungsnummer"]),  # both stand there themselves
        (["nummer"], ["nummer"], ["nummernummer"]),
        (["restaurant"], ["restaurant"], ["rest", "rant"]),
        (["international"], ["international"], ["inter", "rational"]),
        (["performance"], ["performance"], ["perform", "former"]),
        (["hausbau"], ["hausbau"], ["haus", "baum"]),  # too short to tell
    ],
)
def test_what_only_looks_like_a_compound_is_none(asked: list[str], missing: list[str], known: list[str]) -> None:
    assert compounds(asked, missing, known) == []


PART = st.text("abcdefg", min_size=5, max_size=10)


@given(PART, PART, st.sampled_from(("", "s", "n", "en", "es")))
def test_two_words_and_a_link_are_a_compound(first: str, second: str, link: str) -> None:
    assert slack_of(first + link + second, first, second) <= len(link)


@given(st.lists(PART, max_size=6), st.lists(PART, max_size=6), st.lists(PART, max_size=30))
def test_only_known_words_are_meant_and_few_of_them(asked: list[str], missing: list[str], known: list[str]) -> None:
    joins = [one + two for one in asked for two in missing]
    found = compounds([*asked, *missing], missing, [*known, *joins])
    assert set(found) <= {*known, *joins}
    assert len(found) <= MOST_COMPOUNDS + 2 * len(missing)


@given(st.text(max_size=30), st.text(max_size=12), st.text(max_size=12))
def test_any_words_can_be_compared(whole: str, first: str, second: str) -> None:
    assert slack_of(whole, first, second) in (inf, *range(9))
    compounds([first, second, whole], [first, whole], [whole, first, second])


@pytest.mark.parametrize(("fillers", "found"), [(50, ["rechnungsnummer"]), (5_000, [])])
def test_of_a_text_full_of_likely_words_not_all_are_tried(fillers: int, found: list[str]) -> None:
    known = [*(f"rechnung{number}nummern" for number in range(fillers)), "rechnungsnummer"]
    assert compounds(["rechnung", "nummer"], ["nummer"], known) == found
