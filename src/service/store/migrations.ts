/** The store's schema as numbered steps, by what they are about (`migrations/`). A step that was released is never edited: a change is a new step. */
import { ANSWERS } from './migrations/answers.ts';
import { BATCHES } from './migrations/batches.ts';
import { FIRST_TABLES } from './migrations/first-tables.ts';
import { MAILS_AND_KEYS } from './migrations/mails-and-keys.ts';
import type { Migration } from './migrations/migration.ts';
import { RECORDS } from './migrations/records.ts';
import { SEARCH } from './migrations/search.ts';
import { SIGNALS } from './migrations/signals.ts';
import { WEBHOOKS } from './migrations/webhooks.ts';
import { WHO_IS_WHO } from './migrations/who-is-who.ts';

export type { Migration };

/** In the order in which they are taken. */
export const MIGRATIONS: readonly Migration[] = [FIRST_TABLES, WHO_IS_WHO, RECORDS, SEARCH, SIGNALS, MAILS_AND_KEYS, BATCHES, WEBHOOKS, ANSWERS].flat().toSorted((one, other) => one.version - other.version);
