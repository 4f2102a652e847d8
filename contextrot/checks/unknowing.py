"""Recognising the words of not knowing: "You have not told me", "there is no record of it", "unknown".

`clauses` cuts a reply into what is said piece by piece; `admits` tells the pieces that admit ignorance. Used by
`abstain`, whose right answer this is, and by `recall`, to say why a reply failed.
"""

from __future__ import annotations

import re

from contextrot.checks.unknowing_abroad import ADMITS, ASKS

_NOT = r"(?:not|n't|never|yet to)"
_TOLD = (
    r"(?:told|tell|mention(?:ed)?|shared?|provided?|specif(?:y|ied)|give|given|gave|said|say|stated?|set|"
    r"listed|list|includ(?:e|ed)|discuss(?:ed)?|"
    r"indicated?|disclosed?|supplied|supply|entered|enter|revealed?|defined?|communicated?|brought up|"
    r"sent|informed|talked about|covered|named?|clarif(?:y|ied)|"
    r"confirm(?:ed)?|recorded|stored|saved|assigned|recorded|logged|noted|established|received|come up|"
    r"came up|been made|found|made clear|made available|decided|chosen|picked)"
)
_KNOWN_TO = (
    r"(?:know|recall|remember|have|has|see|find|locate|determine|identify|access|retrieve|confirm|tell|"
    r"say|name|pin(?: \w+)? down|pinpoint|verify|look up|recollect|get|possess|hold|keep|store|"
    r"retain|answer|hear|come across|receive|spot|figure out|work out|guess|be (?:sure|certain)|give you|"
    r"provide|contain|include|mention|specify|state|list|show|indicate|appear|exist)"
)
_SOFT = (
    r"(?:[a-z']+ly |just |also |even |yet |still |currently |actually |quite |been |be |ever |really |"
    r"explicitly |so far |as yet |as of yet )*"
)
#: "Mia can't have eggs" is no admission: it says what is not allowed
_MAY_NOT = (
    r"(?!(?:ca|can|wo|will|could|would|must)(?:n't|not| not) (?:\w+ly )?(?:have|hold|keep|contain|include|receive)\b)"
)
_ADMISSION = re.compile(
    r"(?:"
    rf"\b{_MAY_NOT}(?:do|does|did|ca|could|can|wo|will|would|is|am|are|was|have|has|had|were)(?:\s*n't|"
    rf" {_NOT}) {_SOFT}(?:seem to |appear to |able to |going to )?{_SOFT}{_KNOWN_TO}\b"
    rf"|\b{_MAY_NOT}cannot {_SOFT}{_KNOWN_TO}\b|\bnot able to {_SOFT}{_KNOWN_TO}\b|\bcannot be (?:determined|known|"
    rf"found|answered)\b|\b(?:unable|impossible|no way|not possible) (?:for me )?to {_SOFT}{_KNOWN_TO}\b"
    rf"|\b(?:have|has|had|did|do|was|were|is|are|been|does)(?:\s*n't| {_NOT}) (?:actually |"
    rf"yet )?{_SOFT}(?:to )?{_SOFT}{_TOLD}\b|\b(?:have|has) yet to (?:be )?{_TOLD}\b|"
    rf"\bnever (?:actually )?{_TOLD}\b"
    rf"|\bnot (?:yet |been |currently |explicitly )*{_TOLD}\b"
    r"|\b(?:i|we)(?:'m| am|'re| are)?(?: just| really| still)? (?:not (?:aware|sure|certain|familiar|"
    r"clear)|unsure|unaware|uncertain|in the dark|missing|lacking|without)\b"
    r"|\b(?:is|'s|are|was|seems|remains) (?:not (?:clear|available|known|on (?:file|record)|in (?:my|our|"
    r"the|this|your)|present|here|something)|unclear|unknown|unavailable|missing|undefined|unspecified|"
    r"undetermined|blank|empty|absent|a mystery)\b"
    r"|\b(?:isn't|aren't|wasn't|weren't)(?: \w+)? (?:clear|available|known|on (?:file|record)|in (?:my|"
    r"our|the|this|your)|present|here|any|a|an|anything|something|enough|part)\b"
    r"|\b(?:unknown|unspecified|undisclosed|n/a|not available|not applicable|not known|not provided|"
    r"no data|no answer|no information|no info|no idea|no clue|no record|no memory|no recollection|"
    r"no knowledge|no mention|no trace|no details?|no such|beats me|none (?:given|provided|specified|"
    r"mentioned|stated|recorded|on|was|has))\b"
    r"|\b(?:there(?:'s| is| was| were| are| has been| have been)|i(?: currently| still)? (?:have|see|find|"
    r"found|had|hold)|i've(?: got)?|we have|you(?:'ve| have)? (?:gave|given|provided|mentioned|set|"
    r"left)(?: me)?|it (?:has|contains|includes|gives|shows)|(?:conversation|chat|history|messages?|"
    r"records?|file|notes?|profile) (?:has|have|had|contains?|includes?|shows?|gives?)) (?:absolutely |"
    r"currently |simply )?(?:no|nothing|zero|neither)\b"
    rf"|\bno(?: [\w'-]+){{1,6}}? (?:was|were|is|are|has been|have been|had been|has|have|on|in|yet|so far|"
    rf"to|available|known|specified|{_TOLD})\b"
    rf"|\bno(?: [\w'-]+){{1,5}} (?:yet|so far)\b|\bnothing (?:was|has been|is|about|on|in|regarding|"
    rf"like that|of the (?:sort|kind))\b|\b(?:nobody|no one|none of (?:the|our|your)|"
    rf"neither)\b[^.]{{0,60}}\b{_TOLD}"
    rf"|\bwithout (?:that|this|more|any|knowing|having|your|the|further) ?(?:\w+ )?(?:information|info|"
    rf"details?|context|address|it)?"
    r"|\b(?:don't|do not|didn't) (?:think|believe|see where|see any|feel)\b"
    r"|\b(?:rather not|prefer not to|won't|will not|don't (?:want|like) to|do not (?:want|like) to|not going to|"
    r"shouldn't|should not|rather than|instead of) (?:guess|speculat|invent|"
    r"mak(?:e|ing) (?:it|one|something|anything) up)"
    r"|\A\W*(?:but |and |just |with )?no (?!problem|worr|doubt|need|thanks|way|matter|longer|later|more|"
    r"less|one\b)[\w'-]+(?: [\w'-]+){0,4}\W*\Z"
    r"|\b(?:left|still) (?:open|blank|unspecified|unsaid|undecided|to be (?:decided|confirmed|settled))\b|\bundecided\b"
    r"|\b(?:lack|lacks|lacking)\b|\bforgotten\b|\bforgot\b|\bthe first (?:time|i've heard|i hear|"
    r"mention)\b|\b(?:is|'s|are) not (?:listed|stored|saved)\b|\bdoesn't ring a bell\b|"
    r"\bdraw(?:ing)? a blank\b|\bdunno\b|\bidk\b|\bnot that i(?:'m aware| know| recall| am aware| can see| remember)\b|"
    rf"\byou'd have to tell me\b|\b(?:have|has)n't got\b|\bunclear (?:from|to)\b|"
    rf"\bnot have {_SOFT}{_TOLD}\b|\bseems? to be (?:missing|lacking)\b"
    rf"|\b(?:never|not|n't) {_SOFT}(?:got(?:ten)?|get|made it|make it|come|came) (?:as far as|that far|(?:around|"
    rf"round) to)\b"
    r"|\bwe (?:never|didn't|did not|haven't|have not) (?:got(?:ten)?|get) to\b|"
    r"\b(?:0|zero|no) (?:hits?|matches|match|search results?|occurrences?)\b|"
    r"\b(?:came|comes?|coming|turn(?:s|ed)?) (?:back |up )(?:empty|blank|empty-handed|with nothing|nothing)\b"
    r"|\b(?:that|this|it|details?|part|bit|piece|information|info|messages?|context|memory|lines?|turns?|exchange)"
    r" (?:(?:seems?|appears?) to have (?:been |gotten |got )?|(?:has|have|must have|may have|might have) (?:been |"
    r"gotten |got )?|"
    r"got |was |were )(?:lost|dropped|cut off|truncated|trimmed|compacted|summari[sz]ed away|scrolled (?:out|off|away)|"
    r"fallen out)\b"
    r"|\b(?:summary|notes?|transcript|log|history|recap)\b[^.;:]{0,60}\b(?:skips|omits|leaves out|left out|drops)\b"
    r"|\A\W*(?:but |and )?not (?:your|the|an?) [\w' -]{1,40}\W*\Z"
    r")"
)
#: "I don't know" in other languages, casefolded
_ABROAD = re.compile(
    r"\bje (?:ne |n')(?:le |l'|en )?(?:sais|ai) (?:pas|aucune)|\bich weiss (?:es |das )?(?:leider )?nicht|"
    r"\bno (?:lo )?sé\b|\bnon (?:lo )?so\b|\bnão (?:o )?sei\b|\bik weet het niet|\bnie wiem\b|\bя не знаю|"
    r"不知道|わかりません|分かりません|知りません|모르겠|모릅니다"
)
_WHOLE = re.compile(
    r"\W*(?:(?:it is|it's|that is|that's|the answer is|answer|status|address|value|result)[:\s]*|"
    r"(?:[\w'-]+ ){0,4}[\w'-]+: )?(?:null|"
    r"none|nil|unknown|n/a|na|not (?:sure|known|given|available|specified|provided|set|found|stated|told|"
    r"mentioned|applicable|yet|certain)|"
    r"no idea|no clue|unsure|unspecified|undefined|undetermined|undisclosed|"
    r"unavailable|unclear|missing|nothing|tbd|to be (?:confirmed|determined|"
    r"provided)|pending|not on file|insufficient (?:information|data|context)|information (?:missing|"
    r"unavailable|not available)|cannot (?:answer|say|tell)|can't (?:answer|say|tell)|-+|\?+)\W*\Z"
)
_ASKS = re.compile(
    r"\b(?:could|can|would|will|may|might) (?:you|i)(?: please| kindly| also| just)? (?:tell|share|"
    r"provide|give|send|let|confirm|specify|remind|clarify|supply|enter|mind|say|state|ask|have|get|fill|"
    r"pass|repeat|be more|help me|know|like to)\b"
    r"|\bplease (?:\w+ )?(?:tell|share|provide|give|send|let|confirm|specify|remind|clarify|supply|enter|"
    r"say|state|fill|type|reply|add|repeat)\b|\blet me know\b|\bfeel free to (?:share|provide|tell|give|"
    r"send)\b"
    r"|\b(?:i|we)(?:'d|'ll| would| will)? (?:still )?need (?:you to|your|to know|to ask|that|the|more|"
    r"an?)\b|\bneed you to\b|\bwhat (?:is|'s|would be|should|are|was) (?:your|the|it|that|you)\b|"
    r"\bwhat's (?:your|the|it)\b"
    r"|\bwhere (?:should|would|shall|do|can|is|are)\b|\bwhich (?:\w+ ){1,4}(?:should|would|shall|do|did|"
    r"is|are)\b|\b(?:mind|care to) (?:sharing|telling|giving|providing|repeating|sending|resending|pasting|saying|"
    r"reminding|confirming|"
    r"restating|letting|filling|share|tell|repeat|send|remind)\b|\b(?:say|send|paste|post|type) (?:it|that|"
    r"them) (?:once )?(?:again|once more)\b|"
    r"\bwould you like to (?:share|provide|tell|give|add|set)\b"
    r"|\b(?:tell|give|send|remind) me (?:the|your|what|which|where|again)\b|\bremind me\b|\byou(?:'ll|"
    r" will|'d| would)? (?:need|have) to (?:tell|provide|share|give|specify)\b"
)


def admits(words: str) -> bool:
    """True when a casefolded piece of plain text says that something is not known or was not told."""
    return any((_ADMISSION.search(words), _WHOLE.match(words), _ABROAD.search(words), ADMITS.search(words)))


def asks(words: str) -> bool:
    """True when a casefolded piece of plain text asks the user for what is missing."""
    return _ASKS.search(words) is not None or ASKS.search(words) is not None
