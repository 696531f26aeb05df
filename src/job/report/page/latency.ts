/** How long the service took to answer: percentiles, and a histogram with its table. HTML; pure. */
import { folded } from '../../../util/html.ts';
import { count } from '../../../util/display.ts';
import { numbers } from './counts.ts';
import type { PageData } from './page-data.ts';
import { milliseconds, share } from './words.ts';

const HEIGHT = 100;

export function latency({
  report: {
    latencyMs: { p50, p95, p99 },
  },
  latencies,
}: PageData): string {
  if (p50 === null || p95 === null || p99 === null) return '<p>No request was answered.</p>';
  const all = latencies.reduce((sum, { answers }) => sum + answers, 0);
  const most = Math.max(...latencies.map(({ answers }) => answers));
  const bars = latencies
    .map(({ answers }, x) => (answers === 0 ? '' : `M${x}.1 ${HEIGHT}v${((-answers / most) * HEIGHT).toFixed(1)}h.8V${HEIGHT}z`))
    .join('');
  const rows = latencies
    .filter(({ answers }) => answers > 0)
    .map(({ fromMs, toMs, answers }) => [`${milliseconds(fromMs)} to ${milliseconds(toMs)}`, count(answers), share(answers, all)]);
  return `<p>Half of the answers came within ${milliseconds(p50)} (p50), 95 % within ${milliseconds(p95)} (p95),
  99 % within ${milliseconds(p99)} (p99).</p>
<figure>
<div class="axis"><span>${count(most)} answers</span></div>
<svg class="chart" viewBox="0 0 ${latencies.length} ${HEIGHT}" preserveAspectRatio="none"
  role="img" aria-label="Answers by latency; the table below has the numbers"><path class="bar" d="${bars}"/></svg>
<div class="axis"><span>${milliseconds(latencies[0]?.fromMs ?? 0)}</span><span>${milliseconds(latencies.at(-1)?.toMs ?? 0)}</span></div>
<figcaption>From left to right each bar stands for longer latencies, by the same factor.</figcaption>
${folded('The same as a table', numbers(['Latency', 'Answers', 'Share'], rows))}
</figure>`;
}
