"""Words of refusals in six languages: denials, sources, verbs of telling, and words around them."""

from __future__ import annotations

import re
from typing import NamedTuple

from sgi.text.refusals import DENIAL, SOURCE


class Words(NamedTuple):
    """The words of one language, as patterns that are searched in a clause.

    Attributes:
        denial: negations, and words with a negative meaning.
        source: names of what was given to answer from.
        telling: what a source or a reader does: mention, contain, find, be available.
        speaker: who answers: "I", or a verb in the first person.
        ability: what the speaker does not do: know, answer, find, help, have.
        unable: "cannot be answered", "unable to answer", without a speaker.
        unstated: "is not mentioned", without a source.
        hedge: "not sure", "not exactly".
        assistant: "as an AI".
        service: what a request asks for: help, advice, instructions, opinions.
        filler: the start of a clause that adds nothing: apologies, requests to ask again.
        contrast: conjunctions before a statement that limits the one before it.
        join: conjunctions that start a new clause after a comma.
        concluding: "therefore".
        conditional: the first word of a clause that states a condition.
    """

    denial: str
    source: str
    telling: str
    speaker: str
    ability: str
    unable: str
    unstated: str
    hedge: str
    assistant: str
    service: str
    filler: str
    contrast: str
    join: str
    concluding: str
    conditional: str


ENGLISH = Words(
    denial=rf"{DENIAL}|\b(?:nowhere|impossible|silent|beyond|outside|decline|refuse|rather not"
    r"|rather say nothing|leaves? open|would need|insufficient|inadequate|cut-?off|only|up to|connect"
    r"|transfer|forward|escalate)\b",
    source=rf"\b{SOURCE.replace('contexts?', r'contexts?|them|manual|results?|report|handbook')}\b",
    telling=r"\b(?:say|said|state|mention|specif|contain|give|indicat|includ|tell|told|describe|discuss"
    r"|address"
    r"|cover|available|appear(?!s? to\b)|explain|detail|silent|open|infer|list|make clear|reveal"
    r"|(?:be|not|was|were|is|are) found|relat"
    r"|pertain|touch on|relevant|part of)",
    speaker=r"\b(?:i|we|me|i'm|i've|i'd|i'll|we're)\b",
    ability=r"(?:\bnot|n't|\bcannot|\bunable|\bnever|'t) (?:\w+ ){0,3}?(?:know(?! that)|answer|determine"
    r"|say|tell|find|help"
    r"|assist|verify|share|discuss|disclose|retrieve|browse|speculate|fulfil|generate|provide|give|able|confirm|comment|access|offer|identify|locate|comply|recall|understand)\b"
    r"|(?:\b(?:not|no|any|enough|sufficient|more)|n't)\b.*\b(?:information|access|answer|knowledge|idea"
    r"|clue|opinions?"
    r"|comment|data|records?|details?|context)\b"
    r"|\bi (?:(?:must|have to|will|need to) )?(?:\w+ly )?(?:decline|refuse)\b|\bwon't\b"
    r"|\b(?:beyond|outside) .*\b(?:know|knowledge|learned|area)|\brather (?:not|say nothing)"
    r"|\bneed .*\b(?:more|further|details|context)\b",
    unable=r"\b(?:cannot|can't|could not|couldn't|unable|impossible|not possible|not able)\b.*"
    r"\b(?:answer|answered|determined?|say|tell|infer(?:red)?|conclude|establish|confirm)\b|^no (?:idea"
    r"|clue|comment)|\banswer is not possible"
    r"|\bquestion\b.*\b(?:outside|beyond|lacks|open)\b|\bbeyond what i\b"
    r"|\b(?:insufficient|inadequate|not enough|too little) (?:\w+ )?"
    r"(?:information|context|evidence|data|details?)\b"
    r"|\bmy (?:knowledge|training)\b.*\b(?:cut-?off|ends?|stops?|only|up to)\b|\bknowledge cut-?off\b"
    r"|\b(?:i'll|i will|let me|i can|i am going to) (?:connect|transfer|forward|escalate|pass)\b"
    r"|\b(?:outside|beyond) (?:of )?(?:the|my) (?:scope|remit)\b",
    unstated=r"^(?:there (?:are|were) )?no (?:\w+ ){0,2}(?:results?|matches|documents?|entries|hits)"
    r"(?: (?:were|was|are|is|could be|have been))? (?:found|available|returned|retrieved|match\w*)\b|"
    r"\b(?:not|n't|never|nowhere)\s+(?:\w+ly\s+|been\s+|be\s+)?(?:mentioned|stated|specified"
    r"|indicated)\b"
    r"|\b(?:there (?:is|are|was|were)|contains?|provides?|gives?|has|have|offers?|includes?) (?:no"
    r"|not enough) "
    r"(?:\w+ ){0,2}(?:information|data|details?|answers?|figures?|mention|indication)\b|\bappears? nowhere\b",
    hedge=r"\bnot (?:\w+ )?(?:sure|certain)|\bnot (?:know )?exactly|\bknow (?:exactly|for sure)",
    assistant=r"\bas an? (?:ai|artificial|large language|language model|assistant|virtual)"
    r"|\bi(?:'m| am) (?:just |only )?an? ai\b",
    service=r"\b(?:help|assist|advice|instructions?|opinions?|beliefs?|feelings|request|diagnos|comply"
    r"|guidelines"
    r"|decline|won't|harmful|dangerous|unethical|polic(?:y|ies)|disclose|generate)\b",
    filler=r"(?:i'm |i am |we're |we are )?(?:so |very |really )?(?:sorry|afraid)|unfortunately|my apologies"
    r"|(?:i|we) apologi[sz]e|please\b|let me know|feel free|could you|can you|would you|if you|thanks?\b"
    r"|as it goes against|you asked about",
    contrast=r"but|however|though|although|yet|nevertheless|that said|while|whereas",
    join=r"and|so|because|since|as|it|they|he|she|there",
    concluding=r"\b(?:therefore|thus|hence|so|consequently|as a result)\b",
    conditional=r"if|when|unless|in case",
)

GERMAN = Words(
    denial=r"\b(?:nicht|kein\w*|nichts|nie|niemals|nirgend\w*|weder|ohne|fehl\w+|leider|unmöglich|mangels"
    r"|schweig\w*"
    r"|offen|überfragt|hinaus|ablehn\w*|bräuchte|außerhalb|bis|verbinde|leite|weiterleite)\b",
    source=r"\b(?:kontext\w*|passagen?|text\w*|dokument\w*|unterlagen|quellen?|artikel\w*|auszüg\w*|auszugs?"
    r"|informationen?|daten|material\w*|angaben?|frage|antwort(?:en)?|handbuch\w*|bericht\w*|details"
    r"|ihnen)\b",
    telling=r"\b(?:erwähn|nenn|genannt|enthalt|enthält|steht|stehen|sagt|gesagt|angegeben|angab|lieg|gibt"
    r"|geh|find"
    r"|gefunden|vorhanden|verfügbar|beschr|erklär|behandel|hervor|reich|ersicht|beantwort|lass|lässt|ausreich"
    r"|schweig|offen|auftauch|taucht|kommt)",
    speaker=r"\b(?:ich|wir|mir|uns)\b",
    ability=r"\b(?:weiß|wissen|kann|können|konnte[nst]?|finde|gefunden|lage|beantworte\w*|helfe|hilfe"
    r"|überfragt"
    r"|schreibe|sagen|bräuchte|ablehnen|kenne)\b|\b(?:habe|haben|fehlen?)\b.*\b(?:information\w*|antwort"
    r"|ahnung"
    r"|kenntnis\w*|zugriff|zugang|daten|angaben?|meinung|wissen)\b",
    unable=r"\b(?:beantwort|antwort|bestimm|ermittel|sag)\w*\b.*\b(?:nicht möglich|unmöglich)"
    r"|\b(?:lässt|lassen) sich\b.*\bnicht\b.*\bantwort|\bbeantwort\w*\b.*\bnicht\b"
    r"|\b(?:nicht möglich|unmöglich)\b.*\b(?:beantwort|sagen|bestimm)|^keine ahnung|\bfrage\b.*\boffen"
    r"|\bmein wissen hinaus|\bnicht beantwort|^keine (?:\w+ )?(?:treffer|ergebnisse|einträge)\b"
    r"|\b(?:mein wissen\w*|meine trainingsdaten)\b.*\b(?:reich\w*|ende\w*|nur|bis)\b"
    r"|\bich (?:verbinde|leite|gebe)\b.*\b(?:kolleg\w*|mitarbeiter\w*|support|kundendienst|experten?)\b"
    r"|\b(?:außerhalb|nicht in|nicht teil)\b.*"
    r"\b(?:meine[rs]?|dieser) (?:wissens|dokumente|zuständigkeit|bereichs)",
    unstated=r"\b(?:nicht|nirgends|nie)\b.{0,25}\b(?:erwähnt|genannt|angegeben|gesagt|beschrieben)",
    hedge=r"\bnicht (?:ganz |so )?(?:sicher|genau)|\bgenau\b.*\bnicht\b",
    assistant=r"\bals (?:eine? )?(?:ki|künstliche|sprachmodell|ki-\w+|assistent)",
    service=r"\b(?:helfen|hilfe|beratung|ratschl\w*|anleitung\w*|meinung|anfrage|unterstütz\w*"
    r"|richtlinien|ablehnen|gefährlich\w*|schädlich\w*|illegal\w*"
    r"|schreibe)\b",
    filler=r"(?:es )?tut mir (?:sehr )?leid|leider\b|entschuldig|bitte\b|sorry|könnten sie|wenn sie|falls sie"
    r"|weil es gegen",
    contrast=r"aber|jedoch|allerdings|doch|obwohl|obgleich|dennoch|trotzdem|zwar",
    join=r"und|so dass|sodass|weil|da|denn|er|es|sie|sein|ihr",
    concluding=r"\b(?:daher|deshalb|also|somit|folglich|deswegen)\b",
    conditional=r"wenn|falls|sofern",
)

FRENCH = Words(
    denial=r"\b(?:ne|pas|aucune?s?|rien|jamais|ni|sans|manque\w*|impossible|incapable|insuffisant\w*"
    r"|nulle|muet\w*"
    r"|ouverte?|dépasse|sort|décliner|refuse|faudrait|hors|s'arrêt\w*|jusqu\w*|transfère|transmets)\b|\bn'",
    source=r"\b(?:contextes?|passages?|textes?|documents?|sources?|articles?|extraits?|informations?|données"
    r"|éléments|question|réponse|détails?|précisions?|manuel|pièces|rapport)\b|\bn'y\b",
    telling=r"\b(?:mention|précis|indiqu|contien|contenu|di(?:t|sent|re)\b|donn|fourni|il y a|il n'y a"
    r"|trouv|disponible"
    r"|décri|permet|parl|suffi|évoqu|répon|figur|appara|expliqu|muet|ouverte|faudrait|n'y a)",
    speaker=r"\b(?:je|nous|me|on|mes|mon)\b|\bj'|\bil me\b",
    ability=r"\b(?:sais|savons|saurait|peux|pouvons|puis|trouvé|trouve|réponds|connais|aider|refuse"
    r"|décliner|incapable"
    r"|rien dire|dois)\b"
    r"|\b(?:ai|avons|dispos\w*|possèd\w*|faudrait|dépasse|sort)\b.*\b(?:informations?|réponse|idée"
    r"|opinion|accès|avis"
    r"|données|connaissances?|précisions|domaine|détails)\b",
    unable=r"\b(?:impossible|incapable|pas possible|ne permet\w*|ne peut|ne peuvent)\b.*"
    r"\b(?:répond|déterminer|dire|savoir|réponse|répondu)|^aucune idée|\bquestion\b.*\b(?:ouverte|sort)"
    r"|^aucun (?:résultat|document)\b|\bmes (?:connaissances|données)\b.*\b(?:s'arrêt|jusqu|ne vont)"
    r"|\bje (?:vous |la |le )*(?:transfère|transmets|mets en relation)\b"
    r"|\bhors (?:de mon|du) (?:domaine|champ|cadre|périmètre)\b",
    unstated=r"\b(?:n'|ne )\S*(?: \S+)? ?(?:pas|jamais|nulle part) (?:\w+ )?"
    r"(?:mentionn|précis|indiqu|donn|nomm|dit|fourni)|\bnulle part\b",
    hedge=r"\bpas (?:\w+ )?(?:sûre?|certaine?)|\bpas (?:exactement|au juste|précisément)",
    assistant=r"\ben tant qu(?:e |')(?:\w+ )?(?:ia|modèle|intelligence|assistant)",
    service=r"\b(?:aider|aide|conseils?|instructions?|opinions?|avis|demande|règles|refuse|dangereu\w*|illégal\w*)\b",
    filler=r"(?:je suis )?(?:vraiment )?(?:désolée?|navrée?)|malheureusement|excusez|veuillez|merci"
    r"|s'il vous|pourriez",
    contrast=r"mais|cependant|toutefois|pourtant|bien qu\w*|néanmoins|en revanche",
    join=r"et|car|parce|puisque|il|elle|ils|elles|on|l'année",
    concluding=r"\b(?:donc|ainsi|par conséquent|en conséquence)\b",
    conditional=r"si|s'il|lorsque|quand",
)

SPANISH = Words(
    denial=r"\b(?:no|ningun[oa]?s?|ningún|nada|nunca|jamás|ni|sin|falta\w*|imposible|insuficiente\w*"
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
    service=r"\b(?:ayudar\w*|ayuda|consejos?|instrucciones|opini(?:ón|ones)|solicitud|petición|niego|peligros\w*|ilegal\w*)\b",
    filler=r"lo siento|lamento|lamentablemente|desafortunadamente|disculp|perdón|por favor|podrías?"
    r"|porque va contra",
    contrast=r"pero|sin embargo|aunque|no obstante|si bien",
    join=r"y|porque|ya que|así que",
    concluding=r"\b(?:por lo tanto|por tanto|por consiguiente|así que|por eso|pues)\b",
    conditional=r"si|cuando",
)

ITALIAN = Words(
    denial=r"\b(?:non|nessun[oa]?|nulla|niente|mai|né|senza|manca\w*|impossibile|insufficient\w*"
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
    service=r"\b(?:aiutar\w*|aiuto|consigli|istruzioni|opinion[ei]|richiesta|rifiuto|pericolos\w*|illegal\w*)\b",
    filler=r"(?:mi )?(?:dispiace|scus[io])|purtroppo|per favore|spiacente|potrebbe|potresti"
    r"|perché è contraria",
    contrast=r"ma|però|tuttavia|sebbene|anche se|benché",
    join=r"e|perché|poiché|quindi|l'anno",
    concluding=r"\b(?:pertanto|quindi|perciò|dunque|di conseguenza)\b",
    conditional=r"se|quando|qualora",
)

PORTUGUESE = Words(
    denial=r"\b(?:não|nenhuma?s?|nada|nunca|jamais|nem|sem|falta\w*|impossível|insuficiente\w*"
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
    service=r"\b(?:ajudar\w*|ajuda|conselhos?|instruções|opini(?:ão|ões)|pedido|recuso|perigos\w*|ilegal\w*)\b",
    filler=r"desculp|lamento|infelizmente|sinto muito|por favor|poderia|pois contraria",
    contrast=r"mas|porém|no entanto|contudo|embora|todavia|entretanto|se bem que",
    join=r"e|porque|pois|já que",
    concluding=r"\b(?:portanto|logo|por isso|assim|por conseguinte)\b",
    conditional=r"se|quando|caso",
)

LANGUAGES = {
    "en": ENGLISH,
    "de": GERMAN,
    "fr": FRENCH,
    "es": SPANISH,
    "it": ITALIAN,
    "pt": PORTUGUESE,
}


class Patterns(NamedTuple):
    """The compiled patterns of one language; the names are those of `Words`.

    Attributes:
        subject: the start of a clause whose subject is a source.
        boundary: what separates two clauses.
    """

    denial: re.Pattern[str]
    source: re.Pattern[str]
    subject: re.Pattern[str]
    telling: re.Pattern[str]
    speaker: re.Pattern[str]
    ability: re.Pattern[str]
    unable: re.Pattern[str]
    unstated: re.Pattern[str]
    hedge: re.Pattern[str]
    assistant: re.Pattern[str]
    service: re.Pattern[str]
    filler: re.Pattern[str]
    contrast: re.Pattern[str]
    boundary: re.Pattern[str]
    concluding: re.Pattern[str]
    conditional: re.Pattern[str]


def compile_words(words: Words) -> Patterns:
    """Compile the words of a language; ``boundary`` matches what separates two clauses."""
    parts = words._asdict()
    article = r"(?:the|these|this|all|die|der|das|les?|los|las|el|la|i|gli|os?|as)"
    parts["subject"] = rf"(?:{article}\s+)?(?:\w+\s+)?{words.source}"
    join = parts.pop("join")
    for name in ("contrast", "conditional"):
        parts[name] = rf"(?:{parts[name]})\b"
    boundary = (
        r"(?<![.!?…。！？;])[.!?…。！？;]+(?=\s|$|[\"'”»)])|:(?=\s)|(?<!\n)\n+|\s[-–—]\s"
        rf"|(?:,|(?<=[^\s,]))\s+(?={parts['contrast']})|,\s+(?=(?:{join})\b)"
    )
    return Patterns(
        **{name: re.compile(part, re.IGNORECASE) for name, part in (parts | {"boundary": boundary}).items()}
    )


PATTERNS = {language: compile_words(words) for language, words in LANGUAGES.items()}
"""The patterns by language code (ISO 639-1), English first."""
