/** The quota by Bottleneck's reservoir, as its documentation shows it. */
import Bottleneck from 'bottleneck';
import { CONCURRENCY, enrichFile, rpm } from './enrich-file.ts';

const limiter = new Bottleneck({
  reservoir: rpm,
  reservoirRefreshAmount: rpm,
  reservoirRefreshInterval: 60_000,
  maxConcurrent: CONCURRENCY,
});
await enrichFile((call) => limiter.schedule(call));
