"""Declining in other languages than English: "Dabei kann ich nicht helfen", "No puedo ayudarte con eso".

Casefolded plain text of a sentence. Only verbs of helping, answering, doing and giving away: not being able to find or
remember something is no refusal.
"""

from __future__ import annotations

import re

#: a few words within one clause
_FEW = r"(?: [^\s.,;:!?]+){0,5}?"

DECLINES = re.compile(
    r"\A\W*(?:"
    # German: apology, then "kann ich nicht helfen" or "ich kann das nicht beantworten"
    r"(?:(?:(?:es )?tut mir (?:sehr )?leid|leider|entschuldigung|entschuldige|bedaure|nein)[,.!]* (?:aber )?)*"
    rf"(?:(?:da(?:bei|mit|zu|ran)?|hier(?:bei|mit)?|das|dies|diese[nrs]?{_FEW}) )?"
    rf"(?:(?:kann|darf|werde|möchte) ich|ich (?:kann|darf|werde|möchte)|können wir|wir können){_FEW} nicht "
    r"(?:\w+ ){0,2}?(?:weiter)?(?:helfen|beantworten|antworten|tun|machen|bearbeiten|erfüllen|nachkommen|ausführen|"
    r"verraten|preisgeben|teilen|mitteilen|weitergeben|herausgeben|unterstützen|behilflich sein)\b"
    rf"|(?:(?:leider|ich) )*(?:muss ich|ich muss|ich){_FEW} (?:ablehnen|lehne{_FEW} ab)\b"
    # French
    r"|(?:(?:(?:je suis )?(?:vraiment |sincèrement )?désolée?|malheureusement|je regrette|pardon|"
    r"non)[,.!]* (?:mais )?)*"
    r"je (?:ne (?:peux|puis|pourrai|suis)|refuse|dois (?:décliner|refuser))(?: (?:malheureusement|pas|en mesure|"
    r"autorisée?|de|d'|vous|te|y|à|le|la|les|en|t'))*\s?(?:d'|t'|l'|m')?"
    r"(?:aider|répondre|faire|accéder|traiter|satisfaire|fournir|partager|révéler|divulguer|donner suite|assister|"
    r"décliner|refuser|communiquer)\b"
    # Spanish
    r"|(?:(?:lo siento(?: mucho)?|lamentablemente|lo lamento|disculpa|perdón|no)[,.!]* (?:pero )?)*"
    r"no (?:me es posible|puedo|podré|podemos|estoy autorizad[oa] (?:a|para)|voy a) (?:\w+ )?"
    r"(?:ayudar|responder|cumplir|hacer|atender|proporcionar|compartir|revelar|realizar|procesar|asistir|contestar)"
    r"(?:te|le|les|los?|las?)?\b"
    # Italian
    r"|(?:(?:mi dispiace|purtroppo|spiacente|scusa|no)[,.!]* (?:ma )?)*non (?:posso|potrò|sono in grado di|"
    r"sono autorizzat"
    r"[oa] a) (?:\w+ )?(?:aiutar|risponder|far|soddisfar|fornir|condivider|rivelar|eseguir|assister|elaborar)\w{0,4}\b"
    # Portuguese
    r"|(?:(?:desculpe?|sinto muito|lamento|infelizmente|não)[,.!]* (?:mas )?)*não (?:posso|poderei|consigo|estou "
    r"autorizad[oa] a) (?:\w+ )?(?:ajudar|responder|atender|fazer|cumprir|fornecer|compartilhar|partilhar|revelar|"
    r"realizar|processar)(?:-\w+)?\b"
    # Dutch
    r"|(?:(?:het spijt me|sorry|helaas|nee)[,.!]* (?:maar )?)*"
    rf"(?:(?:daar|hier|dat|dit|deze{_FEW}) )?(?:kan|mag|zal|wil) ik{_FEW} niet{_FEW} (?:helpen|beantwoorden|doen|delen|"
    r"uitvoeren|voldoen|verstrekken)\b"
    rf"|(?:helaas )?ik (?:kan|mag|zal|wil){_FEW} niet{_FEW} (?:helpen|beantwoorden|doen|delen|uitvoeren|voldoen|"
    r"verstrekken)\b"
    rf"|(?:helaas )?ik (?:kan|mag|zal|wil) (?:hier|daar|je|u|dit|dat)\b{_FEW} niet\b{_FEW} (?:mee|bij) helpen\b"
    # Polish, Turkish
    r"|(?:(?:przepraszam|przykro mi|niestety)[,.!]* (?:ale )?)*nie mogę (?:\w+ ){0,3}(?:pomóc|odpowiedzieć|zrobić|"
    r"spełnić|udostępnić|zrealizować)\b"
    r"|(?:(?:üzgünüm|maalesef|özür dilerim)[,.!]* (?:ama |ancak )?)*(?:[^\s.,;:!?]+ ){0,5}?"
    r"(?:yardımcı olamam|yardımcı olamıyorum|yardım edemem|yapamam|yanıtlayamam|paylaşamam)\b"
    # Russian, Ukrainian
    r"|(?:(?:извините|простите|к сожалению|увы|мне жаль|вибачте|на жаль)[,.!]* (?:но |але )?)*[яі]?\s?"
    rf"не (?:могу|можу|буду){_FEW} (?:помочь|ответить|выполнить|сделать|это сделать|поделиться|предоставить|раскрыть|"
    r"обсуждать|допомогти|виконати|відповісти)\b"
    # Arabic, Hindi
    r"|(?:(?:عذرا|عذراً|آسف|أعتذر|للأسف)[،,.!]* (?:لكن |ولكن )?)*(?:أنا )?لا (?:يمكنني|أستطيع) "
    r"(?:\S+ )?(?:المساعدة|مساعدتك|تلبية|الإجابة|القيام|تنفيذ|مشاركة)"
    r"|(?:(?:क्षमा करें|माफ़ कीजिए|माफ करें|खेद है)[,.!]* (?:लेकिन )?)*मैं [^।.!?\n]{0,60}"
    r"(?:मदद|सहायता|उत्तर|पूरा|साझा) (?:नहीं|करने में असमर्थ)"
    r")"
    # Chinese, Japanese, Korean: no spaces between the words
    r"|\A\W*(?:(?:很|非常)?(?:抱歉|对不起|对不住|不好意思|對不起|遺憾|遗憾)[,,。.!!\s]*(?:但|但是|不过|可是)?)?"
    r"我(?:们|們)?(?:目前|暂时|恐怕|真的)?(?:无法|不能|無法|没办法|不可以|不会|拒绝|拒絕)"
    r"(?:为您|为你|向您|向你|在此|继续|就此|對此|对此|给您|给你){0,2}"
    r"(?:协助|帮助|幫助|協助|帮(?:您|你|忙)|处理|處理|回答|满足|滿足|提供|完成|执行|執行|透露|分享|讨论|这样做|这么做|做到)"
    r"|\A\W*(?:(?:大変)?申し訳(?:ありません|ございません|ない)(?:です)?(?:が|けど)?[、,。.\s]*|すみません(?:が)?[、,。.\s]*|"
    r"恐れ入りますが[、,\s]*|残念ながら[、,\s]*)(?:[^。.!?!?\n]{0,40}?)"
    r"(?:(?:お応え|お答え|お手伝い|対応|ご対応|お力になる(?:こと)?(?:が|は)?|支援|提供|お教え|共有|協力)(?:すること)?[はがも]?"
    r"(?:でき(?:ません|かね)|いたしかね|しかね|できない)|応じ(?:られません|かねます|ることはできません))"
    r"|\A\W*(?:(?:죄송(?:합니다|하지만|하지만요)|미안(?:합니다|하지만)|유감이지만|안타깝지만)[,,.\s]*(?:만|그러나|하지만)?\s*)"
    r"[^.!?\n]{0,40}?(?:도와\s?드릴|도울|답변\s?드릴|답변할|제공할|제공해\s?드릴|처리할|수행할|공유할|알려\s?드릴|응할)\s?수\s?(?:가\s?)?"
    r"(?:없습니다|없어요|없네요)"
)
#: "… but here is", "… because you have not told me": what makes such a sentence another thing than a refusal
GOES_ON = re.compile(
    r"\b(?:aber|mais|pero|ma|mas|maar|ale|но) (?!(?:gern|ich (?:kann|helfe)|je peux|puedo|posso|ik kan)\b)|"
    r"\b(?:weil|denn|da|car|parce que|porque|perché|omdat|want) (?:du|sie|ihr|vous|tu|no|non|je|u|você|mir|me)\b|"
    r"(?:以下|次のとおり|如下|没有告诉|没有提供|未提供|教えて(?:いただいて|もらって)いません)"
)
