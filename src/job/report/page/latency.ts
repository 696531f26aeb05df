/** How long the service took to answer: percentiles, and a histogram with its table. HTML. Pure. */
import { folded } from '../../../util/html.ts';
import { count } from '../../../util/display.ts';
import { bar, chart, heightOf, roundTop } from './chart.ts';
import type { PageData } from './page-data.ts';
import { inline, numbers } from './tables.ts';
import { milliseconds, share } from './words.ts';

export function latency({
  report: {
    latencyMs: { p50, p95, p99 },
  },
  latencies,
}: PageData): string {
  if (p50 === null || p95 === null || p99 === null) return '<p>No request was answered.</p>';
  const all = latencies.reduce((sum, { answers }) => sum + answers, 0);
  const top = roundTop(Math.max(...latencies.map(({ answers }) => answers)));
  const range = ({ fromMs, toMs }: (typeof latencies)[number]): string => `${milliseconds(fromMs)} to ${milliseconds(toMs)}`;
  const rows = latencies.filter(({ answers }) => answers > 0).map((one) => [range(one), count(one.answers), share(one.answers, all)]);
  return `<p>Half of the answers came within ${inline('latencyMs.p50', milliseconds(p50))} (p50),
  95 % within ${inline('latencyMs.p95', milliseconds(p95))} (p95),
  99 % within ${inline('latencyMs.p99', milliseconds(p99))} (p99).</p>
<figure>
${chart({
  id: 'latency-legend',
  label: 'Answers by latency; the table below has the numbers',
  unit: 'answers',
  top,
  axis: [milliseconds(latencies[0]?.fromMs ?? 0), milliseconds(latencies.at(-1)?.toMs ?? 0)],
  layers: [['bar', latencies.map(({ answers }, x) => (answers === 0 ? '' : bar(x + 0.1, 0.8, heightOf(answers, top)))).join('')]],
  bars: latencies.map((one) => [range(one), `${count(one.answers)} answers, ${share(one.answers, all)}`]),
})}
<figcaption id="latency-legend">From left to right each bar stands for longer latencies, by the same factor.</figcaption>
${folded('The same as a table', numbers(['Latency', 'Answers', 'Share'], rows))}
</figure>`;
}
