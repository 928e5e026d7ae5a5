"""Words of refusals in Spanish, Italian and Portuguese."""

from __future__ import annotations

from sgi.metrics.refusal.words import Words

SPANISH = Words(
    denial=r"\b(?:no|ningun[oa]?s?|ningún|nada|nunca|jamás|ni|sin|falta\w*|ausentes?|adivinar|suposición|conjetura|imposible|insuficiente\w*"
    r"|tampoco|silencio"
    r"|fuera|más allá|rechazar|niego|necesitaría|abierta|hasta|transfiero|paso)\b",
    source=r"\b(?:contextos?|pasajes?|textos?|documentos?|fuentes?|artículos?|fragmentos?|extractos?"
    r"|informaci(?:ón|ones)|datos|material(?:es)?|pregunta|respuesta|cuestión|detalles?|manual|informe"
    r"|ellos)\b",
    telling=r"\b(?:mencion|especific|indic|conten|contien|dice|dicen|da\b|dan\b|proporcion|hay\b|encontr"
    r"|encuentr"
    r"|disponible|dispone|describ|permit|habla|suficient|respond|explic|consta|figur|aparec|silencio|aclarar"
    r"|desprend|abierta)",
    speaker=r"\b(?:sé|puedo|podemos|pude|tengo|tenemos|encuentro|encontré|encontramos|he|hemos|soy|dispongo"
    r"|conozco|estoy|logré|consigo|yo|sabemos|mis?|me|debo|prefiero|necesitaría|voy)\b",
    ability=r"\b(?:sé|puedo|podemos|pude|encuentro|encontr\w*|capaz|conozco|logré|sabemos|niego|rechazar"
    r"|no decir|necesitaría)\b|\bvoy a (?:ayudar|responder|dar)"
    r"|\b(?:tengo|tenemos|dispongo|va)\b.*\b(?:informaci(?:ón|ones)|respuesta"
    r"|idea|opini(?:ón|ones)"
    r"|acceso|datos|conocimientos?)\b",
    unable=r"\b(?:imposible|no es posible|no se puede|no permit\w*)\b.*\b(?:respond|determin|decir|saber"
    r"|contest)"
    r"|^ni idea|\b(?:pregunta|cuestión)\b.*\b(?:fuera|abierta)"
    r"|^(?:sin resultados|ningún (?:resultado|documento))\b"
    r"|\bmis? (?:conocimientos?|datos)\b.*\b(?:hasta|terminan?)\b"
    r"|\b(?:le|te) (?:transfiero|paso|pongo en contacto)\b|\bfuera (?:de mi|del) (?:ámbito|alcance)\b",
    unstated=r"\bno (?:se |está |es |fue )*(?:mencion|especific|indic|nombr|precis|dice|da\b)|\bno aparec"
    r"|\bninguna parte\b",
    hedge=r"\bno (?:estoy|sé) (?:\w+ )?(?:segur|exactamente|cert|bien)",
    assistant=r"\bcomo (?:una? )?(?:ia\b|modelo|inteligencia|asistente)",
    service=r"\b(?:ayudar\w*|ayuda|consejos?|instrucciones|opini(?:ón|ones)|solicitud|petición|niego"
    r"|peligros\w*|ilegal\w*)\b",
    filler=r"lo siento|lamento|lamentablemente|desafortunadamente|disculp|perdón|por favor|podrías?"
    r"|porque .*\b(?:contra|peligros[oa]|ilegal|dañin[oa])\b",
    contrast=r"pero|sin embargo|aunque|no obstante|si bien",
    join=r"y|porque|ya que|así que",
    concluding=r"\b(?:por lo tanto|por tanto|por consiguiente|así que|por eso|pues)\b",
    conditional=r"si|cuando",
    lead_in=r"(?:con base|según|a partir|basándo\w*|en base|de acuerdo|en|con)\b[^,]{0,60}"
    r"\b(?:contextos?|pasajes?|textos?|documentos?|fuentes?|fragmentos?|extractos?|material)(?: \w+){0,2},?",
    search=r"(?:encontré|veo|he (?:encontrado|visto|leído|revisado|buscado|consultado)|busqué|revisé|leí"
    r"|consulté"
    r"|hay)\b(?! que\b)",
    follow_up=r"^(?:(?:ellos|ellas|estos|estas|este|esta)\b )?(?:no|tampoco)\b (?:lo |la |se )?(?:\w+ )?"
    r"(?:dicen?|dan?\b|mencionan?|indican?|nombran?|responden?|explican?|especifican?|contienen?|incluyen?)"
    r"|^(?:ningun[oa]|ningún|nada|ni)\b.{0,40}\b(?:dic|dig|dan?\b|mencion|respond|explic|contien|ayud|sobre)"
    r"|\bno (?:se|está|es) (?:\w+ )?(?:trata|abord|describ|explic|list|inclu)",
    absent=r"\b(?:falta\w*|ausentes?) (?:en|de)\b.*\b(?:contextos?|pasajes?|textos?|documentos?|fuentes?)"
    r"|\bningun[oa] de l[oa]s (?:pasajes?|fuentes?|documentos?|textos?)\b"
    r"|\bno (?:hay|dicen?) nada (?:sobre|acerca)\b|\bno (?:ayudan?|sirven?)\b.*\bpregunta"
    r"|\b(?:podría|puedo|sería)\b.*\b(?:adivinar|especular|suposición|conjetura)"
    r"|\bninguna (?:base|razón|pista)\b.*\brespon|\bno (?:mencionad|indicad|especificad)[oa] en\b",
    reported=r"\b(?:dijo|dijeron|contestó|respondió|declaró|explicó|afirmó|escribió)\b.*\bque no\b"
    r"|\bno (?:dio|dieron|recibió) (?:ninguna )?(?:respuesta|explicación)\b",
)

ITALIAN = Words(
    denial=r"\b(?:non|nessun[oa]?|nulla|niente|mai|né|senza|manca\w*|assent[ei]|indovinare|ipotesi|impossibile|insufficient\w*"
    r"|purtroppo|tace"
    r"|oltre|esula|declinare|rifiuto|servirebbero|aperta|fuori|fino|ferm\w*|metto|trasferisco|passo)\b",
    source=r"\b(?:contest[oi]|passagg(?:io|i)|brani?|test[oi]|document[oi]|font[ei]|articol[oi]|estratt[oi]"
    r"|informazion[ei]|dati|material[ei]|domand[ae]|questione|risposta|dettagli|manuale|argomento"
    r"|rapporto)\b",
    telling=r"\b(?:menzion|specific|indic|conten|contien|dic[eo]|dicono|forni|ci sono|c'è|trov|disponibil"
    r"|descriv"
    r"|permett|parla|sufficien|abbastanza|rispond|spieg|riporta|compar|tace|aperta|evince|esula)",
    speaker=r"\b(?:so|posso|possiamo|ho|abbiamo|trovo|sono|riesco|conosco|possiedo|io|sappiamo|mi|mie"
    r"|devo|preferisco"
    r"|ne)\b",
    ability=r"\b(?:so|posso|possiamo|trov\w*|grado|riesco|riuscito|riuscita|conosco|capace|sappiamo"
    r"|rifiuto|declinare"
    r"|non dire|servirebbero|potrei)\b|\b(?:ho|abbiamo|possiedo|va)\b.*\b(?:informazion[ei]|risposta|idea"
    r"|opinion[ei]"
    r"|accesso|dati|conoscenze)\b",
    unable=r"\b(?:impossibile|non è possibile|non si può|non permett\w*)\b.*\b(?:rispond|determin|dire"
    r"|sapere|stabil)"
    r"|^nessuna idea|\b(?:domanda|questione)\b.*\b(?:esula|aperta)|\boltre le mie conoscenze"
    r"|^nessun (?:risultato|documento)\b|\b(?:le mie conoscenze|i miei dati)\b.*\b(?:fino|ferm\w*)\b"
    r"|\b(?:la|ti) (?:metto in contatto|trasferisco|passo)\b|\bfuori dal(?:la|le)? (?:mio|mia|mie)\b",
    unstated=r"\bnon (?:è|sono|viene|vengono|fu) (?:\w+ )?(?:menzion|specific|indic|nomin|precis|dett"
    r"|riport|dat[oa])"
    r"|\bda nessuna parte\b|\bnon vi compare",
    hedge=r"\bnon (?:sono|so) (?:\w+ )?(?:sicur|cert|esattamente|bene)",
    assistant=r"\b(?:come|in quanto) (?:un[a']? ?)?(?:ia\b|modello|intelligenza|assistente)",
    service=r"\b(?:aiutar\w*|aiuto|consigli|istruzioni|opinion[ei]|richiesta|rifiuto|pericolos\w*"
    r"|illegal\w*)\b",
    filler=r"(?:mi )?(?:dispiace|scus[io])|purtroppo|per favore|spiacente|potrebbe|potresti"
    r"|perché .*\b(?:contrari[oa]|pericolos[oa]|illegale|dannos[oa])\b",
    contrast=r"ma|però|tuttavia|sebbene|anche se|benché",
    join=r"e|perché|poiché|quindi|l'anno",
    concluding=r"\b(?:pertanto|quindi|perciò|dunque|di conseguenza)\b",
    conditional=r"se|quando|qualora",
    lead_in=r"(?:in base|secondo|stando|sulla base|a partire|da[li]?|nel|nei|con)\b[^,]{0,60}"
    r"\b(?:contest[oi]|passagg(?:io|i)|brani?|test[oi]|document[oi]|font[ei]|estratt[oi]"
    r"|material[ei])(?: \w+){0,2},?",
    search=r"(?:ho (?:trovato|visto|letto|cercato|esaminato|controllato|consultato)|vedo|trovo)\b(?! che\b)",
    follow_up=r"^(?:(?:essi|esse|questi|queste)\b )?(?:non|né)\b (?:lo |la |ne |vi )?(?:\w+ )?"
    r"(?:dicono|dice|danno|dà|menzion\w*|indic\w*|rispond\w*|spieg\w*|specific\w*|conten\w*|contien\w*"
    r"|riport\w*)"
    r"|^(?:nessun[oa]?|nulla|niente|né)\b.{0,40}\b(?:dic|danno|dà|menzion|rispond|spieg|contien|aiut|su)"
    r"|\bnon (?:\w+ )?(?:è|sono|viene) (?:\w+ )?(?:trattat|descritt|spiegat|elencat|affrontat)",
    absent=r"\b(?:manca\w*|assent[ei]) (?:in|ne[li]|nella|nelle|nell'|dal?|dai|dagli|dalle)\b.*"
    r"\b(?:contest[oi]|passagg(?:io|i)|brani?|test[oi]|document[oi]|font[ei])"
    r"|\bnessun[oa] de[il]\w* (?:passaggi|fonti|documenti|testi)\b"
    r"|\bnon c'è (?:nulla|niente) (?:su|sul|sulla|riguardo)|\bnon (?:aiuta|aiutano|serve"
    r"|servono)\b.*\bdomanda"
    r"|\b(?:potrei|posso|sarebbe)\b.*\b(?:indovinare|ipotesi|congettura|supposizione)"
    r"|\bnon (?:\w+ )?(?:alcuna|nessuna) (?:base|ragione)\b.*\brispon|\bnon (?:menzionat|indicat"
    r"|specificat)[oa] ne",
    reported=r"\b(?:disse|dissero|ha detto|hanno detto|rispose|dichiarò|spiegò|scrisse)\b.*\b(?:che non"
    r"|di non)\b"
    r"|\bnon (?:diede|ricevette|ha dato) (?:alcuna )?(?:risposta|spiegazione)\b",
)

PORTUGUESE = Words(
    denial=r"\b(?:não|nenhuma?s?|nada|nunca|jamais|nem|sem|falta\w*|ausentes?|adivinhar|palpite|suposição|impossível|insuficiente\w*"
    r"|infelizmente|silencia"
    r"|aberto|além|fora|recus\w*|precisaria|até|transfiro|encaminho|transferir|encaminhar)\b",
    source=r"\b(?:contextos?|trechos?|passagens?|textos?|documentos?|fontes?|artigos?|excertos?"
    r"|informaç(?:ão|ões)"
    r"|dados|material|materiais|pergunta|questão|resposta|detalhes?|manual|assunto|relatório|neles)\b",
    telling=r"\b(?:mencion|especific|indic|cont[eéê]m|diz|dizem|d[áã]o?\b|fornec|há\b|encontr|disponíve"
    r"|descrev"
    r"|permit|fala|suficient|respond|explic|consta|aparec|silencia|aberto|depreend)",
    speaker=r"\b(?:sei|posso|podemos|tenho|temos|encontrei|encontramos|consigo|consegui|sou|disponho"
    r"|conheço|eu"
    r"|estou|sabemos|meu|minhas?|devo|prefiro|faço|recuso|imagino)\b",
    ability=r"\b(?:sei|posso|podemos|encontr\w*|conseg\w*|capaz|conheço|sabemos|recus\w*|não dizer"
    r"|precisaria|ideia"
    r"|imagino)\b|\b(?:tenho|temos|disponho|além)\b.*\b(?:informaç(?:ão|ões)|resposta|ideia|opini(?:ão"
    r"|ões)|acesso|dados"
    r"|conhecimento)\b",
    unable=r"\b(?:impossível|não é possível|não se pode|não permit\w*)\b.*\b(?:respond|determin|dizer|saber)"
    r"|\b(?:pergunta|questão)\b.*\b(?:fora|aberto)|\balém do meu conhecimento"
    r"|^nenhum (?:resultado|documento)\b|\b(?:meu conhecimento|meus dados)\b.*\b(?:até|terminam?)\b"
    r"|\bvou (?:transferir|encaminhar)|\b(?:transfiro|encaminho)\b|\bfora do meu (?:âmbito|alcance)\b",
    unstated=r"\bnão (?:é|são|foi|está|se) (?:\w+ )?(?:mencion|especific|indic|nome|precis|dit[oa]|informad)"
    r"|\bnão aparec|\bnenhum lugar\b",
    hedge=r"\bnão (?:tenho|estou|sei) (?:\w+ )?(?:certeza|cert|segur|exatamente|ao certo|bem)",
    assistant=r"\bcomo (?:uma? )?(?:ia\b|modelo|inteligência|assistente)",
    service=r"\b(?:ajudar\w*|ajuda|conselhos?|instruções|opini(?:ão|ões)|pedido|recuso|perigos\w*"
    r"|ilegal\w*)\b",
    filler=r"desculp|lamento|infelizmente|sinto muito|por favor|poderia"
    r"|(?:porque|pois) .*\b(?:contraria|perigos[oa]|ilegal|prejudicial)\b",
    contrast=r"mas|porém|no entanto|contudo|embora|todavia|entretanto|se bem que",
    join=r"e|porque|pois|já que",
    concluding=r"\b(?:portanto|logo|por isso|assim|por conseguinte)\b",
    conditional=r"se|quando|caso",
    lead_in=r"(?:com base|segundo|de acordo|a partir|conforme|do|d[oa]s|n[oa]s?|com)\b[^,]{0,60}"
    r"\b(?:contextos?|trechos?|passagens?|textos?|documentos?|fontes?|excertos?|material)(?: \w+){0,2},?",
    search=r"(?:encontrei|vejo|li|consultei|procurei|revi|verifiquei|examinei|há)\b(?! que\b)",
    follow_up=r"^(?:(?:eles|elas|estes|estas)\b )?(?:não|nem)\b (?:o |a |se )?(?:\w+ )?"
    r"(?:dizem?|diz\b|dão|dá\b|mencionam?|indicam?|respondem?|explicam?|especificam?|contêm|contém|incluem?)"
    r"|^(?:nenhuma?|nada|nem)\b.{0,40}\b(?:diz|dig|dão|dá\b|mencion|respond|explic|contém|ajud|sobre)"
    r"|\bnão (?:se|é|está|são) (?:\w+ )?(?:trata|abord|descri|explic|list|inclu)",
    absent=r"\b(?:falta\w*|ausentes?) (?:n[oa]s?|d[oa]s?|em)\b.*"
    r"\b(?:contextos?|trechos?|passagens?|textos?|documentos?|fontes?)"
    r"|\bnenhuma? d[oa]s (?:trechos|passagens|fontes|documentos|textos)\b"
    r"|\bnão há nada (?:sobre|acerca)\b|\bnão (?:ajudam?|servem?)\b.*\bpergunta"
    r"|\b(?:poderia|posso|seria)\b.*\b(?:adivinhar|especular|palpite|suposição)"
    r"|\bnenhuma (?:base|razão|pista)\b.*\brespo|\bnão (?:mencionad|indicad|especificad)[oa] n",
    reported=r"\b(?:disse|disseram|respondeu|declarou|explicou|afirmou|escreveu)\b.*\bque não\b"
    r"|\bnão (?:deu|deram|recebeu) (?:nenhuma )?(?:resposta|explicação)\b",
)
