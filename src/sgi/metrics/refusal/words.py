"""Words of refusals in six languages: denials, sources, verbs of telling, and words around them."""

from __future__ import annotations

import re
from typing import NamedTuple

from sgi.text.refusals import DENIAL, SOURCE, TELLING


class Words(NamedTuple):
    """The words of one language, as patterns that are searched in a clause.

    Attributes:
        denial: negations, and words with a negative meaning.
        source: names of what was given to answer from.
        telling: what a source or a reader does: mention, contain, find, be available.
        speaker: the one who answers: "I", or a verb in the first person.
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
    denial=DENIAL,
    source=SOURCE.replace("contexts?", r"contexts?|manual|results?|list"),
    telling=rf"{TELLING}|\b(?:there (?:is|are|was|were)|available|have|appears?|explain|detail|allow|show)",
    speaker=r"\b(?:i|we|me|i'm|i've|i'd|i'll|we're)\b",
    ability=r"\b(?:know|answer|determine|say|tell|find|found|help|assist|provide|give|have|able|confirm"
    r"|comment"
    r"|recall|access|offer|see|understand|identify|locate|comply|write|sure|certain)\b",
    unable=r"\b(?:cannot|can't|could not|couldn't|unable|impossible|not possible|not able)\b.*"
    r"\b(?:answer|determine|say|tell|know|infer|conclude|establish|confirm)",
    unstated=r"\b(?:not|n't|never|nowhere)\b.{0,30}\b(?:mentioned|stated|specified|provided|given"
    r"|indicated|named|said)",
    hedge=r"\bnot (?:\w+ )?(?:sure|certain)|\bnot (?:know )?exactly|\bknow (?:exactly|for sure)",
    assistant=r"\bas an? (?:ai|artificial|large language|language model|assistant|virtual)|\bi(?:'m"
    r"| am) (?:just |only )?an? ai\b",
    service=r"\b(?:help|assist|advice|instructions?|opinions?|beliefs?|feelings|request|recommend|diagnos"
    r"|comply"
    r"|guidelines|polic(?:y|ies) forbid)",
    filler=r"(?:i'm |i am |we're |we are )?(?:so |very |really )?(?:sorry|afraid)|unfortunately|my apologies"
    r"|(?:i|we) apologi[sz]e|please\b|let me know|feel free|could you|can you|would you|if you|thanks?\b",
    contrast=r"but|however|though|although|yet|nevertheless|that said|while|whereas",
    join=r"and|so|because|since|as",
    concluding=r"\b(?:therefore|thus|hence|so|consequently|as a result)\b",
    conditional=r"if|when|unless|in case",
)

GERMAN = Words(
    denial=r"\b(?:nicht|kein\w*|nichts|nie|niemals|weder|ohne|fehl\w+|leider|unmöglich|mangels)\b",
    source=r"\b(?:kontext\w*|passagen?|text\w*|dokument\w*|unterlagen|quellen?|artikel\w*|auszüg\w*|auszugs?"
    r"|informationen?|daten|material\w*|angaben?|frage|antwort(?:en)?|handbuch\w*|details)\b",
    telling=r"\b(?:erwähn|nenn|genannt|enthalt|enthält|steht|stehen|sag|gesagt|angegeben|angab|lieg|gibt"
    r"|geh|find"
    r"|gefunden|vorhanden|verfügbar|beschr|erklär|behandel|hervor|reich|ersicht|beantwort|lass|lässt"
    r"|ausreich)",
    speaker=r"\b(?:ich|wir|mir|uns)\b",
    ability=r"\b(?:weiß|wissen|kann|können|konnte[nst]?|habe[n]?|find|gefunden|lage|beantwort|bin|hilf"
    r"|helf|kenn)",
    unable=r"\b(?:beantwort|antwort|bestimm|ermittel|sag)\w*\b.*\b(?:nicht möglich|unmöglich|nicht)"
    r"|\b(?:lässt|lassen) sich\b.*\bnicht\b|\b(?:nicht möglich|unmöglich)\b.*\b(?:beantwort|sagen|bestimm)",
    unstated=r"\b(?:nicht|nirgends|kein\w*|nie)\b.{0,25}\b(?:erwähnt|genannt|angegeben|gesagt|beschrieben)",
    hedge=r"\bnicht (?:ganz |so )?(?:sicher|genau)|\bgenau\b.*\bnicht\b",
    assistant=r"\bals (?:eine? )?(?:ki|künstliche|sprachmodell|ki-\w+|assistent)",
    service=r"\b(?:helfen|hilfe|beratung|ratschl|anleitung|meinung|anfrage|unterstütz|richtlinien)",
    filler=r"(?:es )?tut mir (?:sehr )?leid|leider\b|entschuldig|bitte\b|sorry|könnten sie|wenn sie"
    r"|falls sie",
    contrast=r"aber|jedoch|allerdings|doch|obwohl|obgleich|dennoch|trotzdem",
    join=r"und|so dass|sodass|weil|da|denn",
    concluding=r"\b(?:daher|deshalb|also|somit|folglich|deswegen)\b",
    conditional=r"wenn|falls|sofern",
)

FRENCH = Words(
    denial=r"\b(?:ne|pas|aucune?s?|rien|jamais|ni|sans|manque\w*|impossible|incapable|insuffisant\w*)\b|\bn'",
    source=r"\b(?:contextes?|passages?|textes?|documents?|sources?|articles?|extraits?|informations?|données"
    r"|éléments|question|réponse|détails?|précisions?|manuel|pièces)\b",
    telling=r"\b(?:mention|précis|indiqu|contien|contenu|di(?:t|sent|re)\b|donn|fourni|il y a|il n'y a"
    r"|n'y a|trouv"
    r"|disponible|décri|permet|parl|suffi|évoqu|répon|figur|apparaî|expliqu)",
    speaker=r"\b(?:je|nous|me|on)\b|\bj'",
    ability=r"\b(?:sais|savons|peux|pouvons|puis|ai|avons|dispos|trouv|répond|suis|connais|aider|possèd)",
    unable=r"\b(?:impossible|incapable|pas possible|ne permet\w*|ne peut|ne peuvent)\b.*"
    r"\b(?:répond|déterminer|dire|savoir|réponse|répondu)",
    unstated=r"\b(?:n'|ne )\S*(?: \S+)? ?(?:pas|jamais|nulle part) (?:\w+ )?(?:mentionn|précis|indiqu"
    r"|donn|nomm|dit|fourni)",
    hedge=r"\bpas (?:\w+ )?(?:sûre?|certaine?)|\bpas (?:exactement|au juste|précisément)",
    assistant=r"\ben tant qu(?:e |')(?:\w+ )?(?:ia|modèle|intelligence|assistant)",
    service=r"\b(?:aider|aide|conseils?|instructions?|opinions?|avis|demande)",
    filler=r"(?:je suis )?(?:vraiment )?(?:désolée?|navrée?)|malheureusement|excusez|veuillez|merci"
    r"|s'il vous|pourriez",
    contrast=r"mais|cependant|toutefois|pourtant|bien qu\w*|néanmoins|en revanche",
    join=r"et|car|parce|puisque",
    concluding=r"\b(?:donc|ainsi|par conséquent|en conséquence)\b",
    conditional=r"si|s'il|lorsque|quand",
)

SPANISH = Words(
    denial=r"\b(?:no|ningun[oa]?s?|ningún|nada|nunca|jamás|ni|sin|falta\w*|imposible|insuficiente\w*"
    r"|tampoco)\b",
    source=r"\b(?:contextos?|pasajes?|textos?|documentos?|fuentes?|artículos?|fragmentos?|extractos?"
    r"|informaci(?:ón|ones)|datos|material(?:es)?|pregunta|respuesta|detalles?|manual)\b",
    telling=r"\b(?:mencion|especific|indic|conten|contien|dice|dicen|da\b|dan\b|proporcion|hay\b|encontr"
    r"|encuentr"
    r"|disponible|dispone|describ|permit|habla|suficient|respond|explic|consta|figur|aparec)",
    speaker=r"\b(?:sé|puedo|podemos|pude|tengo|tenemos|encuentro|encontré|encontramos|he|hemos|soy|dispongo"
    r"|conozco|estoy|logré|consigo|yo|sabemos)\b",
    ability=r"\b(?:sé|puedo|podemos|pude|tengo|tenemos|encuentro|encontr|capaz|dispongo|conozco|segur"
    r"|logré|sabemos)",
    unable=r"\b(?:imposible|no es posible|no se puede|no permit\w*)\b.*\b(?:respond|determin|decir|saber"
    r"|contest)",
    unstated=r"\bno (?:se |está |es |fue )*(?:mencion|especific|indic|nombr|precis|dice|da\b)",
    hedge=r"\bno (?:estoy|sé) (?:\w+ )?(?:segur|exactamente|cert|bien)",
    assistant=r"\bcomo (?:una? )?(?:ia\b|modelo|inteligencia|asistente)",
    service=r"\b(?:ayudar\w*|ayuda|consejos?|instrucciones|opini(?:ón|ones)|solicitud|petición)",
    filler=r"lo siento|lamento|lamentablemente|desafortunadamente|disculp|perdón|por favor|podrías?",
    contrast=r"pero|sin embargo|aunque|no obstante|si bien",
    join=r"y|porque|ya que|así que",
    concluding=r"\b(?:por lo tanto|por tanto|por consiguiente|así que|por eso)\b",
    conditional=r"si|cuando",
)

ITALIAN = Words(
    denial=r"\b(?:non|nessun[oa]?|nulla|niente|mai|né|senza|manca\w*|impossibile|insufficient\w*"
    r"|purtroppo)\b",
    source=r"\b(?:contest[oi]|passagg(?:io|i)|brani?|test[oi]|document[oi]|font[ei]|articol[oi]|estratt[oi]"
    r"|informazion[ei]|dati|material[ei]|domand[ae]|risposta|dettagli|manuale|argomento)\b",
    telling=r"\b(?:menzion|specific|indic|conten|contien|dic[eo]|dicono|forni|ci sono|c'è|trov|disponibil"
    r"|descriv"
    r"|permett|parla|sufficien|abbastanza|rispond|spieg|riporta|compar)",
    speaker=r"\b(?:so|posso|possiamo|ho|abbiamo|trovo|sono|riesco|conosco|possiedo|io|sappiamo)\b",
    ability=r"\b(?:so|posso|possiamo|ho|abbiamo|trov|grado|riesc|riuscit|conosco|possiedo|sicur|capace"
    r"|sappiamo)\b",
    unable=r"\b(?:impossibile|non è possibile|non si può|non permett\w*)\b.*\b(?:rispond|determin|dire"
    r"|sapere|stabil)",
    unstated=r"\bnon (?:è|sono|viene|vengono|fu) (?:\w+ )?(?:menzion|specific|indic|nomin|precis|dett"
    r"|riport|dat[oa])",
    hedge=r"\bnon (?:sono|so) (?:\w+ )?(?:sicur|cert|esattamente|bene)",
    assistant=r"\b(?:come|in quanto) (?:un[a']? ?)?(?:ia\b|modello|intelligenza|assistente)",
    service=r"\b(?:aiutar\w*|aiuto|consigli|istruzioni|opinion[ei]|richiesta)",
    filler=r"(?:mi )?(?:dispiace|scus[io])|purtroppo|per favore|spiacente|potrebbe|potresti",
    contrast=r"ma|però|tuttavia|sebbene|anche se|benché",
    join=r"e|perché|poiché|quindi",
    concluding=r"\b(?:pertanto|quindi|perciò|dunque|di conseguenza)\b",
    conditional=r"se|quando|qualora",
)

PORTUGUESE = Words(
    denial=r"\b(?:não|nenhuma?s?|nada|nunca|jamais|nem|sem|falta\w*|impossível|insuficiente\w*"
    r"|infelizmente)\b",
    source=r"\b(?:contextos?|trechos?|passagens?|textos?|documentos?|fontes?|artigos?|excertos?"
    r"|informaç(?:ão|ões)"
    r"|dados|material|materiais|pergunta|resposta|detalhes?|manual|assunto)\b",
    telling=r"\b(?:mencion|especific|indic|cont[eéê]m|diz|dizem|d[áã]o?\b|fornec|há\b|encontr|disponíve"
    r"|descrev"
    r"|permit|fala|suficient|respond|explic|consta|aparec)",
    speaker=r"\b(?:sei|posso|podemos|tenho|temos|encontrei|encontramos|consigo|consegui|sou|disponho"
    r"|conheço|eu"
    r"|estou|sabemos)\b",
    ability=r"\b(?:sei|posso|podemos|tenho|temos|encontr|conseg|capaz|disponho|conheço|certeza|segur"
    r"|sabemos)",
    unable=r"\b(?:impossível|não é possível|não se pode|não permit\w*)\b.*\b(?:respond|determin|dizer|saber)",
    unstated=r"\bnão (?:é|são|foi|está|se) (?:\w+ )?(?:mencion|especific|indic|nome|precis|dit[oa]|informad)",
    hedge=r"\bnão (?:tenho|estou|sei) (?:\w+ )?(?:certeza|cert|segur|exatamente|ao certo|bem)",
    assistant=r"\bcomo (?:uma? )?(?:ia\b|modelo|inteligência|assistente)",
    service=r"\b(?:ajudar\w*|ajuda|conselhos?|instruções|opini(?:ão|ões)|pedido)",
    filler=r"desculp|lamento|infelizmente|sinto muito|por favor|poderia",
    contrast=r"mas|porém|no entanto|contudo|embora|todavia|entretanto",
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
    """The compiled patterns of one language; the names are those of `Words`."""

    denial: re.Pattern[str]
    source: re.Pattern[str]
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
    join = parts.pop("join")
    for name in ("contrast", "conditional"):
        parts[name] = rf"(?:{parts[name]})\b"
    boundary = (
        r"[.!?…。！？;]+(?=\s|$|[\"'”»)])|:(?=\s)|\n+|\s[-–—]\s"
        rf"|,?\s+(?={parts['contrast']})|,\s+(?=(?:{join})\b)"
    )
    return Patterns(
        **{name: re.compile(part, re.IGNORECASE) for name, part in (parts | {"boundary": boundary}).items()}
    )


PATTERNS = {language: compile_words(words) for language, words in LANGUAGES.items()}
"""The patterns by language code (ISO 639-1), English first."""
