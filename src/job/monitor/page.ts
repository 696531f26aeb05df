/** The live page: one file that works offline and asks only the monitor itself. */
import { createHash } from 'node:crypto';

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dee6, #30363d); --soft: light-dark(#5b6673, #9aa4af);
  --accent: light-dark(#0b6bcb, #58a6ff); --warn: light-dark(#b54708, #f0a35e); }
html { background: light-dark(#fff, #111418); color: light-dark(#1a1f24, #e6edf3); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem; }
h1 { font-size: 1.25rem; margin: 0; overflow-wrap: anywhere; }
  h2 { font-size: .8rem; font-weight: 600; color: var(--soft); margin: 0 0 .25rem; }
header { display: flex; gap: 1rem; align-items: baseline; justify-content: space-between; }
#state, footer { color: var(--soft); } #notice { color: var(--warn); font-weight: 600; min-height: 1.5em; margin: .5rem 0; }
progress { width: 100%; height: .9rem; accent-color: var(--accent); }
#tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; margin: 1rem 0; padding: 0; }
#tiles > section, figure { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; margin: 0; }
#tiles b { font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
  #tiles small { display: block; color: var(--soft); font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: 8rem; }
  polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
  #plan { stroke: var(--soft); stroke-dasharray: 4 4; }
footer { font-size: .85rem; margin-top: 1rem; } a { color: var(--accent); }`;

const TILES: readonly (readonly [id: string, title: string])[] = [
  ['rows', 'Rows written'],
  ['matched', 'Match rate'],
  ['requests', 'Requests a second'],
  ['quota', 'Quota of the plan used'],
  ['eta', 'Time left'],
  ['flight', 'In flight'],
  ['latency', 'Latency, median'],
  ['lag', 'Read, not yet written'],
  ['checkpoint', 'Last checkpoint'],
  ['elapsed', 'Running for'],
  ['credits', 'Credits'],
  ['verdicts', 'Verdicts'],
  ['errors', 'Errors'],
];

const SCRIPT = `
'use strict';
const EVERY_MS = 1000, WIDTH = 300;
const $ = (id) => document.getElementById(id);
const say = (id, text, more = '') => { $(id).textContent = text; $(id + '-more').textContent = more; };
const count = (n) => Math.round(n).toLocaleString('en-US');
const rate = (n) => n < 10 ? n.toFixed(1) : count(n);
const duration = (ms) => { const s = Math.ceil(ms / 1000); return s < 60 ? s + ' s' : s < 3600 ? Math.floor(s / 60) + ' min ' + s % 60
  + ' s' : Math.floor(s / 3600) + ' h ' + Math.floor(s % 3600 / 60) + ' min'; };
const ms = (n) => n === null ? '-' : n < 1000 ? Math.round(n) + ' ms' : (n / 1000).toFixed(1) + ' s';
const held = (h) => {
  if (h === null) return '';
  const left = h.leftMs === null ? '' : duration(h.leftMs) + ' left';
  if (h.by === 'outage') return (h.lastLookups ? 'The last lookups fail (' + h.lastLookups
  + '): the service is down, or fails for these alone, for ' : 'The service is down, for ') + duration(h.forMs) + (h.leftMs > 0
  ? '; asked again in ' + duration(h.leftMs) : '; being asked');
  if (h.by === 'throttled') return 'The service said "later". Waiting for ' + h.what + ': ' + left;
  if (h.by === 'quota') return 'Waiting for ' + h.what + ': ' + left;
  return 'Nothing is sent for ' + duration(h.forMs) + '. Waiting for ' + h.what + (left === '' ? '' : ': ' + left);
};
const listed = (counts) => Object.entries(counts).filter(([, n]) => n > 0).sort(([, a], [, b]) => b - a)
  .map(([name, n]) => name + ' ' + count(n));
const total = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0);
const draw = (now) => {
  const { widthMs, requests } = now.series;
  // The last slot is not over yet.
  const rates = requests.slice(0, Math.max(1, requests.length - 1)).map((n) => n / (widthMs / 1000));
  const plan = now.rpm === null ? 0 : now.rpm / 60;
  const top = Math.max(0.1, plan, ...rates);
  const x = (i) => rates.length < 2 ? WIDTH : WIDTH * i / (rates.length - 1), y = (n) => (100 - 95 * n / top).toFixed(2);
  $('rate').setAttribute('points', rates.map((n, i) => x(i).toFixed(1) + ',' + y(n)).join(' '));
  $('plan').setAttribute('points', plan === 0 ? '' : '0,' + y(plan) + ' ' + WIDTH + ',' + y(plan));
  $('most').textContent = 'top: ' + rate(top) + ' a second; each point: ' + duration(widthMs) + (plan === 0 ? '' : '; dashed: the plan');
};
const ENDED = { finished: 'finished', stopped: 'stopped: the same command resumes' };
const show = (now) => {
  document.title = (now.share === undefined ? '' : Math.floor(now.share * 100) + ' % ') + now.job + ' - Millrace';
  $('job').textContent = now.job;
  $('state').textContent = (ENDED[now.state] || now.state) + (now.state === 'finished' && now.exitCode ? ' with exit code '
  + now.exitCode : '');
  if (now.share === undefined) return;
  $('done').value = now.share;
  $('notice').textContent = held(now.heldUp);
  say('rows', count(now.rows), Object.entries(now.outcomes).filter(([, n]) => n > 0).map(([name, n]) => name + ' ' + count(n)).join(', '));
  const rates = Object.entries(now.matchRates).map(([kind, n]) => [kind, (n * 100).toFixed(1) + ' %']);
  say('matched', rates.map(([, n]) => n).join(', ') || '-', 'of ' + (rates.map(([kind]) => kind).join(', of ') || 'nothing yet'));
  say('requests', rate(now.requestsPerSecond), count(now.rowsPerSecond) + ' rows a second');
  say('quota', now.rpm === null ? 'unlimited' : Math.round(now.quota.usedShare * 100) + ' %', now.quota.remaining === null ? ''
  : count(now.quota.remaining) + ' of ' + (now.quota.limit === null ? '?' : count(now.quota.limit)) + ' left, says the service');
  say('eta', now.etaMs === null ? '-' : duration(now.etaMs), !now.records ? '' : Math.floor(now.share * 100) + ' % of '
  + (now.records.isExact ? '' : 'about ') + count(now.records.records) + ' records are written');
  say('flight', count(now.inFlight), 'of ' + count(now.inFlightLimit) + ' at most, ' + count(now.waiting) + ' wait');
  say('latency', ms(now.latencyMs.p50), '95 %: ' + ms(now.latencyMs.p95) + ', 99 %: ' + ms(now.latencyMs.p99));
  say('lag', count(now.lag.records), now.lag.records === 0 ? '' : 'the oldest for ' + duration(now.lag.oldestMs));
  say('checkpoint', now.checkpointAgeMs === null ? 'none' : duration(now.checkpointAgeMs) + ' ago', 'retries ' + count(now.retries)
  + ', throttled ' + count(now.throttled.events));
  say('elapsed', duration(now.activeMs));
  say('credits', count(now.credits));
  const verdicts = listed(now.verification), errors = listed(now.errors);
  say('verdicts', count(total(now.verification)), verdicts.join(', '));
  say('errors', count(total(now.errors)), errors.slice(0, 4).join(', ') + (errors.length > 4 ? ' and more' : ''));
  if (now.series !== null) draw(now);
};
const turn = async () => {
  try {
    const response = await fetch('progress.json', { cache: 'no-store', signal: AbortSignal.timeout(5000) });
    const now = await response.json();
    show(now);
    // The final picture stays.
    if (ENDED[now.state]) return;
  } catch {
    $('state').textContent = 'not reached: it has ended, or this page lost it';
  }
  setTimeout(turn, EVERY_MS);
};
turn();`;

/** Allows the page's own script, and nothing from another origin. */
export const MONITOR_PAGE_POLICY =
  `default-src 'none'; style-src '${digest(STYLE)}'; script-src '${digest(SCRIPT)}'; ` +
  `connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Millrace</title>
  <style>${STYLE}</style></head>
<body>
<header><h1 id="job">Millrace</h1><span id="state" role="status">starting</span></header>
<main>
<p id="notice" role="alert"></p>
<progress id="done" max="1" value="0" aria-label="How much of the job is done"></progress>
<div id="tiles">
${TILES.map(([id, title]) => `<section><h2>${title}</h2><b id="${id}">-</b><small id="${id}-more"></small></section>`).join('\n')}
</div>
<figure><h2>Requests a second, over the whole run</h2><svg viewBox="0 0 300 100" preserveAspectRatio="none" aria-hidden="true">
  <polyline id="plan"/><polyline id="rate"/></svg><small id="most"></small></figure>
</main>
<footer>Also here: <a href="metrics">/metrics</a>, <a href="progress.json">/progress.json</a>, <a href="healthz">/healthz</a>, <a
  href="readyz">/readyz</a></footer>
<script>${SCRIPT}</script>
</body>
</html>
`;

/** As a Content-Security-Policy names what may run (CSP 3, "hash-source"). */
function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
