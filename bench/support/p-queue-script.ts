/** The quota by p-queue's interval, as its documentation shows it. */
import PQueue from 'p-queue';
import { CONCURRENCY, enrichFile, rpm } from './enrich-file.ts';

const queue = new PQueue({ intervalCap: rpm, interval: 60_000, concurrency: CONCURRENCY });
await enrichFile((call) => queue.add(call));
