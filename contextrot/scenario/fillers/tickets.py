"""Support tickets, as customers and colleagues write them."""

from __future__ import annotations

from contextrot.scenario.fillers.base import Kind

TICKETS = Kind(
    topic="support",
    first_edition=True,
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
    closers=(
        "Thanks.", "Many thanks.", "Thanks a lot.", "That is all.", "Thank you very much.", "Let me know, thanks.",
        "Please have a look, thanks.", "No rush, whenever you have time.", "Happy to add detail if it helps.",
        "I will check back in a little while.", "Just tell me if you need anything more from me.",
        "I am around for the rest of the day if needed.",
        "Sorry for the long message, and thank you for reading it all.",
    ),
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
