"""What tells near relatives apart where a classifier over wavers: letters and everyday words only one has."""

from __future__ import annotations

import re

#: How much more likely one such sign makes a language than its relatives.
_FACTOR = 8.0
#: Distinct signs that are counted; a few settle it.
_MOST = 3
#: family → language → (letters, everyday words); a word that two of a family have is none's own.
_FAMILIES: tuple[dict[str, tuple[str, str]], ...] = (
    {
        "da": ("", "af mig dig sig hvad nej efter ud uden blev bliver meget kun noget nogle mødet uge sagde siger jer "
                   "hende bruge lige ligger igennem mødes tak hvis jeg spørgsmål"),
        "no": ("", "av meg deg seg hva nei etter ut uten ble blir veldig bare noe noen møtet uke sa sier dere henne "
                   "bruke gjennom nå vei møtes takk hvis jeg spørsmål"),
        "sv": ("äö", "och att inte är jag från eller också någon möte tack om"),
    },
    {
        "ru": ("ыэъё", "что и как это уже или если только сегодня завтра нет есть был будет же часов ваш мне все"),
        "uk": ("іїєґ", "що й як це вже або якщо тільки сьогодні завтра немає був буде годин ваш мені усі"),
        "be": ("ў", "што і як гэта ўжо або калі толькі сёння заўтра няма быў будзе ваш мне усе"),
        "bg": ("", "на е да се за от ще това или ако вече си само днес утре няма беше ви и"),
        "mk": ("ѓќѕ", "на е да се за од ќе ова или ако веќе само денес утре нема беше ви и"),
        "sr": ("ђћ", "је да се за од ће ово или ако већ само данас сутра нема био ви и"),
    },
    {
        "hr": ("", "što tko tjedan tjedna uvjet vlak zrak kruh tisuća tisuću točno općina uopće tijekom glede tvrtka "
                   "siječanj veljača ožujak travanj svibanj lipanj srpanj kolovoz rujan listopad studeni prosinac"),
        "sr": ("", "šta ko nedelja nedelju pre vreme mesto uvek takođe gde hleb voz vazduh hiljada hiljadu tačno "
                   "opština uopšte reč hteo sledeći posle lepo dve ovde"),
    },
    {
        "id": ("", "bahwa karena bisa uang kantor mobil rapat jumat senin kamis selasa rabu nomor coba beri butuh "
                   "kirim kamu gratis saat sepeda"),
        "ms": ("", "bahawa kerana boleh wang pejabat kereta mesyuarat jumaat isnin khamis nombor cuba beritahu mahu "
                   "awak hantar ialah percuma tadi basikal"),
    },
    {
        "cs": ("řěů", "je jsem jste že nebo jen bude"),
        "sk": ("ľĺŕôä", "je som ste že alebo len sa"),
    },
    {
        "es": ("ñ¿¡", "el los las y es con una pero muy usted su"),
        "pt": ("ãõç", "o os as e é com uma mas muito você não seu"),
        "gl": ("", "o os as e é cunha unha pero moi vostede non"),
    },
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")


def _own_words() -> tuple[dict[str, tuple[frozenset[str], frozenset[str]]], ...]:
    """The families with the words that more than one of their languages has left out."""
    families = []
    for family in _FAMILIES:
        listed = {code: frozenset(words.split()) for code, (_, words) in family.items()}
        own = {}
        for code, (letters, _) in family.items():
            others = frozenset[str]().union(*(words for other, words in listed.items() if other != code))
            own[code] = (frozenset(letters), listed[code] - others)
        families.append(own)
    return tuple(families)


_OWN = _own_words()


def weighed(probabilities: dict[str, float], text: str) -> dict[str, float]:
    """The probabilities with what the text's letters and words say between near relatives; they add up as before."""
    folded = text.casefold()
    signs, said = set(folded), set(_WORD.findall(folded))
    adjusted = dict(probabilities)
    for family in _OWN:
        shares = {code: probabilities.get(code, 0.0) for code in family}
        whole = sum(shares.values())
        if whole < 0.05:
            continue
        for code, (letters, words) in family.items():
            found = min(_MOST, len(letters & signs) + len(words & said))
            shares[code] *= _FACTOR**found
        scale = whole / sum(shares.values())
        adjusted |= {code: share * scale for code, share in shares.items()}
    return adjusted
