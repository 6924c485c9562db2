"""CSS of the HTML pages and of the plan's SVG diagram, for light and dark mode and for print."""

from __future__ import annotations

_DAY = """\
--paper:#ffffff;--lane:#f6f8fa;--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;\
--good:#1a7f37;--good-wash:#e6f6ea;--bad:#cf222e;--bad-wash:#ffeef0;\
--wait:#8a5a00;--wait-wash:#fff6dc;--news:#0550ae;--news-wash:#e7f1ff"""
_NIGHT = """\
--paper:#0d1117;--lane:#151b23;--ink:#e6edf3;--soft:#9aa4af;--line:#343c46;\
--good:#4cc764;--good-wash:#11271a;--bad:#ff7b72;--bad-wash:#34171a;\
--wait:#e3b341;--wait-wash:#2b220f;--news:#79b8ff;--news-wash:#12233d"""
_SANS = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif'
_MONO = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace'

PICTURE = f"""\
.plan text{{font-family:{_MONO};font-size:12px;fill:var(--ink)}}
.plan .soft{{fill:var(--soft)}} .plan .good{{fill:var(--good)}} .plan .bad{{fill:var(--bad)}}
.plan .wait{{fill:var(--wait)}} .plan .news{{fill:var(--news)}}
.plan .phase,.plan .verdict,.plan .said{{font-family:{_SANS};font-weight:600}}
.plan .phase{{font-size:13px}} .plan .verdict{{font-size:24px;font-weight:700}} .plan .said{{font-size:14px}}
.plan .lane{{fill:var(--lane);stroke:var(--line)}}
.plan .chip{{fill:var(--paper);stroke:var(--line)}}
.plan .chip.failed{{fill:var(--bad-wash);stroke:var(--bad);stroke-width:1.5}}
.plan .chip.waiting{{fill:var(--wait-wash);stroke:var(--wait);stroke-width:1.5}}
.plan .chip.not-reached{{fill:none;stroke-dasharray:4 3}}
.plan .tag{{fill:var(--news-wash)}}
.plan .mark{{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}}
.plan .mark.done{{stroke:var(--good)}} .plan .mark.failed{{stroke:var(--bad)}}
.plan .mark.waiting{{stroke:var(--wait)}} .plan .mark.not-reached{{stroke:var(--soft)}}
.plan .spine{{stroke:var(--good);stroke-width:2.5;fill:none}}
.plan .spine.not-reached{{stroke:var(--line);stroke-dasharray:3 5}}
.plan .stop{{fill:var(--paper);stroke:var(--good);stroke-width:2}}
.plan .stop.failed{{stroke:var(--bad)}} .plan .stop.waiting{{stroke:var(--wait)}}
.plan .stop.not-reached{{stroke:var(--line)}}
.plan .end{{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:6 4;fill:none}}
.plan .needs{{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:5 4;fill:none}}
.plan .head{{fill:var(--bad)}} .plan .ground{{fill:var(--paper)}}
"""

ALONE = f"""\
svg{{{_DAY}}}
@media (prefers-color-scheme:dark){{svg{{{_NIGHT}}}}}
@media print{{svg{{{_DAY}}}}}
{PICTURE}"""

_BASE = f"""\
:root{{color-scheme:light dark;{_DAY}}}
@media (prefers-color-scheme:dark){{:root{{{_NIGHT}}}}}
@media print{{:root{{color-scheme:light;{_DAY}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 {_SANS}}}
main,header,footer{{max-width:1088px;margin:0 auto;padding:0 24px}}
header{{padding-top:32px}}
h1{{font-size:30px;line-height:1.2;margin:0 0 8px;letter-spacing:-.01em}}
h2{{font-size:21px;margin:44px 0 4px;padding-top:20px;border-top:1px solid var(--line)}}
h3{{font-size:16px;margin:28px 0 8px}} h4{{font-size:15px;margin:0 0 6px}}
p{{margin:6px 0}} ul,ol{{margin:6px 0;padding-left:22px}} a{{color:var(--news)}}
code,pre,td.name{{font-family:{_MONO};font-size:13px;overflow-wrap:anywhere}}
pre{{background:var(--lane);border:1px solid var(--line);border-radius:8px;padding:12px 14px;overflow-x:auto;
margin:8px 0}}
pre .plus{{color:var(--good)}} pre .minus{{color:var(--bad)}}
.soft{{color:var(--soft)}} .good{{color:var(--good)}} .bad{{color:var(--bad)}} .wait{{color:var(--wait)}}
.news{{color:var(--news)}}
.answer{{font-size:18px;margin:4px 0}}
.badge{{display:inline-block;border-radius:999px;padding:1px 10px;font-size:13px;font-weight:600;
white-space:nowrap}}
.badge.good{{background:var(--good-wash)}} .badge.bad{{background:var(--bad-wash)}}
.badge.wait{{background:var(--wait-wash)}}
table{{border-collapse:collapse;width:100%;margin:6px 0}}
th{{text-align:left;font-weight:600;color:var(--soft);font-size:13px}}
th,td{{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}}
.clusters th,.clusters td:nth-child(2){{white-space:nowrap}} td.from{{min-width:14em}}
figcaption{{font-size:13px}}
td.sort{{width:2em;font-weight:700;text-align:center}}
figure{{margin:12px 0;overflow-x:auto}} figure svg{{display:block;width:100%;min-width:760px;height:auto}}
summary{{cursor:pointer;color:var(--soft)}}
.card{{border:1px solid var(--line);border-left:4px solid var(--bad);border-radius:8px;
padding:14px 16px;margin:10px 0}}
.card.follows{{border-left-color:var(--line)}}
.fix{{margin-top:12px}}
footer{{color:var(--soft);font-size:13px;padding-top:28px;padding-bottom:40px}}
@media print{{details::details-content{{content-visibility:visible;block-size:auto}}
.card,figure,tr{{break-inside:avoid}} a{{color:inherit}}
body{{font-size:12px}} figure svg{{min-width:0}}}}
"""

PAGE = f"""\
{_BASE}{PICTURE}"""

FLEET = f"""\
{_BASE}.state{{font-weight:600}} .sync{{margin:8px 0}} .apps td{{overflow-wrap:anywhere}}
.apps td.cause{{width:50%}} .apps .label{{display:none}}
nav ul{{list-style:none;padding:0}} nav li{{margin:4px 0}}
@media (max-width:640px){{main,header,footer{{padding:0 14px}} header{{padding-top:18px}} h1{{font-size:23px}}
h2{{font-size:18px;margin-top:30px;overflow-wrap:anywhere}} .answer{{font-size:16px;overflow-wrap:anywhere}}
.card{{padding:10px 12px}} h4,li,p{{overflow-wrap:anywhere}} pre{{font-size:12px;padding:10px;
white-space:pre-wrap}}
.apps,.apps tbody,.apps tr{{display:block;width:auto}} .apps thead{{display:none}}
.apps tr{{border-bottom:1px solid var(--line);padding:10px 0}}
.apps td{{display:inline-block;border:0;padding:1px 12px 1px 0}}
.apps td:first-child,.apps td.cause{{display:block;width:auto}} .apps td.empty{{display:none}}
.apps .label{{display:inline;color:var(--soft);font-size:13px}}}}
"""
