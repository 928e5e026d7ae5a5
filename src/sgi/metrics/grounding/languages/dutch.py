"""Dutch."""

from __future__ import annotations

from sgi.metrics.grounding.languages.record import Language, numbered, table, words

LANGUAGE = Language(
    code="nl",
    name="Dutch",
    function_words=words(
        """
        aan achter af al alle alleen alles als altijd ander andere anderen ben bent beide bij bijna
        binnen bovendien boven buiten daar daarbij daardoor daarin daarmee daarna daarom daarop
        daarvan daarvoor dan dat de deze der die dit doch door dus echter een eens eerst eigen elk
        elke en enige enkele er ervan ervoor etc even gaan gaat ge geen geweest geworden haar had
        hadden heb hebben heeft hem hen het hier hij hoe hun iemand iets ieder iedere ik in indien
        is ja je jij jou jouw juist kan kon konden kunnen laat laten maar maakt maken me mee meer
        men met mij mijn moest moet moeten mogen mag na naar naast nadat nee niet niets niemand nog
        nooit nu of om omdat onder ondanks ons onze ook op over per reeds sinds slechts sommige soms
        te tegen ten ter terug terwijl tijdens toch toen tot totdat tussen u uit uw vaak van vanaf
        vanuit veel vele verder volgens voor voordat vooral waar waarbij waardoor waarin waarop
        waarvan wanneer want waren was wat we weer wegens wel welk welke werd werden wie wij wil
        word worden wordt zal ze zeer zei zelf zelfs zich zij zijn zo zoals zodat zonder zou zouden
        zowel zullen noch s t ongeveer circa
        """
    ),
    elisions=frozenset(),
    months=(
        *("januari jan", "februari feb", "maart mrt", "april apr", "mei", "juni jun"),
        *("juli jul", "augustus aug", "september sep sept", "oktober okt", "november nov", "december dec"),
    ),
    weekdays=(
        *("maandag maandags", "dinsdag dinsdags", "woensdag woensdags", "donderdag donderdags"),
        *("vrijdag vrijdags", "zaterdag zaterdags", "zondag zondags"),
    ),
    weak_months=frozenset(
        {"jan", "mrt", "apr", "jun", "jul", "aug", "sep", "sept", "okt", "nov", "dec", "feb"}
    ),
    day_link=r"[ ]",
    day_end=r"\.|e",
    before_year=r"in|jaar|jaren|sinds|van|tot|vanaf|rond|na|voor|begin|eind|einde|medio|en|tussen|tegen"
    r"|zomer van|winter van"
    r"|voorjaar van|najaar van",
    century=r"(?P<nth>\d{1,2})(?:e|de|ste)[ ]eeuw",
    decade=r"jaren[ ]['’]?(?P<tens>(?:\d\d)?\d0)\b",
    before_christ=r"v(?:\.|óór|oor)[ ]?chr(?:\.|istus)",
    clock=r"(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?[ ]uur\b",
    numbers=numbered(
        "nul een/één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien"
        " zestien zeventien achttien negentien",
        range(20),
    )
    | numbered("twintig dertig veertig vijftig zestig zeventig tachtig negentig", range(20, 100, 10)),
    joins=frozenset({"en", "ën"}),
    hundred=frozenset({"honderd"}),
    scales={
        "duizend": 10**3,
        "miljoen": 10**6,
        "mln": 10**6,
        "miljard": 10**9,
        "mld": 10**9,
        "biljoen": 10**12,
    },
    compound=True,
    one=words("een één"),
    ordinals=numbered("tweede derde vierde vijfde zesde zevende achtste negende tiende", range(2, 11)),
    ordinal_end=r"(?:e|de|ste)\b",
    units=table(
        """
        mm: millimeter
        cm: centimeter
        m: meter meters
        km: kilometer kilometers
        inch: inch
        mile: mijl mijlen
        m²: vierkante_meter
        km²: vierkante_kilometer
        cubic meter: kubieke_meter
        hectare: hectare hectaren
        ml: milliliter
        l: liter liters
        mg: milligram
        g: gram
        kg: kilogram kilo
        tonne: ton tonnen t
        minute: minuut minuten min
        second: seconde seconden
        hour: uur uren
        day: dag dagen
        week: week weken
        month: maand maanden
        year: jaar jaren jarige
        decade: decennium decennia
        century: eeuwen
        percent: procent
        per mille: promille
        degree: graad graden
        °C: graden_celsius
        W: watt
        kW: kilowatt
        MW: megawatt
        kWh: kilowattuur
        V: volt
        euro: euro euro's eur
        cents: cent
        dollar: dollar dollars
        gbp: pond
        yen: yen
        """
    ),
    unit_link=r"(?:aan[ ])?",
    about=r"ongeveer|circa|ca\.|rond|bijna|zo'n|een kleine|naar schatting",
    least=r"minstens|meer dan|ten minste|minimaal|ruim|boven de|vanaf",
    most=r"hoogstens|minder dan|tot|maximaal|ten hoogste|onder de",
    more=r"of meer|en meer",
    less=r"of minder",
    to=r"tot(?: en met)?|à",
    between=r"tussen|van",
    conjunction="en",
    alternative="of",
    out_of=r"van de|op de|op",
    nouns_have_capitals=False,
    name_links=words("van de der den het ter ten te von la le"),
    openers=words(
        """
        volgens vandaag gisteren oorspronkelijk tegenwoordig uiteindelijk later daarna ja nee twee
        drie gebouwd ontworpen geopend
        """
    ),
    titles=words(
        """
        dhr mevr mevrouw meneer dr prof professor president koning koningin keizer paus burgemeester
        minister generaal kapitein ingenieur architect architecte directeur directrice prins prinses
        hertog
        """
    ),
    not_names=frozenset(),
    additions=r"ook|bovendien|evenals|onder andere|andere?|broers?|zus|zoon|dochter|vrouw|man|vader|moeder"
    r"|ouders",
    contrast=r"maar|echter|hoewel|toch",
    source=r"passages?|teksten|tekst|context|documenten|document|bronnen|bron|fragmenten|fragment"
    r"|artikel\w*",
    denial=r"niet|niets|geen|nergens",
    telling=r"vermeld\w*|vermelden|noem\w*|genoemd|staat|staan|zeg\w*|gegeven|geeft|geven|bevat\w*"
    r"|beschr\w*|beantwoord\w*|informatie",
    no_answer=r"\b(?:niet|nergens)\b[^.!?\n]{0,40}\b(?:vermeld|genoemd|beantwoord\w*)\b"
    r"|\bgeen (?:informatie|gegevens|antwoord|vermelding)\b|\b(?:ik|we|wij) (?:weet|weten|kan"
    r"|kunnen)\b[^.!?\n]{0,60}\bniet\b",
    lead_in=r"\b(?:volgens|in|uit|op basis van)\s(?:(?:de|het|deze|dit)\s)?"
    r"(?:passages?|teksten|tekst|context|documenten|document|bronnen|bron|fragment"
    r"|artikel)(?:\s\d{1,3})?\b,?",
    subject_verbs=words(
        "is was heeft had werd wordt zijn waren ontwierp stichtte bouwde telt stierf overleed ligt staat"
    ),
)
