"""Talk about gardens, weather and weekends."""

from __future__ import annotations

from contextrot.scenario.fillers.base import Kind

SMALL_TALK = Kind(
    topic="leisure",
    first_edition=True,
    slots=(
        (
            "the garden", "the old bicycle", "the neighbour's dog", "the new bakery", "the train ride",
            "the rainy weekend", "the choir", "the kitchen shelf", "the lake", "the book club", "the market",
            "the hiking trail", "the film last night", "the painting class", "the long walk", "the tomato plants",
            "the quiet street",
        ),
        (
            "was better than I had feared", "took the whole afternoon", "made everybody laugh",
            "reminded me of school", "turned out rather well", "kept us busy", "was a small adventure",
            "is still on my mind", "left me a little tired", "gave us something to talk about",
            "was worth the trouble", "went on far too long", "cheered up the children",
        ),
        (
            "in spite of the weather", "thanks to my sister", "with a pot of tea", "as it always does",
            "just in time for supper", "while the radio was playing", "for once", "to my own surprise",
            "before the guests arrived", "in its own way", "without any planning",
        ),
    ),
    openings=(
        "You know, {0} {1} {2}.",
        "Speaking of which, {0} {1} {2}.",
        "I meant to tell you that {0} {1} {2}.",
        "By the way, {0} {1} {2}.",
        "Funny thing: {0} {1} {2}.",
    ),
    details=(
        "My brother would have done it differently, of course.",
        "We sat outside until the lamps came on.",
        "I should really do this more often.",
        "The soup was still warm when we came home.",
        "There was a cat asleep on the wall the whole time.",
        "Somebody had brought far too much cake.",
        "I had forgotten how green everything gets in spring.",
        "The shop on the corner has changed hands again.",
        "My shoes will need a day or two to dry.",
        "The children asked a hundred questions and waited for no answer.",
        "An old friend called right in the middle of it.",
        "I am thinking of trying it with a little more salt.",
        "Nobody could find the umbrella afterwards.",
        "The view from the bridge is lovely at that hour.",
        "I even took a few pictures, not that they are any good.",
        "It is strange how quickly the evenings get darker.",
        "My neighbour swears by his grandmother's recipe.",
        "We promised each other to go again.",
        "The bus was late, as ever.",
        "It smelled of rain.",
        "I slept well.",
        "You would have liked the music.",
        "For a while nobody said a word, which was nice.",
        "I found a recipe for plum jam in an old drawer.",
        "The paint has to dry before anything else can happen.",
    ),
    closers=(
        "Oh well.", "Anyway.", "Such is life.", "And you?", "What do you think?", "Makes one think, really.",
        "I hope you are well too.", "Tell me how your own day was.", "It was a good day, all things considered.",
        "Perhaps we can do it together some time soon.", "Do you have any plans of your own for the evening?",
        "I would love to hear what you have been up to lately.",
        "Well, that is enough from me, tell me something about your week.",
    ),
    replies=(
        "How nice that {0} {1} {2}.",
        "I can picture it: {0} {1} {2}.",
        "It sounds as if {0} {1} {2}, and that is worth a lot.",
        "So {0} {1} {2}. I am glad you told me.",
        "That made me smile. Not every day can one say that {0} {1} {2}.",
    ),
    reply_ends=(
        "Small things like that make a week.",
        "What did the others say?",
        "I hope there will be a next time.",
        "Did you rest a little afterwards?",
        "It is good to have such days.",
        "I would gladly hear more about it.",
        "That deserves a cup of something warm.",
    ),
)  # fmt: skip
