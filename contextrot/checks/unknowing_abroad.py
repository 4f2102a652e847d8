"""The words of not knowing, and of asking for what is missing, in other languages than English.

For each: "you have not told me", "I have no …", "it is not known", "please tell me". Casefolded plain text.
"""

from __future__ import annotations

import re

#: a few words between an auxiliary and what it belongs to
_FEW = r"(?: [^\s.,;:!?]+){0,6}?"

ADMITS = re.compile(
    r"(?:"
    # German: "du hast mir keinen Termin genannt", "ich habe keine Adresse", "ist mir nicht bekannt"
    rf"\bich (?:habe|kenne|weiss|finde|sehe|kann){_FEW} (?:kein\w*|nicht|nichts)\b"
    rf"|\b(?:hast|haben|habt|hat|wurden?|ist|sind|liegt|liegen|gibt es){_FEW} (?:nicht|nie|nichts|kein\w*)\b{_FEW}"
    r" (?:genannt|gesagt|angegeben|mitgeteilt|erwähnt|gegeben|bekannt|hinterlegt|vermerkt|verraten|vor)\b"
    rf"|\bkein\w*{_FEW} (?:genannt|angegeben|mitgeteilt|erwähnt|bekannt|hinterlegt|vermerkt)\b"
    rf"|\bweiss ich{_FEW} nicht\b|\bliegt mir{_FEW} (?:nicht|kein\w*)\b|\bfehl(?:t|en) mir\b|\bunbekannt\b"
    r"|\A\W*(?:leider )?keine (?:angaben?|informationen?|daten|ahnung)\b"
    # French
    r"|\b(?:vous|tu|on) (?:ne )?(?:m'|me )?(?:l'|les? )?(?:avez|as|a) (?:pas|jamais|rien)\b"
    r"|\bje n'(?:ai|en ai|y ai) (?:pas|aucune?|rien|jamais)\b"
    r"|\bje ne (?:l'|le |la |les |me |m'en )?(?:connais|trouve|dispose|vois|retrouve|peux|"
    r"sais|souviens|rappelle) (?:pas|aucune?|rien)\b"
    r"|\b(?:vous|tu) ne (?:m'|me )?(?:l'|les? )?(?:avez|as) (?:pas|jamais|rien)\b"
    rf"|\bn'(?:a|ont) (?:pas|jamais) été\b|\baucune?{_FEW} (?:n'|mentionn|fourni|précis|indiqu|communiqu|trouv|donné)"
    r"|\bnon (?:précisée?|communiquée?|fournie?|renseignée?)\b|\binconnue?\b"
    # Spanish
    r"|\bno (?:me )?(?:l[oa]s? )?(?:has|ha|habéis|han|hay) (?:dicho|dado|mencionado|indicado|proporcionado|compartido|"
    r"facilitado|ning[uú]n\w*|constancia)\b"
    r"|\bno (?:l[oa]s? )?(?:tengo|dispongo|encuentro|veo|conozco|recuerdo|consta)\b"
    r"|\bdesconocid[oa]\b"
    # Italian
    r"|\bnon (?:mi )?(?:l[oae] )?(?:hai|ha|avete|hanno) (?:mai )?(?:detto|dato|fornito|indicato|menzionato|comunicato)"
    r"\b"
    r"|\bnon (?:l[oae] |ne )?(?:ho|conosco|trovo|vedo|dispongo|ricordo|risulta)\b|\bsconosciut[oa]\b"
    # Portuguese
    r"|\bnão (?:me )?(?:disse|informou|mencionou|deu|forneceu|indicou|passou|contou)\b"
    r"|\bnão (?:tenho|encontro|encontrei|vejo|conheço|consta|lembro)\b|\bdesconhecid[oa]\b"
    # Dutch
    rf"|\b(?:je|u|jullie) (?:hebt|heb|heeft|had|hebben){_FEW} (?:niet|geen|nog niet|nooit)\b"
    rf"|\bik (?:heb|ken|vind|zie|beschik){_FEW} (?:geen|niet)\b|\bonbekend\b"
    r")"
    "|教えて(?:いただいて|もらって|くれて)(?:いません|いない|ない)|(?:伺って|聞いて|承って|把握して)(?:いません|おりません|いない)"
    "|(?:記録|情報|記載)(?:が|は)(?:ありません|ない|ございません)|没有(?:告诉|提供|提到|说过|相关|记录|给我)|未(?:提供|提及|说明|告知)"
    "|(?:알려|말씀해|말해) ?(?:주신|주지|준)[^.]{0,12}(?:없|않)|정보가 없|기록이 없"
)
ASKS = re.compile(
    r"\bbitte\b|\b(?:kannst|könntest|könnten|würdest|würden) (?:du|sie)\b|\bteil(?:e|en)? (?:sie )?(?:es |sie )?mir\b"
    r"|\b(?:veuillez|pourriez-vous|pouvez-vous|peux-tu|pourrais-tu|merci de|s'il (?:vous|te) plaît)\b"
    r"|\b(?:por favor|podrías?|puedes|puede|podría usted|dime|indícame)\b"
    r"|\b(?:per favore|potresti|potrebbe|puoi|può dirmi)\b"
    r"|\b(?:você pode|poderia|pode me)\b|\b(?:alstublieft|kunt u|kun je|kan je|laat me weten)\b"
    r"|ください|下さい|いただけます|请(?:告诉|提供|问)|알려 ?(?:주|줄)"
)
