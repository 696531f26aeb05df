/** The sections `onFinish` and `onTrouble` of a job: whom to notify of the end of a run. Pure. */
import { z } from 'zod';
import { key, uri } from './schema-key.ts';

export type NotificationFormat = 'standard' | 'slack';

export interface Notification {
  /** `http` or `https`. It may be a secret itself: no message shows more than its origin. */
  readonly url: string;
  readonly format: NotificationFormat;
}

/** Hosts whose webhooks take Slack's format. */
const SLACK_HOST = /(?:^|\.)slack\.com$/;

/** @param when completes "Where a message is sent ..." */
export function notificationSchema(when: string) {
  return z
    .strictObject({
      url: key(
        uri.nullable().default(null),
        'an http or https URL, or null',
        `Where a message is sent ${when}. {env:NAME} keeps a secret URL out of the file.`,
      ),
      format: key(
        z.enum(['standard', 'slack']).nullable().default(null),
        'standard or slack',
        'standard: a signed Standard Webhook (MILLRACE_WEBHOOK_SECRET). slack: a text that Slack and compatible services take. ' +
          'null: slack for hosts of slack.com, else standard.',
      ),
    })
    .prefault({})
    .describe(`A message ${when}.`);
}

/** Null for a text that is no http or https URL. */
export function notificationOf(url: string, format: NotificationFormat | null): Notification | null {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol)) return null;
  return { url, format: format ?? (SLACK_HOST.test(parsed.hostname) ? 'slack' : 'standard') };
}
