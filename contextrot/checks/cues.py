"""The words that bind to a value and say how it is meant: denied, past, current, a bound, an alternative, a question.

Patterns only, over casefolded plain text; `stance.py` decides in which order they speak. A name in `_LEFT` is searched
in the words before a value and ends at it, one in `_RIGHT` is matched at the words after it.
"""

from __future__ import annotations

import re

BREAK = re.compile(
    r"(?<!\bapprox)(?<!\bno)(?<!\bca)(?<!\bc)[.!;…]+[\"')\]]*(?=\s|$)|\?+[\"')\]]*(?=[\s—]|$)|"
    r"[\U0001f300-\U0001faff]\s(?=[^\W\d_a-z])|"
    r"\n(?=[\n\-*•#>|\d]|"
    r"[^\W\d_a-z]|$)"
)
_FILL_WORDS = (
    "the|a|an|in|at|to|on|for|by|of|as|be|been|being|is|was|are|were|it|it's|its|that|that's|this|there|here|"
    "called|named|titled|set|equal|equals|actually|really|your|our|my|their|his|her|code|value|number|answer|"
    "city|figure|amount|budget|one|located|based|situated|scheduled|stored|held|kept|used|say|said|saying|says|"
    "mean|meant|meaning|think|thought|believe|you|i|we|he|she|they|longer|any|exactly|quite|still|use|using|with|"
    "room|date|name|color|colour|told|me|given|gave|give|stated|mentioned|noted|recorded|reads|limit|total|price|"
    "password|key|id|stand|stands|sits|have|had|has|go|went|would|will|should|can|could|did|does|do|so|like|either|"
    "version|entry"
)
_LEAD = r"[\s\"'(\[:#=>|_—]*"
FILL = rf"(?:{_LEAD}(?:{_FILL_WORDS})(?![^\W_]))*{_LEAD}\Z"
CHANGE = (
    r"(?:chang|updat|rais|increas|lower|reduc|cut|revis|correct|amend|adjust|mov|switch|replac|supersed|bump|push|"
    r"lift|boost|hik|slash|trim|expand|overrod|overwr|"
    r"slow|sped|speed|reschedul|shift|rename|modif|overrid|overrul|drop|rose|rise|grew|grown|brought|decreas|extend|"
    r"shorten|postpon|swap|edit|went|transfer|relocat|migrat)"
    r"[a-z]{0,6}"
)
DENY_LEFT = re.compile(
    r"(?:(?<![^\W_])(?:not(?! (?:only|just|merely|simply|until|before)\b)|never|nor|neither|cannot|"
    r"rather than|instead of|"
    r"(?<!none )(?<!no )(?<!nothing )other than|as opposed to|unlike|no longer|(?<!n't be )(?<!not be )"
    r"(?:any|every)(?:thing|where|one|body) but|(?<!no )(?:all|any)(?: (?!more|longer)[\w-]+)? but|"
    r"different (?:from|to)|"
    r"except(?: for)?|excluding)"
    rf"(?![^\W_])|n't(?! (?:only|just|merely|until|before)\b)|!=|≠)(?:{FILL}|\s\d{{1,4}} \Z)"
)
#: "decided against Nantes", "far from Nantes", "wrong to say Nantes", "Do not take 3 tablets"
AVERSE_LEFT = re.compile(
    r"\b(?:(?:decid|vot|advis|argu)ed against|rul(?:ed|es|ing) (?:it )?out|reject(?:ed|s|ing)|declin(?:ed|es|ing)|"
    r"(?:den(?:y|ies|ied)|disput(?:e|es|ed))(?: that)?|(?:(?:mov|pull|relocat)ed )?(?:far|away) from|"
    r"(?:false|wrong|incorrect|untrue|a mistake) to (?:say|think|assume|call|claim))"
    rf"{FILL}|(?:\b(?:never|not)|n't) (?:\w+ )?(?:told|tell|heard?|talk(?:ed)?|spoken?|said|know|knew)(?: me| us)? "
    rf"(?:anything )?(?:about|of){FILL}|"
    r"(?:\bnothing|\bno (?:information|info|details?|records?|mention|data|notes?|knowledge|memory))"
    rf" (?:about|of|on|regarding) (?:an? [\w-]+ (?:in|at|on) )?{FILL}|"
    rf"(?:\b(?:do|does|did|should|must|can|could|will|would) not|"
    rf"\b(?:do|does|did|should|must|ca|could|wo|would)n't|\bcannot) (?!{CHANGE}\b|(?:forget|"
    r"worry|doubt|share|disclose|reveal|tell|lose|miss|mind|leave|hide|contradict|question|help|have|be|need|recall|"
    r"remember|actually|really|just|only)\b)[a-z]+ (?:the |an? |your |any )?[\"'(]*\Z"
)
#: "They left Nantes": of names only, for "left 7" counts
LEFT_LEFT = re.compile(r"\b(?:(?:has|have|had|we|they|you|i|he|she) left|out of|quit) (?:the )?[\"']*\Z")
#: "There is no depot in Nantes", when the sentence says no more than that
NONE_LEFT = re.compile(
    r"\bno (?!doubt|question|problem|other|longer|need|one\b|idea|way\b|worries|matter|change|less|more|later|secret)"
    r"[a-z]+ (?:[a-z]+ )?(?:in|at|on|for|under|with|named|called) (?:the )?[\"']*\Z"
)
NO_MORE_RIGHT = re.compile(r"[\s\"')]*(?:\Z|[,;] (?:it|but|only|the|we)\b)")
#: "I was about to say C4", "I nearly wrote C4"
WITHHELD_LEFT = re.compile(
    r"\b(?:(?:was|were|am|'m|been) (?:just |already )?(?:about|going|tempted|inclined|ready) to|(?:almost|nearly)|"
    rf"would(?:'ve| have)|could have) (?:say|said|write|wrote|written|answer(?:ed)?|tell|told|give|gave|given|put|"
    rf"type[d]?|"
    rf"repl(?:y|ied)|go with|gone with|name[d]?)(?: you)?{FILL}"
)
#: a limit that is written as one: "<= 250 ms (p95)"
LIMIT_SIGN_LEFT = re.compile(r"<=\s?\Z")
LIMIT = re.compile(
    r"\b(?:limits?|budget|cap|ceiling|threshold|targets?|maximum|allowance|quota|sla|slo|p\d\d\d?|tolerance|deadline)\b"
)
#: a label whose words say when it was so: `"previous_reviewer": `, `old price: `
KEY_LEFT = re.compile(
    r"(?<![^\W_])[\"']?(?:(?P<former>(?:previous|prev|old|former|prior|superseded|original|earlier|outdated|obsolete)"
    r"(?:[_-]?[^\W_]+){0,3}|(?:[^\W_]+[_-]){1,3}(?:previous|prev|old|former|before|prior))|"
    r"(?:current|new|latest|updated|actual)(?:[_-]?[^\W_]+){0,3}|(?:[^\W_]+[_-]){1,3}(?:current|new|now|latest))"
    r"[\"']?\s?[:=]\s?[\"'\[(]*\Z"
)
#: "since Dock 3 is being repaved": the reason for something else
REASON_LEFT = re.compile(
    r"\b(?:since|because|as|seeing (?:as|that)|given that|now that|after|when|once)\s+(?:the |our |your )?[\"']*\Z"
)
REASON_RIGHT = re.compile(
    r"[\"')\]]*\s+(?:is|are|was|were|has|have|had|can|could|did|does|do|would|will|won't|no longer|fell|became|went|"
    r"got|ran|kept|failed|proved|turned|lost|missed|withdrew|closed|dropped|pulled|quit|resigned|retired|left|moved|"
    r"raised|"
    r"couldn't|can't|cannot|didn't|doesn't|wouldn't|isn't|wasn't|hasn't|backed|broke|cancel+ed|sold|took|never)\b"
)
#: "the spec sheet still lists Baltic Boards"
OLD_DOCUMENT_LEFT = re.compile(
    r"\b(?!(?:it|he|she|we|you|i|they|this|that)\b)[^\W_]+ (?:still |also still )(?:lists?|shows?|says?|reads?|"
    r"mentions?|"
    rf"names?|gives?|has|have|refers? to|carr(?:y|ies)|contains?|states?|prints?|displays?|points? to|uses?){FILL}"
)
PAST_ABROAD_LEFT = re.compile(
    r"\b(?:ursprünglich|vorher|zuvor|früher|bisher|anfangs|zunächst|initialement|auparavant|avant|d'abord|antes|"
    r"originalmente|inicialmente|anteriormente|prima|inizialmente|oorspronkelijk|eerst|voorheen|anziché|statt|"
    r"au lieu de|"
    r"en lugar de|en vez de|em vez de|invece di|in plaats van)\b[^.;,!?\n()]{0,25}\Z"
)
NOW_ABROAD_LEFT = re.compile(
    r"\b(?:jetzt|nun|aktuell|inzwischen|mittlerweile|neuerdings|maintenant|désormais|ahora|actualmente|agora|adesso|"
    r"attualmente|tegenwoordig|nu|verschoben auf|geändert auf|reporté[es]* au|cambiad[oa] a|spostat[oa] a)\b"
    r"[^.;,!?\n()]{0,25}\Z"
)
UNSURE_LEFT = re.compile(
    r"(?:\b(?:not|n't|never) (?:\w+ ){0,2}(?:sure|certain|know|tell|say|confirm|remember|recall)|"
    r"n't (?:sure|certain|know|tell|say|confirm|remember|recall)|"
    rf"\bunsure|\bno idea|\bunclear|"
    rf"\b(?<!no )(?<!without )(?<!a )(?<!n't )(?<!any )(?<!beyond )doubt(?:ful)?) (?:if|whether|that|it|"
    rf"about){FILL}|(?<!no )(?<!without )(?<!a )(?<!n't )(?<!any )(?<!beyond )\bdoubt{FILL}"
)
DENY_RIGHT = re.compile(
    r"[\"')\]]*\s*(?:(?:is|was|are|were|has|would be|can|could|does|'s)\s*(?:n't|not|never)(?:\s+(?:been|"
    r"be))?\s+(?:an? )?(?:the\b|your\b|our\b|my\b|"
    r"her\b|his\b|their\b|its\b|what\b|where\b|it\b|right\b|correct\b|valid\b|true\b|accurate\b|"
    r"(?:option|possibility|candidate|choice)\b|chosen\b|considered\b|selected\b|confirmed\b|"
    r"mentioned\b(?! again| since| anywhere)|applicable\b|current\b|real\b|"
    r"used\b|in use\b|that\b|anymore\b|any more\b)|"
    r"(?:is|was|are|were|isn't|'s)\s+(?:the )?(?:wrong|incorrect|false|mistaken|invalid)\b|(?:isn't|"
    r"wasn't|ain't)\s*[.,;!])"
)
FORMER_LEFT = re.compile(
    rf"\b(?:used to|no longer|stopped|quit|gave up)(?: [a-z]+){{0,2}}{FILL}|(?:\b(?:up|down) from|"
    rf"\b(?:took|takes|taken|taking) over from|"
    rf"\bformer(?:ly)?|\b(?:in place|in lieu) of|\bsucceed(?:s|ed|ing)?(?! by\b)|"
    r"(?<!n't )(?<!not )(?<!never )(?<!not to )(?<!never to )\b(?:forget|"
    rf"disregard|ignore|discard|scrap)|\b(?:replac|supersed|overrid|overrod|overwr)[a-z]{{1,6}}(?! (?:by|with)\b)|"
    rf"\b{CHANGE} (?:[\w']+ ){{0,5}}from|\b(?:outdated|obsolete|superseded(?! by)|stale|expired)){FILL}"
)
FORMER_RIGHT = re.compile(
    rf"[\"')\]]*\s*(?:->|(?:(?:was|is|has been|had been|were|got|has since been|have been)\s+(?:(?:since|"
    rf"later|then|now|subsequently)\s+)?)"
    rf"{CHANGE}\s+(?:by|with|to)\b|[^,;.]{{0,25}}\b(?:is|are|was|has become)\s+(?:now\s+)?(?:no longer|"
    rf"outdated|obsolete|superseded|void|stale|out of date|not any ?more)\b|"
    r"[^,;.]{0,15}\b(?:was|is|has been|were|got)\s+(?:since |later |then |now )?(?:dropped|scrapped|"
    r"cancel+ed|abandoned|discarded|withdrawn|retired|rejected|deprecated)\b|\((?:outdated|obsolete|"
    r"superseded|old|no longer[^)]*)\))"
)
NO_LONGER_RIGHT = re.compile(r"[\"')\]]*\s*(?!and\b|but\b)[^,;.]{0,15}?\bno longer\b(?P<rest>.*)", re.S)
UNCHANGED = re.compile(rf"(?:n't|\bnot|\bnever)(?: been| yet| [a-z]+ly)? {CHANGE}")
RAISED_UP_TO = re.compile(rf"\b{CHANGE} (?:[\w']+ ){{0,3}}up to{FILL}")
DATE_BOUND_LEFT = re.compile(r"\b(?:before|after) (?:the )?\Z")
CLOCK_BOUND_LEFT = re.compile(r"\b(?:before|after|until|till|past)\s*\Z")
PAST_LEFT = re.compile(
    rf"(?<![^\W_])(?:was|were|had been|previously|originally|initially|earlier|before|beforehand|"
    rf"at first|first(?:ly)?|old(?:er)?|prior|previous|"
    rf"original|initial|past|began|begun|start(?:ed|ing)?(?: out)?|once),?{FILL}"
)
ADVERB_RIGHT = re.compile(
    r"[\"')\]]*\s*[,(—-]*\s*(?:(?P<past>previously|earlier|originally|initially|formerly|before|"
    r"beforehand|at (?:first|the (?:start|beginning|outset))|first|in the past|back then|to (?:begin|"
    r"start) with|then)|"
    r"(?P<now>now|currently|at present|today|as of now|at the moment|these days|after that|afterwards|"
    r"later|since then|in the end|from then on))\b(?P<rest>.*)",
    re.S,
)
PAST_RIGHT = re.compile(
    r"[\"')\]]*\s*(?:[^,;.]{0,20}\b(?:is|was|were|being|as)\s+(?:just |only )?(?:the |an? |your |our |"
    r"my )?(?:earlier|old(?:er)?|previous|prior|original|initial|first|"
    r"former|past|early|outgoing|backup|back-up|fallback|reserve|runner-up|second choice|rejected|losing|placeholder|"
    r"provisional|tentative)\b|[^,;.]{0,20}\b(?:was|were)\b[^,;.]{0,30}\b(?:before|earlier|"
    r"previously|until then)\s*(?:[,;.)]|\Z)|"
    r",?\s*(?:\w+ ){0,2}(?:until|before) (?:you|your|we|our|i|my|it|that|the)\b)"
)
NOW_LEFT = re.compile(
    r"(?:\b(?:now|currently|current|today|new(?:er|est)?|latest|updated|revised|final(?:ly)?|corrected|"
    r"correction|actually|later|then|(?:has|have|had|been|was|were|is|are|'s|'ve|ever) since|most recent|"
    rf"recent(?:ly)?|present(?:ly)?|afterwards|stay(?:s|ed)?|remain(?:s|ed)?|still|(?:handed|passed|hands|"
    rf"passes) (?:[\w']+ )?(?:over )?to|succeeded by|sorry|scratch that|i mean|no),?:?|->|"
    rf"\b{CHANGE} (?:[\w']+ ){{0,5}}(?:to|with|by|at)){FILL}"
)
#: "Tuesday is out", "Ann has left": of names only, for "7 left" counts
GONE_RIGHT = re.compile(
    r"[\"')\]]*\s*(?:(?:is|are|was|has been)\s+(?:now\s+)?(?:out(?! of)|off(?=\s*(?:[,;]|\Z))|history|"
    r"gone|dead|off the table|ruled out|on (?:[a-z]+ )?leave)\b|(?:(?!and\b|but\b|or\b)[a-z]+ )?(?:(?:is|are|was|were|"
    r"stays) (?:now )?)?commented[ -]out\b|(?:has |have |had )?(?:since |just )?"
    r"(?:hand(?:s|ed)|pass(?:es|ed)|turn(?:s|ed)) (?:it |(?:the|this|that|her|his|their|your) [\w-]+ )?(?:over|off|"
    r"on)\b"
    r"(?! (?:the|an?|her|his|their|your|all)\b)|(?:has |have |had )?(?:since |just )?(?:stepped (?:down|back|aside)|"
    r"went on (?:[a-z]+ )?leave|bowed out)\b|(?:has |have |had )?(?:since )?(?:quit|resigned|retired|closed|shut down|"
    r"moved on|left(?: (?:the|our|your) (?:company|team|project|firm|job))?(?=[\s\"')]*(?:[,;]|\Z)))\b)"
)
#: "with Dr Hale assisting", "assisted by Dr Hale"
ASSISTING_RIGHT = re.compile(
    r"[\"')\]]*,?\s*(?:is |are |was |will be |would be |only |just )*(?:assisting|assists|helping out|shadowing|"
    r"observing|"
    r"standing by|on standby|sitting in|lending a hand|in support|as (?:the |an? |her |his )?(?:assistant|deputy|"
    r"second|stand-in|understudy|substitute))\b"
)
ASSISTED_LEFT = re.compile(
    rf"\b(?:assisted by|helped by|supported by|shadowed by|(?:help|assistance|support) from|assistant is){FILL}"
)
#: what was only talked about
PROPOSED_LEFT = re.compile(
    r"\b(?:talk(?:ed|ing)? about|discuss(?:ed|ing)?|consider(?:ed|ing)?|thought (?:of|about)|propos(?:ed|ing)|"
    rf"debat(?:ed|ing)|hop(?:ed|ing) to|plann(?:ed|ing) to) (?:{CHANGE} )?(?:it )?(?:to|by)?{FILL}"
)
NOW_RIGHT = re.compile(
    r"(?:\s?[a-z€$£%]{1,4})?[\"')\]]*\s*[(\[]\s*(?:the )?(?:current|latest|new|active|valid|in force)\b|"
    r"[\"')\]]*\s*(?:is|are) (?:in|on)(?=\s*(?:[,;]|\Z))|"
    r"[\"')\]]*\s*(?:is|being)\s+(?:now\s+)?(?:the |your |our )?(?:current|new|latest|correct|right|final|"
    r"updated|present|one)\b|"
    r"[\"')\]]*\s*(?:has\s+)?(?:replaces|replaced|supersedes|superseded|overrides|overrode)\b(?! by)"
)
HEDGE_LEFT = re.compile(
    rf"\b(?:might|may|could|possibly|perhaps|maybe|potentially|alternatively|else){_LEAD}(?:also )?(?:have )?{FILL}"
)
BOUND_LEFT = re.compile(
    r"(?:(?<!-)>=?|<=?|~|±|"
    r"(?<![^\W_])(?:(?<!told me )(?<!told you )(?<!asked )(?<!asking )(?<!asked me )"
    r"(?<!talked )(?<!talking )(?<!spoke )(?<!know )(?<!reminded me )about|"
    r"around|approximately|approx\.?|roughly|nearly|almost|circa|ca\.?|c\.|some|at (?:least|most|minimum|"
    r"maximum|the (?:least|most))|"
    r"(?:no |not )?(?:more|less|fewer|greater|bigger|larger|smaller|higher|lower|later|"
    r"earlier) than(?: or equal to)?|over|"
    r"(?<!filed )(?<!listed )(?<!stored )(?<!saved )(?<!noted )(?<!recorded )under|"
    r"up to|(?:minimum|maximum|excess|upwards?|north|short|shy|region|neighbou?rhood|vicinity|range|"
    r"order) of|min\.?|max\.?|above|below|between|"
    r"exceed(?:s|ed|ing)?|close to|near|beyond|within|not quite|somewhere)"
    r"(?![^\W_]))\s*(?:(?:the|a|an|about|around|exactly|[a-z]{2,12} of)\s+)?[\"'(\[$€£]*\s*\Z"
)
BOUND_RIGHT = re.compile(
    r"(?:\s*\+(?!\d)|\s?[%€$£]\s?-\s?\d|(?:\s?[a-z%€$£°]{1,12}){0,2}?[\"')\]]*,?\s*\(?(?:or (?:more|less|"
    r"fewer|so(?! (?:you|i|it|we|the)\b)|higher|lower|greater|above|below|thereabouts|under|over|later|"
    r"earlier)|"
    r"and (?:above|up|over|below)|at (?:least|most|minimum|maximum|the (?:least|most))(?! (?:that|as|i|"
    r"you|according|if|so)\b)|give or take|plus or minus|±|minimum|maximum|"
    r"(?:max|min)(?![^\W_])|approximately|approx|roughly|-?ish(?![^\W_])))"
)
OPERATION_RIGHT = re.compile(r"\s*(?:[×*+/÷]|-|\^)\s*[$€£(]?\d[^;\n]{0,50}=")
OPERATION_LEFT = re.compile(r"\d\)?\s*(?:[×*+/÷]|-)\s*\Z")
OR = re.compile(
    rf"[\"'()\],\s—-]*(?:or|and/or|/|vs\.?|versus)(?![^\W_])(?:[\s,]*(?:maybe|perhaps|possibly|else|was it|"
    rf"is it|even|alternatively))*{FILL}"
)
COMMA = re.compile(r"[\"')\]\s]*,[\s\"'(\[]*\Z")
RANGE = re.compile(r"\s*(?:[%€$£°]|[a-z]{1,3})??\s*(?:to|through|until|-|\.\.\.?|and)\s*\Z")
TAG = re.compile(
    r"[\"')\]]*,\s*(?:right|correct|yes|no|ok(?:ay)?|isn't it|is that (?:right|correct|it)|wasn't it|didn't you|"
    r"haven't you|don't you|doesn't it|am i right|if i recall)\b[^?]{0,30}\Z"
)
NO_FOLLOWS = re.compile(r"\W{0,4}(?:no|nope|not)\b")
NEW_QUESTION = re.compile(
    r"[,;:—(]\s*(?:and |so |but |or )?(?:do|does|did|would|can|could|shall|should|will|are|is|was|were|"
    r"anything|what|how|want|need|may|have|which|who|where|when|why)\b"
)
QUESTION_HEAD = re.compile(
    r"\W*(?:and |so |but |or |well, )?(?:do|does|did|is|are|was|were|isn't|wasn't|could|would|should|can|"
    r"may|you mean|maybe|perhaps|what|which)\b"
)
#: what may follow "or" without naming another value
_NO_RIVAL = (
    r"(?:so|something|did|is|do|was|am|are|at|if|you|i|we|whatever|whichever|rather|more|less|anything|"
    r"should|would|could|can|shall|will|simply|"
    r"thereabouts|wherever|it|that|just|in|as|to|when|maybe i|alias|aka|also)\b"
)
OR_WORD_RIGHT = re.compile(
    rf"[\"')\]]*,?\s+or\s+(?:(?:maybe|perhaps|possibly|the|"
    rf"a)\s+)*(?!{_NO_RIVAL})[\"']?[\w'-]+(?: [\w'-]+){{0,2}}[\"']?\s*(?:[.,;:!?)—\n]|\Z)"
)
OR_WORD_LEFT = re.compile(
    r"\b(?:either|whether|between|maybe|perhaps|possibly|is|in|be|it's|at|to|"
    r"was)\s+(?:[\w'-]+ ){1,3}or\s+(?:(?:maybe|perhaps|possibly|in|at|the)\s+)*[\"']*\Z|"
    r"\A\W*[\w'-]+(?: [\w'-]+)? or [\"']*\Z"
)
