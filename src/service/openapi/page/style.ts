/** How the reference looks: on a phone, on a desk, in the dark, and on paper. */
export const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: light-dark(#0b57a4, #8ab8f0); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 0 1rem 4rem; font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin-bottom: 0; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
h3 { margin: 2.5rem 0 .5rem; }
h4 { margin: 1rem 0 .25rem; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, monospace; font-size: .875em; }
code { background: var(--soft); padding: 0 .2em; border-radius: 3px; }
pre { background: var(--soft); padding: .75rem; border-radius: 6px; overflow-x: auto; max-height: 30rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); }
th, td { overflow-wrap: break-word; }
td:first-child { white-space: nowrap; }
td:last-child { overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 3.5rem; font-weight: 700; }
nav ul { list-style: none; padding: 0; }
nav li { padding: .15rem 0; }
input { width: 100%; font: inherit; padding: .5rem; border: 1px solid var(--line); border-radius: 6px; background: transparent;
  color: inherit; }
summary { cursor: pointer; padding: .35rem 0; }
[hidden] { display: none; }
@media (max-width: 40rem) {
  td:first-child { white-space: normal; }
  pre { max-height: 20rem; }
}
@media print {
  body { max-width: none; font-size: 10pt; }
  input, .search { display: none; }
  pre { max-height: none; white-space: pre-wrap; }
  details::details-content { content-visibility: visible; height: auto; }
  h2, h3, h4 { break-after: avoid; }
  tr { break-inside: avoid; }
}
`;
