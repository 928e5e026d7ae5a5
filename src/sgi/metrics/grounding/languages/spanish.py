"""Spanish."""

from __future__ import annotations

from sgi.metrics.grounding.languages.record import Language, numbered, table, words

LANGUAGE = Language(
    code="es",
    name="Spanish",
    function_words=words(
        """
        a acerca además ahora al algo alguna algunas alguno algunos algún allí ambas ambos ante
        antes aquel aquella aquellas aquello aquellos aquí así aun aún aunque bajo bastante bien
        cabe cada casi como cómo con contra cual cuál cuales cualquier cuando cuándo cuanto cuya
        cuyas cuyo cuyos da dan de debe deben del desde después donde dónde dos durante e el él ella
        ellas ello ellos en entonces entre era eran es esa esas ese eso esos esta está estaba
        estaban estado están estar estas este esto estos fue fueron gracias ha había habían han
        hasta hace hacen hacer hacia hay haya hizo incluso la las le les lo los luego más me
        mediante menos mi mientras misma mismas mismo mismos mucha muchas mucho muchos muy nada ni
        ningún ninguna ninguno no nos nosotros nuestra nuestro nunca o os otra otras otro otros para
        pero poca pocas poco pocos por porque pues puede pueden puedo que qué quien quién quienes se
        sea según ser será serán si sí sido siempre siendo sin sino sobre solamente solo sólo son su
        sus también tampoco tan tanto te tener tiene tienen toda todas todavía todo todos tras tu
        tus u un una unas uno unos usted ustedes vez veces y ya yo jamás alrededor aproximadamente
        unos respecto finalmente
        """
    )
    - words("dos"),
    elisions=frozenset(),
    months=(
        *("enero ene", "febrero feb", "marzo", "abril abr", "mayo", "junio jun"),
        *(
            "julio jul",
            "agosto ago",
            "septiembre setiembre sept",
            "octubre oct",
            "noviembre nov",
            "diciembre dic",
        ),
    ),
    weekdays=("lunes", "martes", "miércoles", "jueves", "viernes", "sábado sábados", "domingo domingos"),
    weak_months=frozenset({"ene", "abr", "jun", "jul", "ago", "sept", "oct", "nov", "dic", "feb"}),
    day_link=r"[ ](?:del?[ ])?",
    day_end=r"[º°.]|ro",
    before_year=r"en|desde|de|del|año|años|hacia|antes de|después de|hasta|entre|y|a|fines de|finales de"
    r"|principios de|verano de|invierno de|primavera de|otoño de|mediados de",
    century=r"siglos?[ ](?P<nth>[IVX]{1,5}|\d{1,2})\b",
    decade=r"años[ ](?P<tens>(?:\d\d)?\d0)\b",
    before_christ=r"a\.[ ]?(?:de[ ])?c\.",
    clock=r"(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?[ ](?:horas|h)\b",
    numbers=numbered(
        "cero un/uno/una/ún dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
        " dieciséis diecisiete dieciocho diecinueve veinte veintiuno/veintiún/veintiuna veintidós veintitrés"
        " veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve",
        range(30),
    )
    | numbered("treinta cuarenta cincuenta sesenta setenta ochenta noventa", range(30, 100, 10))
    | numbered(
        "ciento/cien doscientos/doscientas trescientos/trescientas cuatrocientos/cuatrocientas"
        " quinientos/quinientas seiscientos/seiscientas setecientos/setecientas ochocientos/ochocientas"
        " novecientos/novecientas",
        range(100, 1000, 100),
    ),
    joins=frozenset({"y"}),
    hundred=frozenset(),
    scales={
        "mil": 10**3,
        "millón": 10**6,
        "millones": 10**6,
        "millardo": 10**9,
        "millardos": 10**9,
        "billón": 10**12,
        "billones": 10**12,
        "mill": 10**6,
    },
    compound=False,
    one=words("un uno una ún"),
    ordinals=numbered(
        "segundo/segunda tercero/tercera/tercer cuarto/cuarta quinto/quinta sexto/sexta séptimo/séptima"
        " octavo/octava noveno/novena décimo/décima",
        range(2, 11),
    ),
    ordinal_end=r"[ºª°](?!C)|\.[ºª]|(?:er|ra|ro|do|da|to|ta|mo|ma|vo|va)\b",
    units=table(
        """
        mm: milímetro milímetros
        cm: centímetro centímetros
        m: metro metros
        km: kilómetro kilómetros quilómetros
        inch: pulgada pulgadas
        mile: milla millas
        m²: metro_cuadrado metros_cuadrados
        km²: kilómetro_cuadrado kilómetros_cuadrados
        cubic meter: metro_cúbico metros_cúbicos
        hectare: hectárea hectáreas
        ml: mililitro mililitros
        l: litro litros
        mg: miligramo miligramos
        g: gramo gramos
        kg: kilogramo kilogramos kilo kilos
        tonne: tonelada toneladas t
        minute: minuto minutos min
        second: segundos
        hour: hora horas
        day: día días
        week: semana semanas
        month: mes meses
        year: año años
        decade: década décadas
        century: siglos
        percent: por_ciento
        per mille: por_mil
        degree: grado grados
        °C: grados_celsius grados_centígrados
        W: vatio vatios
        kW: kilovatio kilovatios
        MW: megavatio megavatios
        kWh: kilovatios-hora kilovatios_hora
        V: voltio voltios
        euro: euro euros eur
        cents: céntimo céntimos centavo centavos
        dollar: dólar dólares
        gbp: libras_esterlinas
        yen: yen yenes
        """
    ),
    unit_link=r"(?:de[ ])?",
    about=r"alrededor de|aproximadamente|unos|unas|cerca de|casi|en torno a|más o menos",
    least=r"al menos|más de|por lo menos|como mínimo|supera los|desde",
    most=r"como máximo|menos de|hasta|a lo sumo|no más de",
    more=r"o más|y más",
    less=r"o menos",
    to=r"a|al|hasta",
    between=r"entre|de",
    conjunction="y",
    alternative="o",
    out_of=r"de(?: cada)?|sobre",
    nouns_have_capitals=False,
    name_links=words("de del la las los el von van di da"),
    openers=words(
        """
        según hoy ayer construido construida diseñado diseñada abierto abierta fundado fundada
        situado situada actualmente originalmente finalmente después luego sí no dos tres
        """
    ),
    titles=words(
        """
        sr sra don doña dr dra profesor profesora presidente presidenta rey reina emperador papa
        alcalde alcaldesa ministro ministra general capitán ingeniero ingeniera arquitecto
        arquitecta director directora príncipe princesa duque señor señora
        """
    ),
    not_names=frozenset(),
    additions=r"también|además|así como|entre otr[oa]s|otr[oa]s?|herman[oa]s?|hij[oa]s?|esposa|marido|mujer"
    r"|padres?"
    r"|madre",
    contrast=r"pero|sin embargo|aunque|no obstante",
    source=r"pasajes?|textos?|contextos?|documentos?|fuentes?|extractos?|artículos?|fragmentos?",
    denial=r"no|nada|ningun[oa]|ningún|tampoco",
    telling=r"menciona\w*|especific\w*|indica\w*|dice\w*|dan|da|proporciona\w*|contien\w*|describ\w*"
    r"|respond\w*|habla\w*|información",
    no_answer=r"\bno (?:se |está |es |son |fue )?(?:\w+mente )?(?:menciona\w*|especifica\w*|indica\w*)\b"
    r"|\bno hay (?:información|datos|respuesta|mención)\b|\bno (?:lo sé|puedo|podemos|sabemos"
    r"|sé)\b",
    lead_in=r"\b(?:según|en|de acuerdo con|con base en|a partir de)\s(?:(?:el|la|los|las|este|esta)\s)?"
    r"(?:pasajes?|textos?|contextos?|documentos?|fuentes?|extractos?|artículos?"
    r"|fragmentos?)(?:\s\d{1,3})?\b,?",
    subject_verbs=words(
        "es fue era tiene está ha son fueron tenía había nació murió diseñó fundó construyó cuenta alberga"
    ),
)
