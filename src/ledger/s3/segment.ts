/**
 * A segment of a ledger in S3: gzip members in a row, each complete. A member is a header and its answers, one JSON line each. New answers
 * become a new member, so that earlier bytes never change.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { StorageError } from '../../util/errors.ts';
import { decodeAnswer, encodeAnswer } from '../answer.ts';
import type { SharedAnswer } from '../options.ts';
import type { SharedTotals } from '../working-file.ts';

const VERSION = 1;
/** A segment that unpacks to more does not belong to a ledger. */
const LARGEST_BYTES = 96 * 1024 * 1024;

/** Answers of one run. */
export interface RunAnswers {
  readonly job: string;
  readonly run: string;
  /** As they were when the part was made. */
  readonly totals: SharedTotals;
  /** The run's spending at that point. Left out where it is unknown, and by older versions. */
  readonly spent?: string;
  readonly answers: readonly SharedAnswer[];
}

interface Header extends SharedTotals {
  readonly v: number;
  readonly job: string;
  readonly run: string;
  readonly spent?: string;
  /** Lines name their scope by its index here. */
  readonly scopes: readonly SharedAnswer['scope'][];
}

type Line = readonly [scope: number, key: string, at: number, kind: number, body: string];

/** A part as a gzip member. */
export async function packAnswers(part: RunAnswers): Promise<{ readonly packed: Buffer; readonly plainBytes: number }> {
  const plain = Buffer.from(textOf(part));
  return { packed: await promisify(gzip)(plain, { level: 6 }), plainBytes: plain.length };
}

/** The parts of a segment, or of its end. @throws StorageError when the bytes are no segment */
export async function unpackAnswers(bytes: Buffer, uri: string): Promise<RunAnswers[]> {
  if (bytes.length === 0) return [];
  try {
    const plain = await promisify(gunzip)(bytes, { maxOutputLength: LARGEST_BYTES });
    return partsIn(plain.toString());
  } catch (error) {
    throw new StorageError('ledger_failed', `${uri} cannot be read as a part of a ledger: ${(error as Error).message}`, {
      hint: 'If it was changed by something else, put it back or remove it: what it held is then asked for anew.',
      cause: error,
    });
  }
}

function textOf({ job, run, totals, spent, answers }: RunAnswers): string {
  const numbers = new Map<string, number>();
  const scopes: SharedAnswer['scope'][] = [];
  const lines = answers.map(({ scope, key, at, answer }) => {
    const name = JSON.stringify(scope);
    let number = numbers.get(name);
    if (number === undefined) {
      numbers.set(name, (number = scopes.length));
      scopes.push(scope);
    }
    const { kind, body } = encodeAnswer(answer);
    return JSON.stringify([number, key, at, kind, body] satisfies Line);
  });
  const header: Header = { v: VERSION, job, run, ...totals, ...(spent === undefined ? {} : { spent }), scopes };
  return `${[JSON.stringify(header), ...lines].join('\n')}\n`;
}

function partsIn(text: string): RunAnswers[] {
  const parts: (RunAnswers & { readonly answers: SharedAnswer[] })[] = [];
  let scopes: Header['scopes'] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const value = JSON.parse(line) as Header | Line;
    if (!isLine(value)) {
      const { v, job, run, lookups, reused, lastAt, spent } = value;
      if (v !== VERSION) throw new Error(`it is of version ${v}, and this Millrace knows ${VERSION}`);
      ({ scopes } = value);
      parts.push({ job, run, totals: { lookups, reused, lastAt }, ...(spent === undefined ? {} : { spent }), answers: [] });
      continue;
    }
    const part = parts.at(-1);
    const [number, key, at, kind, body] = value;
    const scope = scopes[number];
    if (part === undefined || scope === undefined) throw new Error('an answer stands before its header');
    part.answers.push({ scope, key, job: part.job, run: part.run, at, answer: decodeAnswer(kind, body) });
  }
  return parts;
}

function isLine(value: Header | Line): value is Line {
  return Array.isArray(value);
}
