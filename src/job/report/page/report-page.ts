/** The report as one page for people. It needs no script and no other file, so it opens from a disk or a bucket. Pure. */
import { hash } from 'node:crypto';
import { notableCalls } from './calls.ts';
import { costTable, outcomes, verdicts } from './counts.ts';
import { endingOf } from './ending.ts';
import { errors } from './errors.ts';
import { facts, tiles } from './facts.ts';
import { latency } from './latency.ts';
import type { PageData } from './page-data.ts';
import { providersSection } from './providers.ts';
import { requests } from './requests.ts';
import { filesSection, runsSection } from './runs.ts';
import { REPORT_STYLE } from './style.ts';
import { waitsSection } from './waits.ts';
import { linkBeside, named } from './words.ts';

/** Allows no loading and no script. */
const POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', REPORT_STYLE, 'base64')}'; base-uri 'none'; form-action 'none'`;

/** A section without content is left out. */
const SECTIONS: readonly (readonly [title: string, content: (data: PageData) => string | null])[] = [
  ['Outcomes', outcomes],
  ['Verdicts', verdicts],
  ['Providers', providersSection],
  ['Errors', errors],
  ['Requests against quota', requests],
  ['Waits', waitsSection],
  ['Latency', latency],
  ['Slow and repeated lookups', notableCalls],
  ['Cost', costTable],
  ['Runs', runsSection],
  ['Files', filesSection],
];

export function reportPage(data: PageData): string {
  const { report } = data;
  const { words, kind, next } = endingOf(report);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${named(report.job)} - Millrace</title>
<style>${REPORT_STYLE}</style>
</head>
<body>
<header>
<h1>${named(report.job)}</h1>
<p class="state ${kind}">${words}</p>
${tiles(data)}
<dl>
${facts(data)
  .map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`)
  .join('\n')}
</dl>
</header>
<main>
<section>
<h2>What to do next</h2>
${next.map((sentence) => `<p>${sentence}</p>`).join('\n')}
</section>
${sections(data).join('\n')}
</main>
<footer><p>All times are UTC, and all totals cover every run, resume and retry of the job. Written by Millrace ${named(report.version)}.
  For programs: ${linkBeside(`${report.output.uri}.report.json`)}.</p></footer>
</body>
</html>
`;
}

function sections(data: PageData): string[] {
  return SECTIONS.flatMap(([title, content]) => {
    const html = content(data);
    return html === null ? [] : [`<section>\n<h2>${title}</h2>\n${html}\n</section>`];
  });
}
