"""German."""

from __future__ import annotations

from sgi.metrics.grounding.languages.record import Language, numbered, table, words

LANGUAGE = Language(
    code="de",
    name="German",
    function_words=words(
        """
        ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes
        auch auf aus außer außerdem bei beide beiden beim bereits bevor bin bis bisher bist bloß da
        dabei dadurch dafür dagegen daher dahin damals damit danach dann daran darauf darin darüber
        darum das dass daß dasselbe davon davor dazu dein deine dem demselben den denen denn dennoch
        der deren derselbe des deshalb dessen desto dich die dies diese dieselbe diesem diesen
        dieser dieses dir doch dort du durch dürfen ebenfalls ebenso ein eine einem einen einer
        eines einige einigem einigen einiger einiges einmal er es etwa etwas euch euer eure für
        gegen gegenüber gemäß gewesen hab habe haben hat hatte hatten hier hierbei hin hinter ich
        ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in indem ins ist ja je jede jedem
        jeden jeder jedes jedoch jene jenem jenen jener jenes jetzt kann kein keine keinem keinen
        keiner keines können könnte könnten laut machen macht man manche manchem manchen mancher
        mehr mein meine meinem mich mit muss müssen musste mussten nach nachdem neben nicht nichts
        noch nun nur ob obwohl oder ohne pro sehr sei seien sein seine seinem seinen seiner seines
        seit selbst sich sie sind so sobald sogar solche solchem solchen solcher soll sollen sollte
        sollten somit sondern sonst sowie sowohl statt trotz über überhaupt um und uns unser unsere
        unter viel viele vielen vom von vor während wann war ware waren wäre wären warum was wegen
        weil weiter weitere welche welchem welchen welcher welches wenn wer werde werden wie wieder
        will wir wird wo wobei wodurch wohl wollen wollte worden wurde wurden würde würden zu zum
        zur zwar zwischen gab gibt geben ging lang rund insgesamt heute später zuerst zunächst
        schließlich dabei zudem nie niemals weder
        """
    ),
    elisions=frozenset(),
    months=(
        *("januar jan jänner", "februar feb feber", "märz mär mrz", "april apr", "mai", "juni jun"),
        *("juli jul", "august aug", "september sep sept", "oktober okt", "november nov", "dezember dez"),
    ),
    weekdays=(
        *("montag montags", "dienstag dienstags", "mittwoch mittwochs", "donnerstag donnerstags"),
        *("freitag freitags", "samstag samstags sonnabend", "sonntag sonntags"),
    ),
    weak_months=frozenset({"jan", "mär", "apr", "jun", "jul", "aug", "sep", "okt", "nov", "dez", "august"}),
    day_link=r"[ ]",
    day_end=r"\.",
    before_year=r"in|im|jahr|jahre|jahres|jahren|seit|von|bis|ab|um|nach|vor|anfang|ende|mitte|und|zwischen"
    r"|gegen"
    r"|sommer|winter|herbst|frühling|frühjahr|saison|spätestens",
    century=r"(?P<nth>\d{1,2})\.[ ](?:jahrhunderts?|jh\.?|jhd\.?)",
    decade=r"(?P<tens>\d{3}0)er(?:[- ]?jahren?)?\b",
    before_christ=r"v\.[ ]?chr\.",
    clock=r"(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?[ ]uhr\b",
    numbers=numbered(
        "null ein/eins/eine/einen/einem/einer zwei/zwo drei vier fünf sechs sieben acht neun zehn elf zwölf"
        " dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
        range(20),
    )
    | numbered(
        "zwanzig dreißig/dreissig vierzig fünfzig sechzig siebzig achtzig neunzig", range(20, 100, 10)
    ),
    joins=frozenset({"und"}),
    hundred=frozenset({"hundert"}),
    scales={
        "tausend": 10**3,
        "tsd": 10**3,
        "million": 10**6,
        "millionen": 10**6,
        "mio": 10**6,
        "milliarde": 10**9,
        "milliarden": 10**9,
        "mrd": 10**9,
        "billion": 10**12,
        "billionen": 10**12,
    },
    compound=True,
    one=words("ein eins eine einen einem einer"),
    ordinals={
        f"{word}{ending}": number
        for word, number in numbered(
            "zweit dritt viert fünft sechst siebt/siebent acht neunt zehnt elft zwölft dreizehnt",
            range(2, 14),
        ).items()
        for ending in ("e", "en", "er", "es", "em")
    },
    ordinal_end=r"\.(?=[ ][^\W\d_])",
    units=table(
        """
        mm: millimeter millimetern
        cm: zentimeter zentimetern
        m: meter metern
        km: kilometer kilometern
        inch: zoll
        mile: meile meilen
        m²: quadratmeter quadratmetern qm
        km²: quadratkilometer quadratkilometern qkm
        cubic meter: kubikmeter kubikmetern
        hectare: hektar
        ml: milliliter
        l: liter litern
        mg: milligramm
        g: gramm
        kg: kilogramm kilo
        tonne: tonne tonnen t
        second: sekunde sekunden sek
        minute: minute minuten min
        hour: stunde stunden std
        day: tag tage tagen
        week: woche wochen
        month: monat monate monaten
        year: jahr jahre jahren jährige jähriger jährigen jähriges jährig
        decade: jahrzehnt jahrzehnte jahrzehnten
        century: jahrhunderte jahrhunderten
        km/h: stundenkilometer km/h
        percent: prozent prozentpunkte prozentpunkten
        per mille: promille
        degree: grad
        °C: grad_celsius
        °F: grad_fahrenheit
        W: watt
        kW: kilowatt
        MW: megawatt
        kWh: kilowattstunde kilowattstunden
        V: volt
        euro: euro euros eur
        cents: cent
        dollar: dollar us-dollar
        pence: pence
        gbp: pfund
        yen: yen
        """
    ),
    unit_link=r"(?:von[ ])?",
    about=r"etwa|ungefähr|circa|ca\.|rund|knapp|fast|beinahe|annähernd|gut|an die|schätzungsweise|nahezu",
    least=r"mindestens|mehr als|über|wenigstens|ab|nicht weniger als",
    most=r"höchstens|weniger als|unter|bis zu|maximal|nicht mehr als|innerhalb von",
    more=r"oder mehr|und mehr",
    less=r"oder weniger",
    to=r"bis(?: zu)?|auf",
    between=r"zwischen|von",
    conjunction="und",
    alternative="oder",
    out_of=r"von|der|aus",
    nouns_have_capitals=True,
    name_links=words("von van der den de zu zum zur vom am an la le del di da"),
    openers=words(
        """
        laut insgesamt heute gestern damals später ursprünglich zudem ferner allerdings dennoch
        trotzdem schließlich erst zuerst danach seitdem inzwischen mittlerweile vermutlich
        wahrscheinlich neben
        """
    ),
    titles=words(
        """
        herr herrn frau dr prof professor professorin präsident präsidentin könig königin kaiser
        kaiserin papst bürgermeister bürgermeisterin kanzler kanzlerin ingenieur ingenieurin
        architekt architektin direktor direktorin minister ministerin fürst graf gräfin prinz
        prinzessin heilige heiliger bischof general kapitän stadt fluss
        """
    ),
    not_names=words(
        """
        anfang ende mitte millionen million milliarden milliarde prozent euro dollar meter kilometer
        tonnen tonne liter gramm kilogramm hektar jahre jahren jahr uhr stunden minuten tage wochen
        monate grad quadratmeter quadratkilometer kubikmeter dutzend hunderte tausende
        """
    ),
    additions=r"auch|außerdem|sowie|ebenfalls|unter anderem|bruder|schwester|sohn|tochter|frau|mann|vater"
    r"|mutter"
    r"|eltern|weitere[rsn]?",
    contrast=r"aber|jedoch|allerdings|doch|obwohl",
    source=r"passagen?|text\w*|kontext\w*|dokument\w*|quellen?|unterlagen|auszüg\w*|abschnitt\w*",
    denial=r"nicht|nichts|kein\w*|nirgends|weder",
    telling=r"erwähn\w*|genannt|nenn\w*|steht|stehen|sag\w*|angegeben|angaben?|enthält|enthalten"
    r"|beschr\w*|beantwort\w*|informationen?|geht\b.{0,40}\bhervor|hervorgeht",
    no_answer=r"\b(?:nicht|nirgends)\b[^.!?\n]{0,40}\b(?:erwähnt|genannt|angegeben|beantwort\w*)\b"
    r"|\bkeine (?:angaben?|informationen?|auskunft|antwort)\b|\b(?:ich|wir) (?:weiß|wissen|kann"
    r"|können)\b[^.!?\n]{0,60}\b(?:nicht|leider)\b|\bweiß (?:ich|man) nicht\b",
    lead_in=r"\b(?:laut|gemäß|nach|aus|in|im|auf (?:der )?(?:grundlage|basis))\s(?:(?:dem|den|der|des"
    r"|diesem)\s)?"
    r"(?:passagen?|text\w*|kontext\w*|dokument\w*|quellen?|unterlagen|auszug|abschnitt)(?:\s\d{1,3})?\b,?",
    places=words(
        """
        deutschland österreich schweiz frankreich italien spanien portugal belgien niederlande
        holland england großbritannien schottland irland wales europa asien afrika amerika
        australien china japan indien russland ukraine polen tschechien ungarn griechenland türkei
        schweden norwegen dänemark finnland island kanada mexiko brasilien argentinien chile peru
        kolumbien ägypten marokko tunesien kenia nigeria südafrika iran irak israel kroatien serbien
        rumänien bulgarien slowenien slowakei luxemburg estland lettland litauen bayern sachsen
        hessen thüringen brandenburg niedersachsen westfalen schleswig holstein württemberg baden
        berlin hamburg münchen köln frankfurt stuttgart düsseldorf leipzig dresden bremen hannover
        nürnberg dortmund essen duisburg bochum bonn münster mannheim karlsruhe augsburg wiesbaden
        kiel lübeck rostock freiburg heidelberg mainz kassel potsdam erfurt weimar jena halle
        magdeburg wien salzburg graz linz innsbruck zürich bern basel genf luzern lausanne paris
        lyon marseille bordeaux nizza straßburg toulouse rom mailand venedig florenz neapel turin
        genua bologna madrid barcelona sevilla valencia lissabon porto london manchester liverpool
        edinburgh dublin brüssel antwerpen amsterdam rotterdam utrecht kopenhagen oslo stockholm
        helsinki warschau krakau danzig prag brünn budapest athen istanbul ankara moskau kiew riga
        tallinn vilnius washington boston chicago toronto montreal tokio peking shanghai kairo
        """
    ),
    place_prepositions=words("in nach aus bei zwischen"),
    bare_nouns=words(
        """
        betrieb höhe zukunft form kraft richtung anspruch ordnung holz bau teilen zeiten grund
        angaben ansicht meinung plänen abschluss beginn ende fertigstellung protesten art hause haus
        stahl stein glas beton granit gold silber papier angst gründen sicht mangel nacht tag tagen
        bedarf regen wind sturm schnee gefahr dienst auftrag arbeit wasser luft betracht frage szene
        serie farbe bezug folge führung besitz bewegung gang kauf not sand marmor ziegeln ziegel
        kalkstein bronze eisen kupfer leder stoff kunststoff metall millionen milliarden schritten
        gruppen klassen berichten schätzungen norden süden osten westen öl tempera ton
        """
    ),
)
