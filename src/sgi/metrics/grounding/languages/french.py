"""French."""

from __future__ import annotations

from sgi.metrics.grounding.languages.record import Language, numbered, table, words

LANGUAGE = Language(
    code="fr",
    name="French",
    function_words=words(
        """
        à afin ai aient ailleurs ainsi alors après as au aucun aucune aujourd'hui auprès auquel
        aussi autant autre autres aux avaient avait avant avec avez avoir avons ayant beaucoup c car
        ce ceci cela celle celles celui cependant ces cet cette ceux chacun chacune chaque chez ci
        combien comme comment d dans de déjà depuis dernier dernière derrière des dès desquels
        devant devrait doit doivent donc dont du duquel durant elle elles en encore enfin ensuite
        entre environ es est et étaient était étant été être eu eux fait faire fois font fut furent
        grâce ici il ils j je jusqu jusque l la laquelle le lequel les lesquelles lesquels leur
        leurs lors lorsqu lorsque lui m ma mais malgré me même mêmes mes moi moins mon n ne ni non
        nos notre nous on ont or ou où par parce parmi pas pendant peu peut peuvent plus plusieurs
        pour pourquoi pourtant près puis puisqu puisque qu quand que quel quelle quelles quelqu
        quelque quelques quels qui quoi quoique rien s sa sans se selon sera serait seront ses si
        soit son sont sous souvent suis sur t ta tandis te tel telle telles tels tes toi ton
        toujours tous tout toute toutes très trop tu un une uns vers voici voilà vos votre vous y
        jamais puis toutefois lors
        """
    ),
    elisions=words("l d j m n s t c qu jusqu lorsqu puisqu quoiqu"),
    months=(
        *("janvier janv", "février févr fév", "mars", "avril avr", "mai", "juin"),
        *("juillet juil", "août", "septembre", "octobre oct", "novembre nov", "décembre déc"),
    ),
    weekdays=(
        "lundi lundis",
        "mardi mardis",
        "mercredi",
        "jeudi jeudis",
        "vendredi",
        "samedi samedis",
        "dimanche",
    ),
    weak_months=frozenset({"mars", "avr", "oct", "nov", "déc", "fév"}),
    day_link=r"[ ]",
    day_end=r"er",
    before_year=r"en|depuis|de|l'an|l'année|année|années|vers|avant|après|dès|jusqu'en|entre|et|à|fin|début"
    r"|été|hiver"
    r"|printemps|automne|mi|courant|de mars|début de|au mois de",
    century=r"(?P<nth>[IVX]{1,5}|\d{1,2})(?:e|ème|er)[ ]siècles?",
    decade=r"années[ ](?P<tens>(?:\d\d)?\d0)\b",
    before_christ=r"av(?:\.|ant)[ ]j\.?-c\.?",
    clock=r"(?P<hour>\d{1,2})[ ]?h(?:(?![^\W\d_])[ ]?(?P<minute>[0-5]\d)?)\b",
    numbers=numbered(
        "zéro un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
        range(17),
    )
    | numbered("vingt trente quarante cinquante soixante septante", range(20, 80, 10))
    | {"huitante": 80, "octante": 80, "nonante": 90, "vingts": 20},
    joins=frozenset({"et"}),
    hundred=frozenset({"cent", "cents"}),
    scales={
        "mille": 10**3,
        "million": 10**6,
        "millions": 10**6,
        "milliard": 10**9,
        "milliards": 10**9,
        "billion": 10**12,
        "billions": 10**12,
        "md": 10**9,
        "mds": 10**9,
    },
    compound=False,
    one=words("un une"),
    ordinals=numbered(
        "deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième", range(2, 11)
    ),
    ordinal_end=r"(?:er|re|ère|e|ème)s?\b",
    units=table(
        """
        mm: millimètre millimètres
        cm: centimètre centimètres
        m: mètre mètres
        km: kilomètre kilomètres
        inch: pouce pouces
        mile: mille_marin
        m²: mètre_carré mètres_carrés
        km²: kilomètre_carré kilomètres_carrés
        cubic meter: mètre_cube mètres_cubes
        hectare: hectare hectares
        ml: millilitre millilitres
        l: litre litres
        mg: milligramme milligrammes
        g: gramme grammes
        kg: kilogramme kilogrammes kilo kilos
        tonne: tonne tonnes t
        second: seconde secondes
        minute: minute minutes min
        hour: heure heures
        day: jour jours
        week: semaine semaines
        month: mois
        year: an ans année années
        decade: décennie décennies
        century: siècles
        percent: pour_cent pourcent
        per mille: pour_mille
        degree: degré degrés
        °C: degrés_celsius
        W: watt watts
        kW: kilowatt kilowatts
        MW: mégawatt mégawatts
        kWh: kilowattheure kilowattheures kilowatts-heures
        V: volt volts
        euro: euro euros eur
        cents: centime centimes
        dollar: dollar dollars
        gbp: livres_sterling
        yen: yen yens
        """
    ),
    unit_link=r"(?:de[ ]|d['’])?",
    about=r"environ|à peu près|près de|presque|quelque|autour de|approximativement",
    least=r"au moins|plus de|plus d'|au minimum|dépasse|à partir de",
    most=r"au plus|moins de|jusqu'à|au maximum|moins d'",
    more=r"ou plus|et plus|au moins",
    less=r"ou moins|au plus",
    to=r"à|au",
    between=r"entre|de",
    conjunction="et",
    alternative="ou",
    out_of=r"sur",
    nouns_have_capitals=False,
    name_links=words("de du des la le les d l von van der den di da sur"),
    openers=words(
        """
        selon aujourd'hui hier construit construite construits conçu conçue ouvert ouverte fondé
        fondée situé située chaque plusieurs certains certaines autrefois actuellement initialement
        finalement ensuite enfin oui non voici deux trois
        """
    ),
    titles=words(
        """
        m mme mlle dr pr professeur docteur président présidente roi reine empereur pape maire
        ministre général capitaine ingénieur ingénieure architecte directeur directrice prince
        princesse duc monsieur madame
        """
    ),
    not_names=frozenset(),
    additions=r"aussi|également|ainsi que|notamment|entre autres|autres?|frère|sœur|fils|fille|femme|mari"
    r"|père|mère"
    r"|parents",
    contrast=r"mais|cependant|toutefois|pourtant|bien qu\w*",
    source=r"passages?|textes?|contextes?|documents?|sources?|extraits?|articles?",
    denial=r"ne|n|aucune?|rien",
    telling=r"mentionn\w*|précis\w*|indiqu\w*|di(?:t|sent|re)|donn\w*|fourni\w*|contien\w*|décri\w*"
    r"|répon\w*|parl\w*|informations?",
    no_answer=r"\b(?:n'est|ne sont|n'y est|n'a|n'ont)\b[^.!?\n]{0,20}\b(?:pas"
    r"|nulle part)\b[^.!?\n]{0,20}\b(?:mentionn\w*|précis\w*|indiqu\w*)|\baucune (?:information"
    r"|mention|réponse|donnée)\b|\b(?:je|nous) ne (?:sais|savons|peux|pouvons|trouve)\b",
    lead_in=r"\b(?:selon|d'après|dans|sur la base de|à partir de)\s(?:(?:le|la|les|l'|du|des|ce|cet)\s?)?"
    r"(?:passages?|textes?|contextes?|documents?|sources?|extraits?|articles?)(?:\s\d{1,3})?\b,?",
    four_twenties=True,
    subject_verbs=words(
        "est a fut était sont ont fait avait sera compte abrite possède reste devient naquit mourut fonda "
        "dessina"
    ),
)
