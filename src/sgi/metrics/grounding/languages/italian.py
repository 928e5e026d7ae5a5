"""Italian."""

from __future__ import annotations

from sgi.metrics.grounding.languages.record import Language, numbered, table, words

_TENS = ["trenta", "quaranta", "cinquanta", "sessanta", "settanta", "ottanta", "novanta"]
_SHORT_TENS = {f"{word[:-1]}": 10 * number for number, word in enumerate(_TENS, 3)}

LANGUAGE = Language(
    code="it",
    name="Italian",
    function_words=words(
        """
        a abbia abbiamo ad adesso affinché agli ai al all alla alle allo allora allora altra altre
        altri altro anche ancora anzi appena attraverso avere aveva avevano bensì c che chi ci
        ciascun ciascuna ciascuno ciò cioè circa coi col come con contro cosa così cui d da dagli
        dai dal dall dalla dalle dallo davanti de degli dei del dell della delle dello dentro deve
        devono di dietro dopo dove dunque durante e è ebbe ed entrambi entro era erano essa esse
        essendo essere essi esso fa fare fin fino fino fosse fra fu furono già gli grazie ha hanno
        ho i il in infatti infine inoltre insieme intorno invece io l la le lei li lo loro lui ma
        mai me meno mentre mi mia mie miei mio molta molte molti molto ne né negli nei nel nell
        nella nelle nello nessun nessuna nessuno niente noi non nostra nostro nulla o od ogni oltre
        oppure ora per perché perciò però più poca poche pochi poco poi poiché presso prima proprio
        può possono qua qual quale quali qualche quando quanto quasi quel quell quella quelle quelli
        quello quest questa queste questi questo qui quindi s sarà saranno sarebbe se secondo sei
        sempre senza si sia siano siccome sino solo soltanto sono sopra sotto sta stata state stati
        stato su sua subito sue sugli sui sul sull sulla sulle sullo suo suoi tale tali tanto tra
        tramite troppo tu tuo tutta tutte tutti tutto un una uno v verso vi viene vengono voi volta
        volte vostro è mai nemmeno neanche
        """
    )
    - words("sei"),
    elisions=words("l un d c dell all nell sull dall quell quest s n v m t sant nessun anch com dov cos"),
    months=(
        *("gennaio gen", "febbraio feb", "marzo", "aprile apr", "maggio", "giugno giu"),
        *("luglio lug", "agosto ago", "settembre sett", "ottobre ott", "novembre nov", "dicembre dic"),
    ),
    weekdays=("lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato sabati", "domenica domeniche"),
    weak_months=frozenset({"gen", "apr", "giu", "lug", "ago", "sett", "ott", "nov", "dic", "feb"}),
    day_link=r"[ ](?:del[ ])?",
    day_end=r"[º°]",
    before_year=r"nel|dal|del|al|anno|anni|verso il|prima del|dopo il|fino al|tra il|il|e il|e|in"
    r"|estate del|dalla fine del"
    r"|inverno del|primavera del|autunno del|inizio del|fine del|entro il|di|da|a|dell'anno|nell'anno",
    century=r"(?P<nth>[IVX]{1,5}|\d{1,2}[º°])[ ]secolo",
    decade=r"anni[ ]['’]?(?P<tens>(?:\d\d)?\d0)\b",
    before_christ=r"a\.[ ]?c\.",
    clock=r"(?:alle|ore)[ ](?:ore[ ])?(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?\b",
    numbers=numbered(
        "zero un/uno/una due tre/tré quattro cinque sei sette otto nove dieci undici dodici tredici "
        "quattordici"
        " quindici sedici diciassette diciotto diciannove venti",
        range(21),
    )
    | numbered(" ".join(_TENS), range(30, 100, 10))
    | {"vent": 20, **_SHORT_TENS},
    joins=frozenset(),
    hundred=frozenset({"cento"}),
    scales={
        "mille": 10**3,
        "mila": 10**3,
        "milione": 10**6,
        "milioni": 10**6,
        "mln": 10**6,
        "miliardo": 10**9,
        "miliardi": 10**9,
        "mld": 10**9,
        "bilione": 10**12,
        "bilioni": 10**12,
    },
    compound=True,
    one=words("un uno una"),
    ordinals=numbered(
        "secondo/seconda terzo/terza quarto/quarta quinto/quinta sesto/sesta settimo/settima ottavo/ottava"
        " nono/nona decimo/decima",
        range(2, 11),
    ),
    ordinal_end=r"[ºª°](?!C)",
    units=table(
        """
        mm: millimetro millimetri
        cm: centimetro centimetri
        m: metro metri
        km: chilometro chilometri
        inch: pollice pollici
        mile: miglio miglia
        m²: metro_quadrato metri_quadrati metri_quadri mq
        km²: chilometro_quadrato chilometri_quadrati chilometri_quadri kmq
        cubic meter: metro_cubo metri_cubi
        hectare: ettaro ettari
        ml: millilitro millilitri
        l: litro litri
        mg: milligrammo milligrammi
        g: grammo grammi
        kg: chilogrammo chilogrammi chilo chili
        tonne: tonnellata tonnellate t
        minute: minuto minuti min
        second: secondi
        hour: ora ore
        day: giorno giorni
        week: settimana settimane
        month: mese mesi
        year: anno anni
        decade: decennio decenni
        century: secoli
        percent: per_cento percento
        per mille: per_mille
        degree: grado gradi
        °C: gradi_celsius gradi_centigradi
        W: watt
        kW: kilowatt chilowatt
        MW: megawatt
        kWh: kilowattora chilowattora
        V: volt
        euro: euro eur
        cents: centesimo centesimi
        dollar: dollaro dollari
        gbp: sterlina sterline
        yen: yen
        """
    ),
    unit_link=r"(?:di[ ]|d['’])?",
    about=r"circa|quasi|intorno a|intorno ai|approssimativamente|all'incirca|attorno a",
    least=r"almeno|più di|oltre|minimo|non meno di|supera i",
    most=r"al massimo|meno di|fino a|massimo|non più di",
    more=r"o più|e più",
    less=r"o meno",
    to=r"a|ai|al|fino a",
    between=r"tra|fra|da|dal|tra i|tra il",
    conjunction="e",
    alternative="o",
    out_of=r"su|di|dei",
    nouns_have_capitals=False,
    name_links=words("di del della dei delle dell da dal de la le il von van d l"),
    openers=words(
        """
        secondo oggi ieri costruito costruita progettato progettata aperto aperta fondato fondata
        situato situata attualmente originariamente infine dopo poi sì no due tre
        """
    ),
    titles=words(
        """
        sig signor signora dott dottor dr prof professore professoressa presidente re regina
        imperatore papa sindaco sindaca ministro ministra generale capitano ingegnere architetto
        architetta direttore direttrice principe principessa duca
        """
    ),
    not_names=frozenset(),
    additions=r"anche|inoltre|nonché|tra gli altri|altr[oaie]|fratell[oi]|sorell[ae]|figli[oa]?|moglie"
    r"|marito|padre"
    r"|madre|genitori",
    contrast=r"ma|però|tuttavia|sebbene",
    source=r"passaggi|passaggio|brani|brano|testi|testo|contest[oi]|document[oi]|font[ei]|estratt[oi]"
    r"|articol[oi]",
    denial=r"non|nulla|niente|nessun[ao]?",
    telling=r"menzion\w*|specific\w*|indica\w*|dic(?:e|ono)|dà|danno|fornisc\w*|contien\w*|contengono"
    r"|descriv\w*|rispond\w*|parla\w*|riporta\w*|informazion\w*",
    no_answer=r"\bnon (?:è |sono |viene |vengono |si )?(?:\w+mente )?(?:menziona\w*|specifica\w*"
    r"|indica\w*|riporta\w*)\b|\bnon (?:ci sono|c'è"
    r"|si trovano)\b[^.!?\n]{0,20}\b(?:informazion\w*|dati|rispost\w+)\b|\bnon (?:lo so|posso"
    r"|possiamo|so|sappiamo)\b|\bnessuna (?:informazione|menzione|risposta)\b",
    lead_in=r"\b(?:secondo|in base a[il]?|nel|nei|dal|sulla base del)\s(?:(?:il|lo|la|i|questo|al)\s)?"
    r"(?:passaggi[o]?|brano|brani|testo|testi|contesto|document[oi]|fonte|fonti|estratto"
    r"|articolo)(?:\s\d{1,3})?\b,?",
    subject_verbs=words(
        "è fu era ha sono furono aveva nacque morì progettò fondò costruì conta ospita possiede"
    ),
)
