from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.words import FORMS, LONGEST, STOP, distinct, fold, places, stem, telling, words
from foldmark.words.irregular import _TABLE, BASES


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("walking", "walked"), ("running", "run"), ("failures", "failure"), ("connection", "connected"),
        ("studies", "studying"), ("boxes", "box"), ("classes", "class"), ("stopped", "stop"),
        ("charges", "charged"),
        ("configure", "configuration"), ("tried", "try"), ("quickly", "quick"), ("payments", "payment"),
        *(("save", form) for form in ("saves", "saved", "saving")),
        *(("use", form) for form in ("uses", "used", "using")),
        *(("answer", form) for form in ("answers", "answered", "answering")),
        *(("explore", form) for form in ("explored", "exploring", "explorer", "explorers", "exploration")),
        *(("volunteer", form) for form in ("volunteers", "volunteered", "volunteering")),
        *(("validate", form) for form in ("validates", "validated", "validating", "validation", "validator")),
        *(("create", form) for form in ("created", "creating", "creation", "creator")),
        *(("document", form) for form in ("documents", "documented", "documentation")),
        *(("endorse", form) for form in ("endorsed", "endorsement", "endorsements")),
        *(("edit", form) for form in ("editor", "editors", "edited")),
        *(("format", form) for form in ("formats", "formatted", "formatting")),
        ("sizes", "size"), ("hoping", "hope"), ("hopping", "hop"), ("repeated", "repeat"), ("happily", "happy"),
    ],
)  # fmt: skip
def test_forms_of_one_english_word_meet(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("status", "state"), ("bus", "bu"), ("analysis", "analy"), ("sing", "s"), ("red", "r"),
     ("string", "str"),
     ("version", "vers"), ("port", "portal"), ("user", "use"), ("need", "ne"), ("note", "not"), ("hoping", "hopping"),
     ("restored", "rest"), ("code", "cod"), ("found", "foundation"), ("sing", "single")],
)  # fmt: skip
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize(("form", "base"), [(form, base) for form, base in BASES.items()])
def test_forms_that_no_rule_joins_meet_their_word_and_those_that_rules_join(form: str, base: str) -> None:
    assert stem(form) == stem(base)
    assert stem(form) == stem(base + "s") or base[-1] in "fhsxyo"
    assert form in FORMS[stem(base)]


def test_no_form_stands_for_two_words_and_none_is_a_word_of_the_table() -> None:
    assert sum(map(len, FORMS.values())) == len(BASES) == len(re.findall(r"(?<!\w)\w+(?!\w*:)", _TABLE))
    assert not BASES.keys() & set(BASES.values())


def test_names_give_their_whole_and_their_parts() -> None:
    assert words("getHTTPResponse") == ["gethttprespons", "get", "http", "respons"]
    assert words("max_retry_count") == ["maxretrycount", "max", "retri", "count"]
    assert words("src/billing/charge.py") == ["src", "bill", "charg", "py", "src_billing_charge_py"]
    assert words("v1.2.3")[-1] == words("1.2.3")[-1] == "1_2_3"


WHOLES = [
    ("maxRetryCount", "max_retry_count"), ("max-retry-count", "max_retry_count"), ("maxretrycount", "max-retry-count"),
    ("MAX_RETRY_COUNT", "maxRetryCount"), ("HTTPServer2", "http_server2"), ("_private", "private"),
    ("__init__", "init"), ("e-mail", "email"), ("utf-8", "utf8"), ("pkg.module.name", "pkg/module/name"),
    ("src\\app\\Main.java", "src/app/main.java"), ("C:\\src\\Main.java:12", "C:/src/Main.java"),
    ("lib/charge.py:88", "lib/charge.py"), ("lib/charge.py:88:4", "lib/charge.py:90"),
    ("https://api.example.com/v1/users", "api.example.com/v1/users"), ("10.0.0.1:8080", "10.0.0.1"),
    ("v1.2.3", "1.2.3"), ("0x1F4", "1f4"), ("0xBEEF", "beef"), ("Jane.Doe@Example.com", "jane.doe@example.com"),
    ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "9f86d08"), ("9f86d081884c7d659a2f", "9f86d0818"),
    ("ｍａｘＲｅｔｒｙ", "max_retry"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [*WHOLES, *(pair[::-1] for pair in WHOLES)])
def test_one_name_in_two_spellings_meets_as_a_whole(one: str, other: str) -> None:
    shared = distinct(f"see {one} there") & set(words(other))
    assert shared & {max(words(other), key=len), *(token for token in words(other) if len(token) == 7)}


PARTS = [
    ("HTTPServer2", "server"), ("HTTPServer2", "http"), ("getURLFor", "url"), ("PDFs", "pdf"),
    ("snake_case_name", "case"),
    ("kebab-case-name", "kebab"), ("/etc/nginx/conf.d/site.conf", "nginx"), ("D:\\data\\orders.csv", "orders.csv"),
    ("jane.doe@example.com", "example.com"), ("https://docs.example.org/guide?page=3", "guide"),
    ("billing::ChargeStore", "charge store"), ("order->total_price", "total price"), ("v10.4.0-rc1", "10.4.0"),
    ("файл_config.yaml", "config.yaml"), ("서버config.yaml를", "config.yaml"), ("APIサーバー", "api"), ("הAPI", "api"),
    ("المنفذ8080", "8080"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "query"), PARTS)
def test_a_name_is_found_by_any_of_its_parts(name: str, query: str) -> None:
    index = distinct(f"see {name} there")
    assert {token for token in words(query) if "_" not in token} <= index


@pytest.mark.parametrize(
    ("one", "other"),
    [("run_1_2", "run_12"), ("1-2", "12"), ("2024-05-07", "2024-0507"), ("1.2.3", "1.23"), ("14:30", "14:31")],
)
def test_numbers_in_names_are_not_run_together(one: str, other: str) -> None:
    assert words(one)[0 if "_" in one else -1] not in distinct(other)


def test_hexadecimal_is_whole_and_words_that_look_like_it_are_not() -> None:
    assert words("e29b4f") == ["e29b4f"]
    assert words("deadbeef") == ["deadbeef"]
    assert words("add2") == ["add2", "add", "2"]
    assert words("12345678") == ["12345678"]
    assert words("cafe") == words("café")


def test_a_part_of_a_name_and_its_whole_are_both_found_by_the_query_that_spells_it() -> None:
    index = distinct("error in src/billing/ChargeStore.py:88")
    for query in ("ChargeStore", "charge store", "billing/ChargeStore.py", "chargestore"):
        assert index & set(words(query))
    assert set(words("src/billing/ChargeStore.py:88")) <= index


def test_case_accents_and_width_are_folded() -> None:
    assert words("École ECOLE ecole") == ["ecol"] * 3
    assert words("ＡＢＣ１２") == words("abc12")
    assert words("İstanbul") == ["istanbul"]
    assert fold("Straße") == "strasse"


def test_han_and_kana_are_cut_into_pairs_and_han_characters() -> None:
    assert words("大阪市") == ["大阪", "阪市", "大", "阪", "市"]
    assert words("本屋は300人") == ["本屋", "屋は", "本", "屋", "300", "人"]
    assert set(words("京都")) <= set(words("東京都に行く"))
    assert words("佐々木") == ["佐々", "々木", "佐", "々", "木"]


def test_chinese_is_made_simple_in_pairs_and_alone_only_where_it_is_sure() -> None:
    assert words("資料庫") == words("资料库") == ["资料", "料库", "资", "料", "库"]
    assert words("後天") == ["后天", "後", "天"]
    assert words("図書") == words("圖書") == words("图书")
    assert words("機") == ["機"]
    assert words("機器") == ["机器", "機", "器"]


@pytest.mark.parametrize(
    ("forms", "other"),
    [
        ("сервер сервера серверов серверами сервере", "севера"), ("делать делает делаем делают", "дело"),
        ("память памяти памятью", "паять"), ("книга книги книг книгами", "князь"),
        ("помилка помилки", "помста"), ("сървър сървърът сървъра", "сърна"),
        ("σύστημα συστήματα συστημάτων συστήματος", "σύνταγμα"), ("αρχείο αρχεία αρχείων", "αρχή"),
        ("πόλη πόλεις πόλεων", "πόδι"), ("γράφω γράφει γράφουν γράφουμε", "γραφείο"),
        ("लड़का लड़के लड़कों", "लड़ाई"), ("लड़की लड़कियों लड़कियाँ", "लड़का"), ("किताब किताबें किताबों", "कितना"),
        ("سيارة سيارات السيارات بسيارته", "سياسة"), ("خانه خانه‌ها خانه‌های", "خانم"), ("مسؤول مسئول المسؤول", "مسلسل"),
        ("Rechnung Rechnungen", "Rechner"), ("Freiheit Freiheiten", "Freizeit"), ("canción canciones", "cansado"),
        ("journal journaux", "journée"), ("configuração configurações", "configurado"),
    ],
)  # fmt: skip
def test_forms_of_one_word_in_other_languages_meet_and_its_neighbour_stays_apart(forms: str, other: str) -> None:
    first, *rest = forms.split()
    for form in rest:
        assert distinct(first) & distinct(form), form
    assert not distinct(first) & distinct(other)


@pytest.mark.parametrize("word", ["faux", "plateaux", "taken", "given", "shoes", "heroes", "seaten", "lesion"])
def test_english_words_are_taken_for_no_plural_of_its_neighbours(word: str) -> None:
    assert stem(word)[:4] == word[:4]
    assert not stem(word).endswith(("eal", "ao"))


# What a person types, and what it must find; then what it must not.
FINDS = [
    ("猫", "我的猫叫芝麻"), ("数据库", "线上的数据库监听"), ("サーバ", "サーバーが落ちた"), ("ｻｰﾊﾞｰ", "サーバー"),
    ("りんご", "リンゴを買う"), ("が", "か\u3099"), ("２０２４", "2024"),
    ("서버가", "서버를 다시 켰다"), ("서버", "서버에서는"), ("값", "값은"), ("값을", "값으로"),
    ("데이터베이스", "데이터베이스의"),
    ("데이터 베이스", "데이터베이스"), ("API", "API를"), ("김치", "김치찌개"), ("서버", "\u1109\u1165\u1107\u1165"),
    ("น้ำ", "ดื่มน้ำทุกวัน"), ("ราคา", "ราคาสินค้า"), ("พอร์ต", "ใช้พอร์ต ๘๐๘๐"), ("8080", "พอร์ต ๘๐๘๐"),
    ("ລາຄາ", "ລາຄາສິນຄ້າ"), ("តម្លៃ", "តម្លៃទំនិញ"), ("စျေး", "စျေးနှုန်း"),
    ("الخادم", "خادم"), ("خادم", "والخادم"), ("خادم", "للخادم"), ("خادم", "بالخادم"), ("خادم", "بخادم"),
    ("خَادِمٌ", "خادم"), ("أحمد", "احمد"), ("إدارة", "اداره"), ("مستشفى", "مستشفي"), ("مـــنفذ", "المنفذ"),
    ("٨٠٨٠", "8080"),
    ("سيارة", "السيارات"), ("قطتي", "القطة"), ("مكتب", "مكتبنا"), ("کتاب", "كتاب"), ("۱۲۳", "123"),
    ("שרת", "השרת"), ("שרתים", "שרת"), ("שָׁלוֹם", "שלום"), ("בשרת", "השרת"),
    ("Größe", "groesse"), ("grosse", "Größe"), ("große", "GROSSE"), ("Größe", "Gro\u0308ße"), ("ueber", "über"),
    ("Muller", "Müller"), ("Mueller", "Müller"), ("København", "Kobenhavn"), ("Koebenhavn", "København"),
    ("Ångström", "angstrom"), ("café", "cafe"), ("cafe\u0301", "café"), ("naive", "naïve"), ("Lodz", "Łódź"),
    ("Dang", "Đặng"), ("istanbul", "İSTANBUL"), ("isik", "ışık"), ("coeur", "cœur"), ("aether", "Æther"),
    ("сервера", "серверами"), ("новый", "новая"), ("ёлка", "елка"), ("база данных", "базе"), ("Київ", "київ"),
    ("διακομιστής", "διακομιστών"), ("λογος", "λόγος"), ("ΛΟΓΟΣ", "λόγος"),
    ("हिन्दी", "हिन्दी में"), ("தமிழ்", "தமிழ் மொழி"), ("১২৩", "123"),
    ("Datenbank", "Daten\u00adbank"), ("config/app.yaml", "ｃｏｎｆｉｇ／ａｐｐ．ｙａｍｌ"), ("ﬁle", "file"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [*FINDS, *(pair[::-1] for pair in FINDS)])
def test_what_a_person_types_meets_other_spellings_and_forms_of_it(one: str, other: str) -> None:
    asked, told = words(one), distinct(other)
    assert asked
    assert told & set(asked)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("가격", "서버"), ("ガス", "カス"), ("мой", "мои"), ("ข้าว", "ขาว"), ("कमल", "कमाल"), ("나", "나무"),
        ("سوق", "بحر"), ("дом", "дым"), ("를", "API를"), ("ประตู", "น้ำ"), ("פתח", "שרת"), ("Größe", "Gräser"),
    ],
)  # fmt: skip
def test_words_of_other_scripts_that_differ_stay_apart(one: str, other: str) -> None:
    assert not distinct(one) & distinct(other)


def test_marks_inside_a_word_do_not_split_it() -> None:
    for word in ("हिन्दी", "שָׁלוֹם", "e\u0301te\u0301", "தமிழ்", "می\u200cشود", "бо\u0301льший"):
        assert len(words(word)) <= 2, word


def test_tokens_hold_nothing_that_a_tokenizer_behind_them_could_split_or_fold() -> None:
    text = "a\"b c'd x*y (e) f^g -h +i NEAR/3 {j} k:l m\x00n o\u00a0p É q\ud800r ½ ﬁ ǅ "
    text += "น้ำ हिन्दी שָׁלוֹם خَادِم e\u0301 \u0301 が か\u3099 ｶﾞ 서버가 😀\ufe0f ﷺ ㎏ ① Ⅷ Ａ＿Ｂ"
    for token in words(text):
        assert re.fullmatch(r"(?:[a-z0-9_]|[^\x00-\x7f])+", token), token
        assert token == token.lower()
        token.encode()
        assert telling([token]) == [token]


def test_a_hash_is_one_token_and_leaves_no_crumbs() -> None:
    sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    assert words(sha) == [sha, sha[:7]]


def test_very_long_names_are_cut_alike_in_index_and_query() -> None:
    blob = "aB3" * 5_000
    assert max(map(len, words(blob))) <= LONGEST
    assert words(blob) == words(blob)


def test_a_query_is_freed_of_common_words_unless_it_has_no_others() -> None:
    assert telling(words("what is the default timeout of the client")) == ["default", "timeout", "client"]
    assert telling(words("what is it")) == ["what", "is", "it"]
    assert telling([]) == []


def test_of_a_huge_query_the_longest_tokens_are_kept() -> None:
    query = [f"w{n:04d}" for n in range(1_000)]
    long = [f"{word}{'x' * 20}" for word in query[::20]]
    chosen = telling([*query, *long])
    assert len(chosen) == 64
    assert set(long) <= set(chosen)


def test_what_no_analyser_makes_is_no_token() -> None:
    assert telling(["ok", 'a"b', "UPPER", "two words", "", "nul\x00", "\ud800", "x" * 200]) == ["ok"]


def test_common_words_are_stemmed_as_a_query_is() -> None:
    assert set(words("where these does")) <= STOP


@pytest.mark.parametrize(
    ("text", "query", "start"),
    [
        ("the port of the walrus", "walruses", 16), ("see src/billing/charge.py:88", "charge", 4),
        (f"{'话' * 100}数据库{'话' * 100}", "数据库", 100), (f"{'ก' * 80}น้ำตาล{'ก' * 80}", "น้ำตาล", 80),
        ("हिन्दी किताब", "किताब", 7), ("서버를 껐다", "서버", 0), (f"{'x' * 300} walrus", "walrus", 301),
    ],
)  # fmt: skip
def test_a_token_is_found_again_in_its_text_to_a_few_characters(text: str, query: str, start: int) -> None:
    found = places(text, words(query))
    assert {token for _, held in found for token in held} <= set(words(query))
    assert found
    assert all(start - 24 <= place <= start + 8 for place, _ in found)
    assert places(text, ["nothing"]) == []


_SCRIPTS = (
    "aZ09_-./:@ éüÖßøåñçŁđ ήώς йёЇ ابةىأئٱ٣َ שםָ น้ำเที่ ก็ 我的猫々 がパーｶﾞ 서버값를 हिन्दी தமி ①ﬁＡ１ "
    "\u0301\u0308\u3099\u200c\u00ad\ufe0f"
)
texts = st.text(st.one_of(st.sampled_from(_SCRIPTS), st.characters()), max_size=60)


@given(texts)
def test_any_text_gives_tokens_that_a_query_may_look_for(text: str) -> None:
    found = words(text)
    assert set(found) == distinct(text)
    for token in found:
        assert telling([token]) == [token]
        assert len(token) <= LONGEST


@given(st.text(st.sampled_from(_SCRIPTS), max_size=40))
def test_composed_and_decomposed_spellings_of_a_text_give_the_same_tokens(text: str) -> None:
    assert distinct(unicodedata.normalize("NFC", text)) == distinct(unicodedata.normalize("NFD", text))
