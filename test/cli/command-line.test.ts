import { expect, test } from 'vitest';
import { commandLine } from '../../src/cli/command-line.ts';
import type { FlagValue } from '../../src/definition/layers.ts';

const line = (job: string | null, flags: Readonly<Record<string, FlagValue>> = {}): string =>
  commandLine('run', { job, flags: new Map(Object.entries(flags)) });

test('a command line is shown as it was typed, so that it can be pasted into a shell', () => {
  expect(line('nightly', { date: '2026-03-01', fresh: true, embedded: false, input: ['a.csv', "Bo's list.csv"] })).toBe(
    String.raw`millrace run nightly --date 2026-03-01 --fresh --no-embedded --input a.csv --input 'Bo'\''s list.csv'`,
  );
  expect(line(null, { output: 's3://bucket/{date}/out.csv' })).toBe('millrace run --output s3://bucket/{date}/out.csv');
});

test('a URL is shown without path, query and credentials, because they may be secret', () => {
  const shown = line(null, {
    'onFinish.url': 'https://hooks.slack.example/services/T0/B0/secret',
    'service.quota': 'redis://user:secret@host:6379/0',
    ledger: 'rediss://:secret@[::1]:6379',
    'base-url': 'https://api.example.com',
    'onTrouble.url': 'https://chat.example?token=secret',
  });
  expect(shown).not.toContain('secret');
  expect(shown).toBe(
    'millrace run --onFinish.url https://hooks.slack.example/… --service.quota redis://host:6379/… ' +
      '--ledger rediss://[::1]:6379 --base-url https://api.example.com --onTrouble.url https://chat.example/…',
  );
});

test('values of input.where are left out, because they may be personal data', () => {
  expect(line(null, { 'input.where.email': ['ana@works.example', 'bo@works.example'] })).toBe(
    'millrace run --input.where.email … --input.where.email …',
  );
});

test('a long command line is cut', () => {
  expect(line(null, { input: 'x'.repeat(2_000) })).toHaveLength(500);
});
