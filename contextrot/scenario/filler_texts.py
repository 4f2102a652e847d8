"""The phrases `filler.py` builds from. Texts only: no digits, no codes, no names a fact could be mistaken for.

`{0}`, `{1}` … in a template stand for a word of the list with that position in `slots`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """The material of one kind of filler.

    `openings` begin a turn and hold every slot once, so that the walk over their combinations never repeats within a
    session. `details` fill the turn up to its size; `closers` bring it to the token; `replies` are what a scripted
    assistant answers, with `reply_ends` to vary them.
    """

    slots: tuple[tuple[str, ...], ...]
    openings: tuple[str, ...]
    details: tuple[str, ...]
    closers: tuple[str, ...]
    replies: tuple[str, ...]
    reply_ends: tuple[str, ...]


_ENDINGS = (
    "Thanks.", "Many thanks.", "Thanks a lot.", "That is all.", "Thank you very much.", "Let me know, thanks.",
    "Please have a look, thanks.", "No rush, whenever you have time.", "Happy to add detail if it helps.",
    "I will check back in a little while.", "Just tell me if you need anything more from me.",
    "I am around for the rest of the day if needed.", "Sorry for the long message, and thank you for reading it all.",
)  # fmt: skip

TICKETS = Kind(
    slots=(
        (
            "the export page", "the login form", "the invoice list", "the search box", "the mobile app",
            "the upload dialog", "the team dashboard", "the calendar sync", "the billing page", "the password reset",
            "the report builder", "the notification centre", "the import wizard", "the comment thread",
            "the printer queue", "the audit log", "the profile page",
        ),
        (
            "hangs on a blank screen", "shows last week's data", "asks me to sign in again and again",
            "loses what I typed", "answers far too slowly", "closes without a word", "shows every entry twice",
            "ignores the filter I set", "sends the same mail over and over", "cuts off long names",
            "refuses files it took last month", "jumps back to the first page", "prints the wrong address",
        ),
        (
            "since the update", "after a colleague changed the settings", "whenever two of us work at once",
            "on the office network but not at home", "as soon as I open a second tab", "after a longer break",
            "only for people who joined recently", "right after the weekly backup", "when the list grows long",
            "in the browser but not in the app", "for everyone in the finance team",
        ),
    ),
    openings=(
        "Hello, {0} {1} {2}.",
        "New ticket: {0} {1} {2}.",
        "A customer writes that {0} {1} {2}.",
        "We have a report that {0} {1} {2}.",
        "Once more a problem: {0} {1} {2}.",
    ),
    details=(
        "I have already cleared the cache and restarted the machine.",
        "A colleague on the same floor sees exactly the same thing.",
        "It worked well until yesterday afternoon.",
        "There is no error message, the page simply stays as it is.",
        "Our own administrator could not find anything in the settings.",
        "We need this for the monthly closing, so it is getting urgent.",
        "It is annoying, but we can work around it for now.",
        "The same steps are fine when I sign in as a guest.",
        "I attached a screenshot to the first mail of this thread.",
        "Several customers have asked us about it this morning.",
        "Switching to another browser did not change anything.",
        "Waiting for a few minutes sometimes helps, but not always.",
        "The person who set this up has left the company.",
        "We did not install anything new on our side.",
        "If it matters, the account is an old one that was moved over.",
        "The help page describes a button that I cannot find.",
        "Nobody has lost any data so far, as far as we can tell.",
        "I would rather not call the hotline again.",
        "It also happens on the large screen in the meeting room.",
        "My manager would like to know when this will be solved.",
        "Only the first attempt of the day seems to go through.",
        "We pay for the larger plan, so I expected a quicker answer.",
        "Reloading brings it back for a moment.",
        "It fails quietly.",
        "The status page says all is well.",
    ),
    closers=_ENDINGS,
    replies=(
        "Thank you for the report about {0}. I have written down that it {1} {2} and passed it to the team.",
        "I see: {0} {1} {2}. Please keep the tab open so that we can look at the session.",
        "That {0} {1} {2} matches a report from another customer. I have linked the two.",
        "Understood. As {0} {1} {2}, the first thing to try is a fresh session without extensions.",
        "I am sorry that {0} {1} {2}. The ticket is open and someone will look at it today.",
    ),
    reply_ends=(
        "You will hear from us as soon as we know more.",
        "A short note on what you did just before would help.",
        "Please tell me if it happens to anyone else in your team.",
        "Until then the older view should still work.",
        "I will keep this ticket open.",
        "There is nothing more you need to do for now.",
        "If it gets worse, simply answer here.",
    ),
)  # fmt: skip

NOTES = Kind(
    slots=(
        (
            "the onboarding study", "the pricing review", "the interview round", "the literature search",
            "the design workshop", "the supplier visit", "the budget talk", "the usability test", "the field trip",
            "the planning session", "the retrospective", "the editorial meeting", "the training day",
            "the site survey", "the partner call", "the data review", "the hiring panel",
        ),
        (
            "people liked the shorter version", "nobody could agree on the order of the steps",
            "the open questions were sorted", "the old approach looked better than expected",
            "we ran out of time before the last point", "most of the talk was about the schedule",
            "two groups came to the same view", "the main risk was said aloud", "the numbers were not ready yet",
            "a simpler plan found support", "the quiet ones had the best remarks", "the first draft was taken apart",
            "the scope became smaller",
        ),
        (
            "which surprised the team", "as we had hoped", "although the room was noisy",
            "and that should go into the summary", "so the next step is clearer now",
            "even if it was late in the day", "and somebody will write it up", "without much debate",
            "which needs another look", "and the slides will be changed", "mostly because of the examples",
        ),
    ),
    openings=(
        "Notes from {0}: {1}, {2}.",
        "In {0} {1}, {2}.",
        "Please file this under {0}: {1}, {2}.",
        "Short summary of {0}: {1}, {2}.",
        "Another entry on {0}. It turned out that {1}, {2}.",
    ),
    details=(
        "The discussion went back and forth between cost and quality.",
        "Somebody asked whether the older survey still holds.",
        "We agreed to collect examples before the next round.",
        "The draft needs a shorter introduction and a clearer ending.",
        "A visitor pointed out that the wording is hard to translate.",
        "There was a long detour about the naming of the parts.",
        "The group would like to see a sketch rather than a table.",
        "One reviewer doubts that the sample is large enough.",
        "The second half was mostly about who does what.",
        "It was mentioned that the neighbours had tried something similar.",
        "We looked at the comments from the last round one by one.",
        "A printed copy went around and came back full of marks.",
        "The timeline was left open on purpose.",
        "Most people would rather start small and learn from it.",
        "The question of access came up again and was parked.",
        "Some of the quotes can be used in the public version.",
        "Nobody objected to moving the review to the morning.",
        "The recording is clear enough to be typed up later.",
        "We skipped the part on tools because it was covered before.",
        "The weather kept a few people away.",
        "Coffee helped.",
        "The tone was friendly throughout.",
        "An outside view would be welcome at this point.",
        "The list of sources has grown and should be tidied.",
        "It is not clear yet who will own the result.",
    ),
    closers=(
        "Noted.", "More later.", "Please keep this.", "That was all.", "File it with the rest.",
        "We return to it soon.", "The rest can wait until then.", "Please add it to the running notes.",
        "I will send the longer version later on.", "Tell me if any of this is unclear to you.",
        "We should come back to this before the end of the month.",
        "The full minutes will follow as soon as they are typed.",
        "Please put it next to the other entries so that nothing is lost.",
    ),
    replies=(
        "Filed under {0}: {1}, {2}.",
        "Thank you, the entry on {0} is in place. Main point: {1}, {2}.",
        "I have added to {0} that {1}, {2}.",
        "Good. For {0} the record now says that {1}, {2}.",
        "Noted for {0}: {1}, {2}. The rest is kept as background.",
    ),
    reply_ends=(
        "I marked one point for follow-up.",
        "It sits next to the earlier entries.",
        "I left the quotes as they were.",
        "The open question is on the list.",
        "Tell me if you want it shorter.",
        "I can turn it into slides later.",
        "The order follows your notes.",
    ),
)  # fmt: skip

SMALL_TALK = Kind(
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
