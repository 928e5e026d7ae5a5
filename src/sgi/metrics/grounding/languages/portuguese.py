"""Portuguese, of Portugal and Brazil."""

from __future__ import annotations

from sgi.metrics.grounding.languages.record import Language, numbered, table, words

LANGUAGE = Language(
    code="pt",
    name="Portuguese",
    function_words=words(
        """
        a à acerca agora aí ainda além algum alguma algumas alguns ali ambas ambos antes ao aos
        apenas após aquela aquelas aquele aqueles aqui aquilo as às assim até através bastante bem
        cada cerca com como contra contudo cuja cujas cujo cujos da daquela daquele das de dela
        delas dele deles depois desde dessa desse desta deste devido deve devem disso diversos do
        dos durante e é ela elas ele eles em embora enquanto entanto então entre era eram essa essas
        esse esses esta está estão estar estas estava este estes eu faz fazem fazer foi foram graças
        há haver havia isso isto já la lhe lhes lo logo mais mas me mediante menos mesma mesmas
        mesmo mesmos meu minha muita muitas muito muitos na nada não nas nela nele nem nenhum
        nenhuma nessa nesse nesta neste no nos nós nossa nosso num numa nunca o os onde ora ou outra
        outras outro outros para pela pelas pelo pelos perante pode podem pois por porém porque
        portanto pouca poucas pouco poucos próprio quais qual qualquer quando quanto quase que quê
        quem se seja sem sempre sendo ser será serão seu seus sido sim só sob sobre são sua suas tal
        também tampouco tanto te tem têm tendo ter teve tinha tinham toda todas todavia todo todos
        tu tudo um uma umas uns vez vezes você vocês vos jamais ante à senão
        """
    ),
    elisions=frozenset({"d"}),
    months=(
        *("janeiro jan", "fevereiro fev", "março", "abril abr", "maio", "junho jun"),
        *("julho jul", "agosto ago", "setembro", "outubro", "novembro nov", "dezembro dez"),
    ),
    weekdays=(
        *("segunda-feira segundas-feiras", "terça-feira terças-feiras", "quarta-feira quartas-feiras"),
        *("quinta-feira quintas-feiras", "sexta-feira sextas-feiras", "sábado sábados", "domingo domingos"),
    ),
    weak_months=frozenset({"jan", "fev", "abr", "jun", "jul", "ago", "nov", "dez"}),
    day_link=r"[ ](?:de[ ])?",
    day_end=r"[º°]",
    before_year=r"em|desde|de|do ano de|ano|anos|por volta de|antes de|depois de|até|entre|e|a|fins de"
    r"|finais de"
    r"|início de|verão de|inverno de|primavera de|outono de|meados de|no final de",
    century=r"séculos?[ ](?P<nth>[IVX]{1,5}|\d{1,2})\b",
    decade=r"anos[ ](?P<tens>(?:\d\d)?\d0)\b",
    before_christ=r"a\.[ ]?c\.",
    clock=r"(?P<hour>\d{1,2})(?:h(?P<minute>[0-5]\d)?\b|[ ]horas\b)",
    numbers=numbered(
        "zero um/uma dois/duas três quatro cinco seis sete oito nove dez onze doze treze catorze/quatorze "
        "quinze"
        " dezasseis/dezesseis dezassete/dezessete dezoito dezanove/dezenove vinte",
        range(21),
    )
    | numbered("trinta quarenta cinquenta sessenta setenta oitenta noventa", range(30, 100, 10))
    | numbered(
        "cento/cem duzentos/duzentas trezentos/trezentas quatrocentos/quatrocentas quinhentos/quinhentas"
        " seiscentos/seiscentas setecentos/setecentas oitocentos/oitocentas novecentos/novecentas",
        range(100, 1000, 100),
    ),
    joins=frozenset({"e"}),
    hundred=frozenset(),
    scales={
        "mil": 10**3,
        "milhão": 10**6,
        "milhões": 10**6,
        "mi": 10**6,
        "bilhão": 10**9,
        "bilhões": 10**9,
        "bi": 10**9,
        "bilião": 10**12,
        "biliões": 10**12,
        "trilhão": 10**12,
        "trilhões": 10**12,
    },
    compound=False,
    one=words("um uma"),
    ordinals=numbered(
        "segundo/segunda terceiro/terceira quarto/quarta quinto/quinta sexto/sexta sétimo/sétima "
        "oitavo/oitava"
        " nono/nona décimo/décima",
        range(2, 11),
    ),
    ordinal_end=r"[ºª°](?!C)|\.[ºª]",
    units=table(
        """
        mm: milímetro milímetros
        cm: centímetro centímetros
        m: metro metros
        km: quilómetro quilómetros quilômetro quilômetros
        inch: polegada polegadas
        mile: milha milhas
        m²: metro_quadrado metros_quadrados
        km²: quilómetro_quadrado quilómetros_quadrados quilômetros_quadrados
        cubic meter: metro_cúbico metros_cúbicos
        hectare: hectare hectares
        ml: mililitro mililitros
        l: litro litros
        mg: miligrama miligramas
        g: grama gramas
        kg: quilograma quilogramas quilo quilos
        tonne: tonelada toneladas t
        minute: minuto minutos min
        second: segundos
        hour: hora horas
        day: dia dias
        week: semana semanas
        month: mês meses
        year: ano anos
        decade: década décadas
        century: séculos
        percent: por_cento
        per mille: por_mil
        degree: grau graus
        °C: graus_celsius
        W: watt watts
        kW: quilowatt quilowatts
        MW: megawatt megawatts
        kWh: quilowatt-hora quilowatts-hora
        V: volt volts
        euro: euro euros eur
        cents: cêntimo cêntimos centavo centavos
        dollar: dólar dólares
        gbp: libras_esterlinas
        yen: iene ienes
        """
    ),
    unit_link=r"(?:de[ ])?",
    about=r"cerca de|aproximadamente|por volta de|quase|uns|umas|em torno de|perto de",
    least=r"pelo menos|mais de|no mínimo|ao menos|acima de|supera os",
    most=r"no máximo|menos de|até|não mais de|abaixo de",
    more=r"ou mais|e mais",
    less=r"ou menos",
    to=r"a|até",
    between=r"entre|de",
    conjunction="e",
    alternative="ou",
    out_of=r"em(?: cada)?|de",
    nouns_have_capitals=False,
    name_links=words("de da do das dos von van di la d"),
    openers=words(
        """
        segundo hoje ontem construído construída projetado projetada projectado aberto aberta
        fundado fundada situado situada atualmente originalmente finalmente depois sim não dois três
        """
    ),
    titles=words(
        """
        sr sra dom dona dr dra professor professora presidente presidenta rei rainha imperador papa
        prefeito prefeita ministro ministra general capitão engenheiro engenheira arquiteto
        arquiteta arquitecto diretor diretora príncipe princesa duque senhor senhora
        """
    ),
    not_names=frozenset(),
    additions=r"também|além disso|bem como|entre outr[oa]s|outr[oa]s?|irmã|irmãos?|filh[oa]s?|esposa|marido"
    r"|mulher|pais?"
    r"|mãe",
    contrast=r"mas|porém|contudo|no entanto|embora",
    source=r"passage[nm]s?|trechos?|textos?|contextos?|documentos?|fontes?|excertos?|artigos?",
    denial=r"não|nada|nenhuma?",
    telling=r"menciona\w*|especific\w*|indica\w*|diz\w*|dá|dão|fornec\w*|cont[éê]m|descrev\w*"
    r"|respond\w*|fala\w*|informa\w*",
    no_answer=r"\bnão (?:é |são |foi |está |se )?(?:\w+mente )?(?:menciona\w*|especifica\w*|indica\w*"
    r"|informa\w*)\b|\bnão há (?:informaç\w+|dados|resposta|menção)\b|\bnão (?:sei|posso"
    r"|podemos|sabemos)\b",
    lead_in=r"\b(?:segundo|de acordo com|conforme|com base n|n)\s?(?:(?:o|a|os|as|este|esta)\s)?"
    r"(?:passage[nm]s?|trechos?|textos?|contextos?|documentos?|fontes?|excertos?|artigos?)(?:\s\d{1,3})?\b,?",
    subject_verbs=words(
        "é foi era tem está são foram tinha nasceu morreu projetou fundou construiu conta abriga possui"
    ),
)
