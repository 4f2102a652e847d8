"""The audits of a page find what they look for; else the tests that find nothing would prove nothing."""

from __future__ import annotations

import pytest
from audits import active_content, badly_named, invisible_characters, low_contrast, overflows

GOOD = '<!doctype html><html lang="en"><title>t</title><body style="background:#fff;color:#222"><h1>Page</h1>' + (
    "<p>words</p>" * 25
)
FAULTS = {
    low_contrast: [
        '<p style="color:#8a8a8a">pale</p>',
        '<p style="opacity:0.5">half there</p>',
        '<div style="background:#223"><p>dark on dark</p></div>',
        '<svg><text y="12" fill="#bbb">pale</text></svg>',
    ],
    badly_named: [
        "<button></button>",
        "<input>",
        '<a href="#x"></a>',
        "<h4>too deep</h4>",
        "<h1>again</h1>",
        "<table><tr><td>1</td></tr></table>",
        '<p id="a"></p><p id="a"></p>',
        '<button aria-controls="nobody">x</button>',
    ],
    invisible_characters: ["<p>a\u202eb</p>", "<p>a\u200bb</p>", '<p title="\u2028">x</p>', "<p>\x1b[31m</p>"],
    active_content: [
        '<img src="data:,">',
        "<svg><foreignObject/></svg>",
        '<a href="javascript:0">x</a>',
        '<p onclick="0">',
    ],
    overflows: ['<div style="width:5000px">wide</div>'],
}


@pytest.mark.parametrize("audit", FAULTS, ids=lambda audit: audit.__name__)
def test_each_fault_is_found_and_a_good_page_has_none(browser, audit):
    page = browser.new_page()
    page.set_content(GOOD)
    assert audit(page) == []
    for fault in FAULTS[audit]:
        page.set_content(GOOD + fault)
        assert audit(page), fault
    page.close()
