"""What days, weekdays, months and stretches of days are called in other languages than English. Knows no calendar.

What is a word of another language as well stands for no day alone: hier is French for yesterday and German for here.
"""

from __future__ import annotations

from foldmark.words.folding import plain

_MONTHS = """
januar februar märz april mai juni juli august september oktober november dezember
jänner feber maart apr mei jun jul augustus sept okt nov dez
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maret april maj juni juli augusti september oktober november december
januari februari maret april mei juni juli agustus september oktober november desember
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου νοεμβρίου δεκεμβρίου
ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม
जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर
"""
NUMBER_OF = {
    spelling: number
    for row in _MONTHS.split("\n")
    for number, name in enumerate(row.split(), 1)
    for spelling in (name, plain(name))
}
MONTH = f"(?P<month>{'|'.join(sorted(NUMBER_OF, key=len, reverse=True))})"
YEAR = r"(?P<year>(?:19|20|25)\d\d)"
"""Thai years count from 543 BC."""
EAST_NUMBERS = {sign: number for number, sign in enumerate("零一二三四五六七八九十")} | {"两": 2, "兩": 2}
EAST = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
COUNTS = {
    word: number
    for number, row in enumerate(
        (
            "ein einem einer einen un une una um uma один одну",
            "zwei deux dos due dois duas два две twee",
            "drei trois tres tre três три drie", "vier quatre cuatro quattro quatro четыре",
            "fünf cinq cinco cinque пять vijf", "sechs six seis sei шесть zes",
            "sieben sept siete sette sete семь zeven", "acht huit ocho otto oito восемь",
            "neun neuf nueve nove девять negen", "zehn dix diez dieci dez десять tien",
        ),
        1,
    )
    for word in row.split()
}  # fmt: skip
COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(COUNTS, key=len, reverse=True))})"
UNITS = {
    "day": "Tag Tage Tagen jour jours día días dia dias giorno giorni dag dagen день дня дней дні днів gün ngày dni"
    " dzień أيام يوم hari ημέρες μέρες",
    "week": "Woche Wochen semaine semaines semana semanas settimana settimane week weken неделю недели недель hafta"
    " tuần tydzień tygodnie tygodni أسبوع أسابيع minggu εβδομάδες",
    "month": "Monat Monate Monaten mois mes meses mese mesi mês maand maanden месяц месяца месяцев ay tháng miesiąc"
    " miesiące miesięcy شهر أشهر bulan μήνες",
    "year": "Jahr Jahre Jahren an ans années año años anno anni ano anos jaar год года лет yıl sene năm rok lata lat"
    " سنة سنوات tahun χρόνια",
}
EAST_UNITS = {
    "day": "天|日|일|วัน",
    "week": "[周週]間?|[个個]?星期|주일?|สัปดาห์|อาทิตย์",
    "month": "[个個か]月|[ヶヵカ]月|개월|달|เดือน",
    "year": "年|년|ปี",
}
ANY_UNIT = "|".join(f"(?P<{unit}>{words.replace(' ', '|')})" for unit, words in UNITS.items())
ANY_EAST_UNIT = "|".join(f"(?P<{unit}>{words})" for unit, words in EAST_UNITS.items())
_WEEKDAYS = """
montag dienstag mittwoch donnerstag freitag samstag sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche
lunes martes miércoles jueves viernes sábado domingo
lunedì martedì mercoledì giovedì venerdì sabato domenica
понедельник вторник среду четверг пятницу субботу воскресенье
понедельник вторник среда четверг пятница суббота воскресенье
poniedziałek wtorek środę czwartek piątek sobotę niedzielę
poniedziałek wtorek środa czwartek piątek sobota niedziela
"""
WEEKDAY_OF = {
    spelling: number
    for row in _WEEKDAYS.split("\n")
    for number, name in enumerate(row.split())
    for spelling in (name, plain(name))
}
WEEKDAY = f"(?P<weekday>{'|'.join(sorted(WEEKDAY_OF, key=len, reverse=True))})"
EAST_WEEKDAYS = ("一月월", "二火화", "三水수", "四木목", "五金금", "六土토", "日天일")

DAYS_BACK = {
    0: r"heute|aujourd['’]hui|hoy|oggi|hoje|vandaag|сегодня|сьогодні|dzisiaj|dziś|σήμερα|bugün|hôm nay",
    1: r"gestern|hier (?:soir|matin|après-midi)|(?<=d')hier|ayer|ieri|ontem|gisteren|вчера|вчора|wczoraj|χθες|χτες|dün"
    r"|hôm qua|kemarin|أمس|امس|البارحة",
    2: r"vorgestern|avant-hier|anteayer|antes de ayer|l['’]altro ieri|anteontem|eergisteren|позавчера|позавчора"
    r"|przedwczoraj|προχθές|hôm kia|(?:أول|اول) (?:من )?(?:أمس|امس)",
}
EAST_DAYS_BACK = {
    0: "今天|今日|오늘|วันนี้",
    1: "昨天|昨晚|昨日|昨夜|きのう|어제|(?:เมื่อ)?วานนี้|เมื่อวาน",
    2: "前天|一昨日|おととい|그저께|그제|เมื่อวานซืน",
}
LAST = {
    "week": r"(?:letzte|vorige|vergangene)[rn]? Woche|la semaine (?:dernière|passée|derniere|passee)|la semana pasada"
    r"|(?:la settimana scorsa|la scorsa settimana)|semana passada|(?:vorige|afgelopen) week|(?:на )?прошлой неделе"
    r"|w zeszłym tygodniu|geçen hafta|tuần trước|الأسبوع الماضي|την περασμένη εβδομάδα",
    "month": r"(?:letzten|vorigen|vergangenen) Monat|le mois (?:dernier|passé)|el mes pasado|il mese scorso|mês passado"
    r"|vorige maand|в прошлом месяце|w zeszłym miesiącu|geçen ay|tháng trước|الشهر الماضي|τον περασμένο μήνα",
    "year": r"(?:letztes|voriges|vergangenes) Jahr|l['’](?:année dernière|an dernier|annee derniere)|el año pasado"
    r"|l['’]anno scorso|ano passado|vorig jaar|в прошлом году|w zeszłym roku|geçen (?:yıl|sene)|năm ngoái|العام الماضي"
    r"|السنة الماضية|πέρυσι",
}
EAST_LAST = {
    "week": "上(?:个|個)?(?:周|週|星期|礼拜|禮拜)(?![一二三四五六日天])|先週(?!の?[月火水木金土日]曜)|지난\\s?주"
    "|สัปดาห์ที่แล้ว|อาทิตย์ที่แล้ว",
    "month": "上(?:个|個)?月|先月|지난\\s?달|เดือนที่แล้ว",
    "year": "去年|昨年|작년|지난\\s?해|ปีที่แล้ว",
}
THIS = {
    "week": "diese Woche|cette semaine|esta semana|questa settimana|deze week|на этой неделе|bu hafta|tuần này",
    "month": "diesen Monat|ce mois-ci|este mes|questo mese|este mês|deze maand|в этом месяце|bu ay|tháng này",
    "year": "dieses Jahr|cette année|este año|quest['’]anno|este ano|dit jaar|в этом году|bu yıl|năm nay",
}
EAST_THIS = {
    "week": "(?:这|這|本)(?:个|個)?(?:周|週|星期)(?![一二三四五六日天])|今週|이번\\s?주",
    "month": "(?:这|這)(?:个|個)?月|本月|今月|이번\\s?달",
    "year": "今年|올해",
}
