/** How the report's page looks: on a phone, on a desk, in the dark, and on paper. */
export const REPORT_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dee6, #30363d); --soft: light-dark(#5b6673, #9aa4af);
  --accent: light-dark(#0b6bcb, #58a6ff); --good: light-dark(#1a7f37, #3fb950); --bad: light-dark(#c5221f, #ff7b72);
  --paper: light-dark(#fff, #121416); --warn: light-dark(#b54708, #f0a35e); --other: light-dark(#7a4fc0, #b392f0); }
* { box-sizing: border-box; }
html { background: var(--paper); }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 3rem; font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
a { color: var(--accent); }
code { font-family: ui-monospace, monospace; font-size: .9em; }
.state { font-size: 1.1rem; font-weight: 600; margin: .25rem 0 1rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
footer, .note, figcaption { color: var(--soft); font-size: .9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; }
.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { overflow-wrap: normal; }
th, td { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--line); }
.numbers :is(td, th):not(:first-child) { text-align: right; } .numbers td:not(:first-child) { white-space: nowrap; }
.numbers code { overflow-wrap: normal; } .texts[tabindex] table { min-width: 40rem; }
.texts td { overflow-wrap: break-word; } .texts code { overflow-wrap: anywhere; }
.tiles, .legend { padding: 0; list-style: none; } .legend { margin: .25rem 0 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.tiles li { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem; }
.tiles b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; } .tiles small { display: block; color: var(--soft); }
figure { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; margin: .75rem 0; }
svg { display: block; width: 100%; }
.plot { display: grid; grid-template-columns: max-content 1fr; gap: 0 .5rem; margin-top: 3.6rem; }
.ticks { display: flex; flex-direction: column; justify-content: space-between; margin-top: -.4em; padding-bottom: .6rem; text-align: right;
  line-height: 1; }
.ticks, .axis { color: var(--soft); font-size: .85rem; font-variant-numeric: tabular-nums; }
.under { grid-column: 2; }
.chart { height: 11rem; overflow: visible; } .chart > svg { overflow: visible; }
.grid { fill: none; stroke: var(--line); vector-effect: non-scaling-stroke; stroke-width: 1; }
.value { outline: none; } .value rect { fill: transparent; }
.value:is(:hover, :focus) rect { fill: currentColor; fill-opacity: .1; } .value:focus rect { stroke: currentColor; }
.value text { visibility: hidden; fill: currentColor; font-size: .85rem; font-variant-numeric: tabular-nums; }
.value:hover text, .plot:not(:hover) .value:focus text { visibility: visible; }
.skip { position: absolute; left: -100rem; } .skip:focus { position: static; }
.stack { height: 1.25rem; margin-bottom: .5rem; } .key { display: inline-block; width: .8em; height: .8em; }
.axis { display: flex; justify-content: space-between; gap: 1rem; }
.matched { fill: var(--good); } .no_match { fill: var(--soft); } .invalid { fill: var(--warn); } .suppressed { fill: var(--other); }
  .failed { fill: var(--bad); } .skipped { fill: var(--line); }
.bar { fill: var(--accent); } .cut { fill: var(--bad); } .later { fill: var(--warn); opacity: .25; }
  .down { fill: var(--bad); opacity: .5; } .wait { fill: var(--other); }
.plan, .gap { fill: none; vector-effect: non-scaling-stroke; stroke-width: 1.5; stroke-dasharray: 4 3; } .plan { stroke: currentColor; }
  .gap { stroke: var(--soft); stroke-dasharray: 1 3; }
summary { cursor: pointer; padding: .35rem 0; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } th, td { padding-right: .6rem; } }
@media print {
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  details::details-content { content-visibility: visible; height: auto; }
  .plot { margin-top: .5rem; } .skip { display: none; }
  h2 { break-after: avoid; } tr, svg, .axis { break-inside: avoid; }
}
`;
