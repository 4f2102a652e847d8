"""`language`: the language a reply is written in, by py3langid's classifier (BSD; the package holds its model).

Lui and Baldwin 2012, "langid.py: An Off-the-shelf Language Identification Tool": naive Bayes over byte n-grams, so that
the same text always gives the same answer, offline. Chosen by measurement (35 languages, a reply of two sentences and
one of five words each): 67 of 70 right, the three wrong ones with a probability under 0.52; 0.1 ms a text, 5 MB. A
detector twenty times as large did no better, and the others of its size were wrong twice as often.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Any, Literal

import regex
from pydantic import Field, StrictStr, field_validator

from contextrot.checks.base import Check, Facts, fail, passed, register
from contextrot.checks.close_languages import weighed
from contextrot.checks.prose import common_words, sentences, weight, words
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict

#: ISO 639-1 code → English name, for each language that can be told.
LANGUAGES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "as": "Assamese", "az": "Azerbaijani", "be": "Belarusian",
    "bg": "Bulgarian", "bn": "Bengali", "br": "Breton", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh",
    "da": "Danish", "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish",
    "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish",
    "gd": "Scottish Gaelic", "gl": "Galician", "gu": "Gujarati", "ha": "Hausa", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "ht": "Haitian Creole", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "ig": "Igbo",
    "is": "Icelandic", "it": "Italian", "ja": "Japanese", "jv": "Javanese", "ka": "Georgian", "kk": "Kazakh",
    "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ku": "Kurdish", "ky": "Kyrgyz", "la": "Latin",
    "lb": "Luxembourgish", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian", "mg": "Malagasy", "mk": "Macedonian",
    "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese",
    "ne": "Nepali", "nl": "Dutch", "no": "Norwegian", "or": "Odia", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian",
    "so": "Somali", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil",
    "te": "Telugu", "tg": "Tajik", "th": "Thai", "tk": "Turkmen", "tl": "Tagalog", "tr": "Turkish", "tt": "Tatar",
    "ug": "Uyghur", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "xh": "Xhosa", "yo": "Yoruba",
    "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip
#: Varieties that the classifier knows by a name of their own.
_PART_OF = {"nn": "no", "wuu": "zh", "yue": "zh", "ary": "ar", "arz": "ar"}
#: Languages that replies are seldom in unless they are asked for: of two that fit, the other one is meant.
_SELDOM = frozenset((
    "af", "as", "az", "be", "br", "bs", "eo", "eu", "ga", "gd", "gl", "ha", "ht", "ig", "jv", "ku", "ky", "la", "lb",
    "mg", "mn", "mt", "or", "ps", "so", "tg", "tk", "tt", "ug", "uz", "xh", "yo", "zu",
))  # fmt: skip
_SELDOM_SHARE = 0.1
#: What models fall back to when they forget the language they were asked for; that much likelier than the others.
_FALLBACK, _FALLBACK_SHARE = "en", 2.0
#: Languages that are, or may be, written in another script than the Latin one.
_OTHER_SCRIPTS = frozenset((
    "am", "ar", "as", "az", "be", "bg", "bn", "bs", "el", "fa", "gu", "ha", "he", "hi", "hy", "ja", "jv", "ka", "kk",
    "km", "kn", "ko", "ku", "ky", "lo", "mk", "ml", "mn", "mr", "ms", "my", "ne", "or", "pa", "ps", "ro", "ru", "si",
    "sr", "ta", "te", "tg", "th", "tk", "tt", "ug", "uk", "ur", "uz", "zh",
))  # fmt: skip
#: a run of letters of another script than the Latin one
_STRANGE = regex.compile(r"[[\p{L}\p{M}]--[\p{Latin}\p{Inherited}\p{Common}]]++", regex.V1)
#: Signs that Chinese and Japanese share, and the kana that only Japanese has.
_HAN, _KANA = regex.compile(r"\p{Han}"), regex.compile(r"[\p{Hiragana}\p{Katakana}]")
#: As many signs without kana are Chinese; fewer may be a Japanese name, address or notice, which has none either.
_MOST_WITHOUT_KANA = 20
#: What is written in Chinese alone: its everyday words, and signs that Japanese writes in another form.
_CHINESE = regex.compile(
    "[你您她们們这這哪吗嗎呢吧沒给給么麼让說说请谢會還还個來發经經對对關关點區將總數變圖廣團戰單傳專從處號樣樂權歡歸氣當縣繼續聽臺藝證"
    "譯讀轉醫鐵顯黨檢錄议时东车书见贝门问间开无为业产军动务劳华协单发员响园围场块坏备够头实审导层岁师币帮庆应库录总战户执扩护报显极构标样桥检欢归"
    "气济满灵热现环电码确离种积约级线练组细织终绍结绝统继续综网职联节药获补观规视览觉计订认训讯记讲许论设访评识诉词译试话该详语误读课谁调费资赛转轮"
    "软轻载较输边达迁过运进远连迟适选递邮释针钟钱铁银错键闭队阳阴际险难须项顺预领频题额风飞饭馆马验]"
    "|星期|不是|就是|是的|也是|我(?:们|們|会|會|的|想|要|已|在|不|明)|(?<!友)好的"
)
#: Languages without marks on letters: a word with one is borrowed (café) and says nothing against them.
_UNMARKED = frozenset({"en", "id", "ms", "sw"})
#: Least letters of a reply that can be told, and of a sentence that is told by itself.
_LEAST, _LEAST_SENTENCE = 9, 14
#: A text is in the language from this probability on.
_IS = 0.5
#: It is in another when that one is likely and the language is not: (the other's least, the language's most).
_IS_OTHER = ((0.75, 0.1), (0.35, 0.02))


@dataclass(frozen=True, slots=True)
class _Told:
    """What was read of one text: is it in the language (None: cannot tell), and which is it most likely in."""

    wanted: bool | None
    likely: str


@register
class Language(Check):
    """The reply is written in a language.

    Code, JSON keys, numbers, addresses, names and quotations do not count. Each sentence is looked at by itself, so
    that a closing phrase in another language does not fail a reply that is written in the right one. With too little
    text (`Ok`, `BLUE-42`), or between languages that a short text does not tell apart (Croatian and Serbian), the
    outcome is `inconclusive`.
    """

    type_name = "language"
    type: Literal["language"] = "language"
    is_: StrictStr = Field(alias="is", description="ISO 639-1 code of the language, such as `en` or `fr`.")
    share: Annotated[float, Field(gt=0.5, le=1)] = Field(
        default=0.65, description="Least share of the text, in letters, that must be in the language."
    )

    @field_validator("is_")
    @classmethod
    def _known(cls, code: str) -> str:
        if code in LANGUAGES:
            return code
        base = code.replace("_", "-").split("-")[0].lower()
        names = {name.casefold(): known for known, name in LANGUAGES.items()}
        base = _PART_OF.get("nn" if base == "nb" else base, base)
        if base in LANGUAGES:
            raise ValueError(f"is `{code}`, of which only the language can be told; write `{base}`")
        near = get_close_matches(code.casefold(), names, n=1, cutoff=0.8)
        hint = f"; did you mean `{names[near[0]]}`?" if near else "; such as `en`, `fr`, `de`, `zh`"
        raise ValueError(f"is `{code}`, which is no ISO 639-1 code of a language that can be told{hint}")

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with the language found; `inconclusive` with too little text, or between languages that are alike."""
        found = [sentence for sentence in sentences(reply.text) if _tells(sentence)]
        total = sum(map(weight, found))
        named = LANGUAGES[self.is_]
        if total < _LEAST:
            return Verdict(Outcome.INCONCLUSIVE, f"too little text to tell whether it is {named}", reply.text[:200])
        if self.is_ in ("ja", "zh") and _may_be_both(" ".join(found)):
            reason = f"cannot tell whether it is {named}: so few signs without kana may be Japanese and Chinese"
            return Verdict(Outcome.INCONCLUSIVE, reason, found[0])
        right = wrong = 0
        odd = ""
        other = ""
        for whole in found:
            sentence, strange = self._parted(whole)
            if strange:
                wrong += weight(strange)
                if not odd or weight(strange) > weight(odd):
                    odd, other = strange, self._likely(strange)
            told = self._told(sentence) if weight(sentence) >= _LEAST_SENTENCE else _Told(None, "")
            if told.wanted:
                right += weight(sentence)
            elif told.wanted is False:
                wrong += weight(sentence)
                if not odd or weight(sentence) > weight(odd):
                    odd, other = sentence, told.likely
        if right + wrong < total / 3:  # most sentences are too short, or too much like another language, by themselves
            told = self._told(" ".join(found))
            if told.wanted is None:
                likely = LANGUAGES.get(told.likely, "another language")
                other_than = f"; it may be {likely}" if told.likely != self.is_ else ""
                return Verdict(Outcome.INCONCLUSIVE, f"cannot tell whether it is {named}{other_than}", found[0])
            if told.wanted:
                return passed(found[0])
            return fail(f"the reply is in {LANGUAGES[told.likely]}, not in {named}", found[0])
        share = right / (right + wrong)
        if share >= self.share:
            return passed(found[0], f"{share:.0%} of the text is {named}" if wrong else "")
        if right == 0:
            return fail(f"the reply is in {LANGUAGES[other]}, not in {named}", odd)
        return fail(f"only {share:.0%} of the text is {named}; this is {LANGUAGES[other]}", odd)

    def _parted(self, sentence: str) -> tuple[str, str]:
        """A sentence without its words in other scripts than the language's, and these; nothing to part for most."""
        if self.is_ in _OTHER_SCRIPTS or sentence.isascii():
            return sentence, ""
        strange = [word for word in _STRANGE.findall(sentence) if len(word) > 1]
        return (_STRANGE.sub(" ", sentence), " ".join(strange)) if strange else (sentence, "")

    @staticmethod
    def _likely(text: str) -> str:
        ranked = probabilities(text)
        return max(ranked, key=lambda code: ranked[code])

    def _told(self, text: str) -> _Told:
        ranked = self._ranked(text)
        likely = max(ranked, key=lambda code: ranked[code])
        wanted, most = ranked.get(self.is_, 0.0), ranked[likely]
        if likely == self.is_ and most >= _IS:
            return _Told(True, likely)
        if likely != self.is_ and any(most >= least and wanted < low for least, low in _IS_OTHER):
            return _Told(False, likely)
        return _Told(None, likely)

    def _ranked(self, text: str) -> dict[str, float]:
        ranked = probabilities(text, self.is_)
        if self.is_ in _UNMARKED and ranked.get(self.is_, 0.0) < _IS:
            left = [word for word in words(text) if word.isascii()]
            if 3 < len(left) < len(words(text)):
                without = probabilities(" ".join(left), self.is_)
                if without.get(self.is_, 0.0) >= _IS:
                    return without
        return ranked


def probabilities(text: str, asked: str = "") -> dict[str, float]:
    """ISO 639-1 code → probability that the text is in it. Names are left out where enough else is said.

    `asked` is the language that is asked for; it is as likely as any, however seldom it is used.
    """
    common = common_words(text)
    if 3 < len(common) < len(words(text)):
        text = " ".join(common)
    ranked: dict[str, float] = {}
    for code, share in _identifier().rank(text):
        code = _PART_OF.get(code, code)
        ranked[code] = ranked.get(code, 0.0) + float(share)
    ranked = weighed(ranked, text)
    for code in _SELDOM - {asked}:
        ranked[code] = ranked.get(code, 0.0) * _SELDOM_SHARE
    ranked[_FALLBACK] = ranked.get(_FALLBACK, 0.0) * _FALLBACK_SHARE
    whole = sum(ranked.values())
    return {code: share / whole for code, share in ranked.items()}


def _may_be_both(text: str) -> bool:
    """True for a few Chinese characters that may as well be Japanese."""
    signs = len(_HAN.findall(text))
    if 6 * signs < weight(text):  # most of it is in another script, and that is told by itself
        return False
    return 0 < signs < _MOST_WITHOUT_KANA and _KANA.search(text) is None and _CHINESE.search(text) is None


def _tells(sentence: str) -> bool:
    """True for a sentence with more in it than names: a word in small letters, or in a script that has no capitals."""
    found = words(sentence)
    lower = [word for word in found if not word[:1].isupper()] if sentence.upper() != sentence else found
    return sum(map(weight, lower)) >= 3


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*LANGUAGES, *_PART_OF])
    return identifier
