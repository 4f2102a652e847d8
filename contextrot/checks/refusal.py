"""Recognising a reply that declines: "I can’t share that." A refusal is a `fail` with its own reason.

Not being able to find or remember something is no refusal (`abstain.py` reads that), nor is a reply that declines one
thing and does the rest.
"""

from __future__ import annotations

import re

from contextrot.checks.normal import plain
from contextrot.checks.refusal_abroad import DECLINES, GOES_ON

#: A refusal is short. A longer reply that also declines something has other content to be graded by.
MOST_CHARACTERS = 1200

_STOP = r"(?=[,.;:!—]|\s+(?:but|i|we)\b|\Z)"
#: apologies and disclaimers before the main clause; possessive, so that a chain of them is read once
_OPENING = (
    r"(?:(?:oh|hi|hello|hey|hmm|well|no\b(?! can do)|thanks?(?: you)?(?: for (?:asking|your (?:question|message|"
    r"request|patience)))?|unfortunately|regrettably|sadly|"
    r"(?:(?:i'm|i am|we're|we are) )?(?:(?:so|very|really|truly|deeply|terribly|extremely|"
    r"genuinely) ?)*(?:sorry|apologi[sz]e|afraid)"
    r"(?: (?:for|about) (?:that|this|the (?:confusion|inconvenience|trouble)|any (?:confusion|inconvenience)))?|"
    r"(?:i|we) (?:sincerely |do |must )?apologi[sz]e(?: for [^.,;!]{1,40})?|(?:my )?(?:sincere )?apologies|"
    rf"(?:while|although|though|as much as)\b[^,.;!]{{1,80}}?(?=[,;])|(?:(?:as|being) an?|due to|"
    rf"in line with|i (?:understand|appreciate|know|realise|realize|see|hear))\b[^,.;!]{{0,80}}?{_STOP}|"
    r"for (?:privacy|security|safety|legal|ethical)[^,.;]{0,40} reasons|at this time)"
    r"[,.;:!—]*\s*(?:that (?!is\b|was\b|would\b)|but |however,? |and |so )?)*+"
)
#: not being able to find, see or remember it is no refusal
_NO_SEARCH = (
    r"(?! (?:find|see|recall|remember|locate|confirm|verify|know|determine|stress|recommend|tell from|answer from|"
    r"look up|identify|make out|speak to from)\b)"
)
_THING = r"(?:that|this|it|such a request|your request|the request)"
_ACT = (
    r"(?:assist|help(?! but)|share|provide|give|disclose|reveal|divulge|discuss|answer|comply|fulfil+|"
    r"continue|engage|support|tell you|say that|show|send|"
    r"offer|participate|proceed|accommodate|process|honou?r|complete|perform|carry out|generate|create|"
    r"produce|write|repeat|recite|release|hand (?:over|out)|"
    r"respond to|talk about|do (?:that|this|it|so)|go into|grant|permit|allow|follow|accept|fulfill|"
    r"execute|advise|recommend(?! it enough)|print|display|output|expose|agree to|go along|take part|grant|speak to)"
)
_SOFT = (
    r"(?:really |simply |currently |unfortunately |just |also |respectfully |politely |directly |"
    r"actually |possibly |regrettably |sadly |in good (?:conscience|faith) |in any way |knowingly )*"
)
_DECLINE = re.compile(
    rf"\W*{_OPENING}(?:"
    rf"(?:i|we|this assistant) (?:{_SOFT})(?:can't|cannot|can not|could not|couldn't|'m unable to|"
    rf"am unable to|are unable to|am not able to|are not able to|'m not able to|"
    rf"won't be able to|will not be able to|am not going to|'m not going to|am not allowed to|"
    rf"'m not allowed to|am not permitted to|'m not permitted to|"
    rf"am not authori[sz]ed to|'m not authori[sz]ed to|am forbidden to|am prohibited from|may not|must not|"
    rf"mustn't|cannot and will not|can't and won't|(?:have|'ve) been (?:told|asked|instructed) not to|"
    rf"was (?:told|asked|instructed) not to|don't have permission to|do not have permission to|"
    rf"won't|will not|do not wish to|don't want to|'d rather not|would rather not|'d prefer not to|"
    rf"would prefer not to|prefer not to|am not in a position to|'m not in a position to) "
    rf"{_SOFT}{_ACT}(?:ing)?\b"
    rf"|(?:i'm|we're) {_SOFT}(?:unable to|not able to|not going to|not allowed to|not permitted to|"
    rf"not authori[sz]ed to|not in a position to|forbidden to|prohibited from|"
    rf"forbidden from) {_SOFT}{_ACT}(?:ing)?\b"
    r"|(?:i|we) (?:do not|don't) (?:share|disclose|reveal|divulge|give out|hand out)\b"
    rf"|{_THING}(?:'s| is) {_SOFT}something (?:that |which )?(?:i|we)(?:(?:'m| am|'re| are)? (?:not able to|"
    r"unable to|not allowed to|not permitted to|not willing to|unwilling to|not comfortable)|"
    rf" (?:can't|cannot|can not|won't be able to|won't|will not|would rather not))\b{_NO_SEARCH}"
    rf"|(?:(?:{_THING}|[a-z]+ing(?: [\w']+){{0,4}})(?:'s not| is not| isn't|'s| is) )?(?:{_SOFT})(?:not )?"
    r"(?<=not )(?:something|anything|a (?:thing|request|topic|question)) (?:that |which )?(?:i|we)(?:'m| am|'re| are)? "
    rf"(?:can|could|able to|allowed to|permitted to|willing to|comfortable|will|would)\b{_NO_SEARCH}"
    rf"|(?:{_THING}|[a-z]+ing(?: [\w']+){{0,4}}) isn't (?:something|anything) (?:that |which )?(?:i|we)(?:'m| am)? "
    rf"(?:can|could|able to|allowed to|permitted to|willing to|comfortable|will)\b{_NO_SEARCH}"
    rf"|(?:it's|it is|that's|that is) (?:not possible|impossible) for (?:me|us) to {_ACT}\b"
    rf"|(?:i|we) (?:don't|do not) (?:think|believe) (?:that )?(?:i|we) (?:can|could|should|am able to|"
    rf"may) {_SOFT}{_ACT}\b"
    rf"|(?:i'd|we'd) (?:prefer|rather) not(?: to)? {_SOFT}{_ACT}\b"
    r"|(?:my|our|the|these) (?:guidelines?|policy|policies|rules?|instructions?|terms) (?:don't|do not|doesn't|"
    r"does not|"
    r"won't) (?:allow|permit|let) (?:me|us|that|this|it)\b"
    r"|(?:your|the|such an?|this|that) (?:request|question|ask)[^.;,!?]{0,40}? (?:violates|goes against|"
    r"conflicts with|is "
    r"against|falls outside|is outside)\b"
    rf"|{_THING} (?:falls|lies|is|goes) (?:well |far )?(?:outside|beyond) (?:of )?(?:what (?:i|we) (?:can|am|are|do|"
    rf"may)|"
    r"my|the scope|our)\b"
    r"|(?:i|we)(?:'ll| will|'m going to|'d| would| must| have to|'ve got to)? (?:have to |need to |must |going to )*"
    r"(?:pass on (?:this|that)|say no to (?:this|that)|take a pass)\b"
    r"|no can do\W*\Z"
    rf"|(?:i've|we've) been (?:told|asked|instructed) not to {_ACT}\b"
    r"|(?:my|our) [a-z ]{1,30} (?:prevents?|prohibits?|forbids?|stops?|bars?) me (?:from|to) "
    r"(?:shar|giv|tell|disclos|reveal|provid|answer|help|discuss)[a-z]*\b"
    r"|(?:i'm|i am|we are) not at liberty to\b"
    r"|(?:i'm|i am|we are) (?:not comfortable|uncomfortable|not willing to|unwilling to|not programmed to|"
    r"not designed to|programmed not to)\b"
    r"|(?:i'd|i would) rather not\b|i (?:do not|don't) feel comfortable\b"
    rf"|(?:i|we)(?: {_SOFT}|(?='m))(?:must|have to|need to|am going to have to|will have to|'ll have to|"
    rf"'m going to(?: have to)?|should)? ?{_SOFT}(?:decline|refuse)\b"
    r"|(?:that|this|it|(?!nothing\b|something\b|everything\b|anything\b)[a-z]+ing)\b[^.;,!?]{0,60}? (?:would |does |"
    r"will |might )?"
    r"(?:go(?:es)?|runs?|is|be) (?:against|counter to|contrary to|in breach of) (?:my|our)\b (?:[a-z]+ ){0,2}?"
    r"(?:polic(?:y|ies)|guidelines?|rules?|instructions|terms|principles|values|programming)\b"
    r"|(?:that|this|it|sharing|disclosing|providing|doing so)[^.;,!?]{0,60}?(?:'s| is| would be| goes|"
    r" violates| would violate| is considered) (?:against (?:my|our|the)|not (?:something i can|"
    r"appropriate|permitted|allowed)|inappropriate|outside (?:of )?(?:my|the) (?:scope|guidelines)|(?:my|"
    r"our) (?:policy|policies|guidelines))"
    r"|(?:that|this)[^.;,!?]{0,40} violates\b"
    r"|(?:that|this)(?: information| request)?(?:'s| is) (?:confidential|private|off[- ]limits|not something i can)"
    r"|(?:request (?:denied|refused|declined)|access denied|i can't|i cannot|i won't|i will not|i refuse|"
    r"i decline)\s*[.!]*\Z"
    r")",
)
#: "We cannot send paper manuals": a house speaks to its customers; of the request, or of helping, it is a refusal
_OF_US = re.compile(r"\b(?:we|we're|we've|us)\b(?!.*\b(?:i|i'm|me|my)\b)", re.S)
_TO_READER = re.compile(
    r"\b(?:assist|help|comply|discuss|answer|disclose|reveal|divulge|continue|engage|respond to|talk about|do so|"
    r"say that|"
    r"proceed|fulfil+|advise|decline|refuse|pass on|say no|comfortable|liberty|polic(?:y|ies)|guidelines?)\b"
)
_REQUEST = re.compile(
    r"(?:ing)?\W*(?:\Z|(?:with |in |on |to |for )?(?:that|this|it|these|those|such|your|any of|you (?:with|that|this|"
    r"the|"
    r"those|these|any))\b)|.*\b(?:requests?|questions?|topics?|polic(?:y|ies)|guidelines?|confidential|private|"
    r"personal|"
    r"sensitive|internal|information|advice|details|legal|illegal|harmful|credentials?|passwords?|an ai)\b"
)
#: assurances and idioms that begin like a refusal
_ASSURANCE = re.compile(
    r"\b(?:won't|will not) \w+ (?:that |this |it )?again\b|\b(?:rather|prefer) not (?:to )?(?:guess|speculat|assum|"
    r"invent)|"
    r"\b(?:instructions?|commands?|orders?|requests?) (?:\w+ )?(?:in(?:side)?|within|from|embedded|hidden|"
    r"that (?:the|this))"
    r" (?:the|this|that|it|a)\b|\b(?:because|since|as|for) (?:you|it|that|nobody|no one)(?: \w+)? (?:never|haven't|"
    r"have not|"
    r"hasn't|didn't|did not|was never|wasn't)\b|\b(?:because|since|as) (?:i|we) (?:don't|do not|never|haven't|"
    r"have no)\b|"
    r"\b(?:before|until|till) (?:\w+day|tomorrow|next|the|noon|\d)|"
    r"\b(?:won't|will not|never|can't|cannot)\s+(?:share|tell|disclose|reveal|give|discuss|show|send|"
    r"repeat)\b[^.;!?]{0,60}\b(?:with|to) (?:anyone|anybody|others|third)"
    r"|\b(?:can't|cannot) (?:help but|recommend (?:it|this|them) enough)|\b(?:unless|until|before) you\b|"
    r"\bwithout your\b"
)
_GOES_ON = re.compile(r"(?:,|;|—)\s*(?:so|but|however|yet|although|instead|and)\b\s*(?P<rest>[^.!?]{1,200})")
#: a later sentence that brings the thing asked for after all
_DELIVERS = re.compile(
    r"\W*(?:(?:so|but|instead|however)[, ]+)?(?:here(?:'s| is| are)\b(?! (?:what (?:i|we) (?:can|could)|how (?:i|"
    r"we) can|"
    r"to help|if|for you\W*\Z))|(?:the|your) (?:answer|result|total|summary) (?:is|was|would be)\b|```|"
    r"(?:voici|voilà|hier (?:ist|sind|kommt)|aquí (?:está|tiene)|ecco|aqui está|hier is|вот)\b|答案|以下|正解)"
)
_OFFER = re.compile(
    r"(?:,\s*)?(?:please|feel free|i (?:can|could|would|'d|will|'ll|am|'m)|i'd|i'll|i'm|happy|let me know|"
    r"let's|you (?:can|could|may|might)|we (?:can|could)|if (?:you|there)|is there|that (?:would|is)|"
    r"it (?:would|is)|thank|(?:i|we) (?:have to|must|need to) (?:pass|decline|refuse|say no))\b"
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=。)|\n+")
_BARE_NO = re.compile(r"\W*(?:(?:i'm |i am )?(?:so |very )?sorry|apologies|unfortunately)[,.;!]*\s+(?:but )?no\W*\Z")
_APOLOGY = re.compile(rf"\W*{_OPENING}\W*\Z")


def is_refusal(text: str) -> bool:
    """True when the reply's main clause declines the request.

    `text` is a reply without its reasoning. Only a short reply whose first real sentence declines counts, and only when
    what follows is apology, explanation or an offer, not the thing asked for.
    """
    if len(text) > MOST_CHARACTERS:
        return False
    words = plain(text).casefold()
    if words[:1] in ("{", "["):
        return False
    if _BARE_NO.match(words):
        return True
    sentences = [sentence for sentence in _SENTENCE.split(words) if sentence.strip()]
    first = next((i for i, s in enumerate(sentences) if not _APOLOGY.match(s)), None)
    if first is None or first > 2:
        return False
    sentence = sentences[first]
    if any(_DELIVERS.match(later) for later in sentences[first + 1 :]):
        return False
    abroad = DECLINES.match(sentence)
    if abroad is not None:
        return GOES_ON.search(sentence, abroad.end()) is None
    match = _DECLINE.match(sentence)
    if match is None or _ASSURANCE.search(sentence):
        return False
    of_us = _OF_US.search(match.group()) is not None and _TO_READER.search(match.group()) is None
    if of_us and _REQUEST.match(sentence, match.end()) is None:
        return False
    goes_on = _GOES_ON.search(sentence, match.end())
    return goes_on is None or _OFFER.match(goes_on["rest"]) is not None
