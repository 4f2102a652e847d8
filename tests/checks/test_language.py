"""`language`: the right language passes, another fails, and too little text is neither."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from contextrot.checks import check, load_check
from contextrot.checks.language import LANGUAGES, probabilities
from contextrot.errors import ConfigError
from contextrot.outcomes import Outcome

#: code → a reply of two sentences, a reply of one short sentence
REPLIES: dict[str, list[str]] = {}
for _case in yaml.safe_load((Path(__file__).parent / "languages.yaml").read_text("utf-8")):
    REPLIES.setdefault(_case["is"], []).append(_case["reply"])


def outcome(code: str, reply: object, **parameters: object) -> str:
    return check({"type": "language", "is": code, **parameters}, reply).outcome.value


@pytest.mark.parametrize("code", REPLIES)
def test_two_sentences_pass_in_their_language_and_fail_in_every_other(code: str) -> None:
    text = REPLIES[code][0]
    assert outcome(code, text) == "pass"
    passing = [other for other in REPLIES if other != code and outcome(other, text) == "pass"]
    assert passing == []


def test_hardly_two_sentences_are_left_open() -> None:
    """Of 35 × 34 pairs of a reply and another language; those left open are neighbours such as Croatian and Serbian."""
    open_ = sum(outcome(other, REPLIES[code][0]) == "inconclusive" for code in REPLIES for other in REPLIES)
    assert open_ <= 12


@pytest.mark.parametrize("code", REPLIES)
def test_five_words_never_fail_in_their_own_language(code: str) -> None:
    assert outcome(code, REPLIES[code][1]) != "fail"


def test_five_words_are_mostly_enough() -> None:
    own = [outcome(code, short) for code, (_, short) in REPLIES.items()]
    assert own.count("pass") >= len(own) - 3
    wrong = [outcome(other, short) for code, (_, short) in REPLIES.items() for other in REPLIES if other != code]
    assert wrong.count("fail") >= 0.97 * len(wrong)
    assert wrong.count("pass") <= 2  # the short sentence in Malay is Indonesian as well


CASES = yaml.safe_load((Path(__file__).parent / "language_cases.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['is']}-{number}" for number, case in enumerate(CASES)])
def test_what_counts_as_text(case: dict[str, str]) -> None:
    verdict = check({"type": "language", "is": case["is"]}, case["reply"])
    assert verdict.outcome.value == case["expect"], verdict.reason


def test_the_share_that_must_be_in_the_language_can_be_set() -> None:
    reply = "Le projet est prévu pour lundi et l'équipe est prête. The project is planned for Monday and ready."
    assert outcome("fr", reply) == "fail"
    assert outcome("fr", reply, share=0.51) == "pass"
    verdict = check({"type": "language", "is": "fr"}, reply)
    assert "French" in verdict.reason
    assert "English" in verdict.reason
    assert verdict.evidence.startswith("The project")


@pytest.mark.parametrize(
    ("written", "meant"), [("fr-FR", "`fr`"), ("French", "`fr`"), ("german", "`de`"), ("nb", "`no`"), ("zh_CN", "`zh`")]
)
def test_another_name_of_a_language_is_refused_with_the_code(written: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=meant):
        load_check({"type": "language", "is": written})


@pytest.mark.parametrize("share", [0.5, 0.2, 1.1, "half"])
def test_a_share_that_decides_nothing_is_refused(share: object) -> None:
    with pytest.raises(ConfigError, match="share"):
        load_check({"type": "language", "is": "en", "share": share})


def test_every_code_is_one_the_classifier_knows() -> None:
    told = probabilities("The shipment left the harbour this morning.")
    assert set(LANGUAGES) <= set(told)
    assert sum(told.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "text",
    [
        "La livraison a quitté le port ce matin. " * 26_000,
        "`" * 1_000_000,
        "«" * 1_000_000,
        '"' * 1_000_000,
        "a" * 1_000_000,
        '{"a": "x y z"} ' * 70_000,
        "<a " * 300_000,
        "_*" * 500_000,
    ],
    ids=["French", "backticks", "guillemets", "quotes", "one word", "JSON", "tags", "marks"],
)
def test_a_megabyte_takes_no_time(text: str) -> None:
    before = time.perf_counter()
    verdict = check({"type": "language", "is": "fr"}, text)
    assert time.perf_counter() - before < 5  # a tenth of that on a quiet machine
    assert verdict.outcome is (Outcome.PASS if text.startswith("La") else Outcome.INCONCLUSIVE)


def test_a_reply_that_drifts_after_its_first_pages_is_seen() -> None:
    french, english = "La livraison a quitté le port ce matin. ", "The shipment left the harbour this morning. "
    assert outcome("fr", french * 2_000 + english * 2_000) == "fail"
    assert outcome("fr", french * 4_000 + english * 100) == "pass"


def test_the_same_text_gets_the_same_answer() -> None:
    text = REPLIES["hr"][1]
    assert len({str(probabilities(text)) for _ in range(5)}) == 1


def test_the_classifier_is_imported_when_it_is_first_needed() -> None:
    program = (
        "import sys, contextrot.checks as c; c.load_check({'type': 'language', 'is': 'en'});"
        "sys.exit('py3langid' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    "reply", ["東京都千代田区", "株式会社東芝", "営業時間：午前九時～午後五時", "確認済。問題無。"]
)
def test_a_few_signs_without_kana_are_japanese_or_chinese(reply: str) -> None:
    assert {outcome(code, reply) for code in ("ja", "zh")} == {"inconclusive"}
    assert outcome("de", reply) == "fail"


@pytest.mark.parametrize("reply", ["会议已移至星期四上午十点。", "會議已經改到星期四上午十點。", "好的，我明白了。"])
def test_what_only_chinese_writes_is_chinese_however_short(reply: str) -> None:
    assert (outcome("zh", reply), outcome("ja", reply)) == ("pass", "fail")


FRENCH = "La réunion est déplacée à jeudi matin à cause de la grève des transports."


def test_a_quotation_does_not_decide_for_the_few_words_before_it() -> None:
    assert outcome("fr", f'The answer is "{FRENCH}"') in ("fail", "inconclusive")
    assert outcome("en", f'The answer is "{FRENCH}"') in ("pass", "inconclusive")
    # a reply that is the quotation, or names who said it, is told by it
    assert outcome("fr", f"« {FRENCH} »") == "pass"
    assert outcome("fr", f"Oui : « {FRENCH} »") == "pass"
