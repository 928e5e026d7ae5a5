"""Words of refusals in English, German and French: denials, sources, verbs of telling, and others."""

from __future__ import annotations

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
        lead_in: a clause that only names what the answer is based on: "based on the passages".
        search: the start of a clause in which the speaker tells what the search found.
        follow_up: a denial whose subject is in an earlier clause about the passages: "they do not say",
            "but nothing that answers it".
        absent: "is missing from the passages", "does not help with the question", "is only a guess".
        reported: an answer that somebody else did not give.
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
    lead_in: str
    search: str
    follow_up: str
    absent: str
    reported: str


ENGLISH = Words(
    denial=rf"{DENIAL}|\b(?:nowhere|impossible"
    r"|absent|omitted|guess\w*|silent|beyond|outside|decline|refuse|rather not"
    r"|rather say nothing|leaves?\b.{0,40}\bopen|would need|insufficient|inadequate|cut-?off|only|up to"
    r"|connect"
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
    r"|assist|verify|share|discuss|disclose|retrieve|browse|speculate|fulfil|generate|provide|give|able"
    r"|confirm|comment|access|offer|identify|locate|comply|recall|understand)\b"
    r"|(?:\b(?:not|no|any|enough|sufficient|more)|n't)\b.*\b(?:information|access|answer|knowledge|idea"
    r"|clue|opinions?"
    r"|comment|data|records?|details?|context)\b"
    r"|\bi (?:(?:must|have to|will|need to) )?(?:\w+ly )?(?:decline|refuse)\b|\bwon't\b"
    r"|\b(?:beyond|outside) .*\b(?:know|knowledge|learned|area)|\brather (?:not|say nothing)"
    r"|\bneed .*\b(?:more|further|details|context)\b",
    unable=r"\b(?:cannot|can't|could not|couldn't|unable|impossible|not possible|not able)\b.*"
    r"\b(?:answer|answered|determined?|say|tell|infer(?:red)?|conclude|establish|confirm)\b|^no (?:idea"
    r"|clue|comment)|\banswer is not possible|\bleave\b.{0,20}\b(?:question|answer)\b.{0,10}\bopen"
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
    r"|(?:as|because|since) .*\b(?:dangerous|harmful|illegal|unsafe|unethical|against)\b|you asked about",
    contrast=r"but|however|though|although|yet|nevertheless|that said|while|whereas",
    join=r"and|so|because|since|as|it|they|he|she|there",
    concluding=r"\b(?:therefore|thus|hence|so|consequently|as a result)\b",
    conditional=r"if|when|unless|in case",
    lead_in=r"(?:based|according|judging|from|given|in|with|within|using|on the basis)\b[^,]{0,60}"
    rf"\b(?:{SOURCE}|passages?|results)\b(?: \w+){{0,4}},?",
    search=r"(?:i|we)(?:'ve| have| can)?(?: \w+ly)? (?:found|find|see|saw|look|check|search|read\b|review"
    r"|went)"
    r"(?!\w* that\b)",
    follow_up=r"^(?:they|it|these|those)\b.{0,30}(?:\bnot\b|n't|\bnever\b)[\w, ]{0,20}"
    r"\b(?:say|state|mention|giv|tell|name|answer|specif|discuss|describ|explain|cover|contain|includ|provid"
    r"|address|reveal|indicat|report|list)"
    r"|^(?:none|nothing|neither|not one|no (?:passage|source|document|text))\b.{0,40}"
    r"\b(?:say|state|mention|giv|tell|name|answer|specif|discuss|describ|contain|provid|address|help|about"
    r"|on)"
    r"|\b(?:not|n't|never) (?:\w+ )?(?:discussed|described|given|covered|addressed|listed|named|explained"
    r"|reported|provided|included)\b",
    absent=rf"\b(?:missing|absent|left out|omitted) (?:from|in)\b.*\b{SOURCE}"
    rf"|\b(?:none|neither) of (?:the|these|those)\b.*\b{SOURCE}\b.*\b(?:has|have|had|contains?|gives?) any"
    rf"|\bnothing (?:about|on|regarding|in (?:the|these|this|any))\b.*\b{SOURCE}|\b{SOURCE}\b.*\b(?:has"
    rf"|have|say|says) nothing\b"
    r"|\b(?:not|n't|no)\b.{0,20}\b(?:help|useful|use|relevant)\b.{0,20}\bquestion"
    r"|\b(?:would|could|can) (?:only |just )?(?:be )?(?:an? )?(?:\w+ )?guess"
    r"|\bno (?:\w+ )?(?:grounds?|basis|reason)\b.*\banswer",
    reported=r"\b(?:said|told|replied|declared|admitted|testified|claimed|announced|explained|stated"
    r"|wrote)\b.*"
    r"\b(?:he|she|they|it)\b.*(?:\bnot\b|n't|\bno\b|\bunable\b)|\b(?:gave|received|got) no (?:answer"
    r"|reply)\b",
)

GERMAN = Words(
    denial=r"\b(?:nicht|kein\w*|nichts|nie|niemals|nirgend\w*|weder|ohne|fehl\w+|leider|unmöglich|mangels|raten|geraten|spekul\w*"
    r"|schweig\w*"
    r"|offen|überfragt|hinaus|ablehn\w*|bräuchte|außerhalb|bis|verbinde|leite|weiterleite)\b",
    source=r"\b(?:kontext\w*|passagen?|text\w*|dokument\w*|unterlagen|quellen?|artikel\w*|auszüg\w*|auszugs?"
    r"|informationen?|daten|material\w*|angaben?|frage|antwort(?:en)?|handbuch\w*|bericht\w*|details"
    r"|ihnen)\b",
    telling=r"\b(?:erwähn|nenn|genannt|enthalt|enthält|steht|stehen|\bsag(?:t|en|te|ten)\b|gesagt|angegeben"
    r"|angab|lieg|gibt"
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
    r"|(?:weil|da|denn) .*\b(?:gegen|gefährlich|schädlich|illegal|verboten)\b",
    contrast=r"aber|jedoch|allerdings|doch|obwohl|obgleich|dennoch|trotzdem|zwar",
    join=r"und|so dass|sodass|weil|da|denn|er|es|sie|sein|ihr",
    concluding=r"\b(?:daher|deshalb|also|somit|folglich|deswegen)\b",
    conditional=r"wenn|falls|sofern",
    lead_in=r"(?:auf (?:der )?(?:grundlage|basis)|laut|nach|gemäß|anhand|aus|ausgehend|basierend|in|im"
    r"|mit)\b[^,]{0,60}"
    r"\b(?:kontext\w*|passagen?|text\w*|dokument\w*|unterlagen|quellen?|auszüg\w*"
    r"|material\w*)(?: \w+){0,2},?",
    search=r"(?:ich (?:habe|sehe|finde|fand)|in den \w+ (?:sehe|finde) ich)\b(?! dass\b)",
    follow_up=r"^(?:sie|er|es|diese[rs]?)\b.{0,40}\b(?:nicht|nichts|nie)\b|^(?:keine[rs]?|nichts"
    r"|weder)\b.{0,40}"
    r"\b(?:sag|nenn|erwähn|beantwort|angeb|angib|gibt|enthält|beschreib|erklär|hilf|helf|steht|zu|über)"
    r"|\bnennen? (?:sie|er|es)\b.*\bnicht|\bnicht (?:\w+ )?(?:besprochen|beschrieben|behandelt|aufgeführt"
    r"|erklärt)",
    absent=r"\bfehl(?:t|en)\b.{0,12}\b(?:im|in de[nmr]|in diese[nmr])\b.*"
    r"\b(?:kontext\w*|passagen?|text\w*|dokument\w*|unterlagen|quellen?|auszüg\w*)"
    r"|\b(?:über|zu[mr]?)\b.*\b(?:steht|findet sich|gibt es)\b.*\bnichts\b"
    r"|\b(?:hilft|helfen|nützt|nützen)\b.*\bfrage\b.*\bnicht\b|\bfrage\b.*\bnicht weiter\b"
    r"|\b(?:nur|bloß) (?:raten|geraten|spekulier\w*)|\bwäre\b.*\b(?:geraten|spekulation)"
    r"|\bkein(?:e|en)? (?:grund(?:lage)?|basis|anhaltspunkt\w*)\b.*\bantwort"
    r"|\b(?:nicht|kaum) möglich\b.*\bantworten|^im \w+ nicht (?:erwähnt|genannt|angegeben)"
    r"|\bkeine der (?:passagen|quellen|texte)\b",
    reported=r"\b(?:sagten?|teilten?|erklärten?|antworteten?|berichteten?|schrieb(?:en)?)\b.*"
    r"\b(?:er|sie)\b.*\b(?:könn\w*|wiss\w*|wüsst\w*|hab\w*)|\bgab(?:en)? \w+ (?:\w+ )?keine (?:antwort"
    r"|auskunft)\b",
)

FRENCH = Words(
    denial=r"\b(?:ne|pas|aucune?s?|rien|jamais|ni|sans|manque\w*|absente?s?|omise?s?"
    r"|non (?:mention|précis|indiqu)\w*|deviner|supposition|impossible|incapable|insuffisant\w*"
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
    service=r"\b(?:aider|aide|conseils?|instructions?|opinions?|avis|demande|règles|refuse|dangereu\w*"
    r"|illégal\w*)\b",
    filler=r"(?:je suis )?(?:vraiment )?(?:désolée?|navrée?)|malheureusement|excusez|veuillez|merci"
    r"|s'il vous|pourriez|(?:car|parce|puisque) .*\b(?:dangereux|illégal|nuisible|contraire|interdit)\b",
    contrast=r"mais|cependant|toutefois|pourtant|bien qu\w*|néanmoins|en revanche",
    join=r"et|car|parce|puisque|il|elle|ils|elles|on|l'année",
    concluding=r"\b(?:donc|ainsi|par conséquent|en conséquence)\b",
    conditional=r"si|s'il|lorsque|quand",
    lead_in=r"(?:sur la base|selon|d'après|à partir|au vu|dans|avec|compte tenu)\b[^,]{0,60}"
    r"\b(?:contextes?|passages?|textes?|documents?|sources?|extraits?|matériel|éléments)(?: \w+){0,2},?",
    search=r"(?:j'ai|je (?:vois|trouve)|nous avons)\b(?: \w+)? ?(?:trouvé|vu|lu|cherché|parcouru|examiné"
    r"|vérifié"
    r"|consulté|plusieurs|des|quelques)?(?! que\b)",
    follow_up=r"^(?:ils?|elles?|ce(?:la|s|ux|lles)?)\b.{0,30}\b(?:ne |n').{0,30}\b(?:pas|rien|jamais"
    r"|aucune?)\b"
    r"|^(?:aucune?|rien|ni)\b.{0,40}\b(?:dit|dise|donne|mentionne|répond|précise|indique|parle|explique"
    r"|contient"
    r"|aide|sur)"
    r"|\b(?:n'est|n'y est|ne sont|n'y sont) (?:pas|jamais) (?:\w+ )?(?:abord|décri|trait|évoqu|expliqu|list)",
    absent=r"\b(?:manque\w*|absente?s?|omise?s?) (?:dans|d[eu]s?|du)\b.*"
    r"\b(?:contextes?|passages?|textes?|documents?|sources?|extraits?)"
    r"|\baucune? des? (?:passages?|sources?|documents?|textes?)\b"
    r"|\brien (?:sur|à propos|concernant)\b.*\b(?:contextes?|passages?|textes?|documents?|sources?)"
    r"|\bn'aiden?t? (?:\w+ )?pas\b.*\bquestion|\bn'y répond\w* pas\b"
    r"|\bferais que (?:deviner|spéculer)|\bserait (?:\w+ )?(?:une )?(?:supposition|devinette)"
    r"|\baucune (?:base|raison|indication)\b.*\brépon|\bn(?:on|'est pas) (?:mentionn|précis"
    r"|indiqu)\w+ (?:dans|par)\b",
    reported=r"\b(?:a|ont|avait) (?:dit|déclaré|répondu|expliqué|indiqué|annoncé|écrit)\b.*\bqu(?:'"
    r"|e )(?:ils?|elles?)\b"
    r"|\bn'(?:a|ont) (?:donné|reçu|obtenu) aucune (?:réponse|explication)\b|\bn'a (?:pas )?répondu\b"
    r"|^personne ne\b",
)
