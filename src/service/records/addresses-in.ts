/** Finds e-mail addresses in the strings of a JSON text: alone, in a sentence, in brackets, in a link. Pure. */
import { MAX_ADDRESS_OCTETS, normaliseEmail } from '../../verification/address.ts';

/** A quoted local part has at most 64 octets (RFC 5321 4.5.3.1.1), and two quotes. */
const MAX_QUOTED = 66;
const MAX_QUOTES = 8;
/** A bound: more addresses are a list, or an attack. */
const MAX_FOUND = 10_000;

/** Bounds of an address around its `@`: characters that it never has, and characters that usually stand beside one. */
const BEFORE = /[^\s"\\<>,:;]+$/;
const AFTER = /^[^\s"\\<>,:;@]+/;
const BESIDE = /[()[\]{}'?&=/|!*]/;

/** Normalised, each once. */
export function addressesIn(json: string): string[] {
  // JSON may escape an `@` in no string that `JSON.stringify` wrote.
  return json.includes('@') || json.includes('%40') ? addressesWithin(JSON.parse(json)) : [];
}

/** The addresses in a value, at any depth. */
export function addressesWithin(value: unknown): string[] {
  const found = new Set<string>();
  walk(value, found);
  return [...new Set([...found].flatMap((one) => normaliseEmail(one) ?? []))];
}

function walk(value: unknown, found: Set<string>): void {
  const left = [value];
  while (left.length > 0 && found.size < MAX_FOUND) {
    const one = left.pop();
    if (typeof one === 'string') addFrom(one, found);
    else if (typeof one === 'object' && one !== null) for (const [name, inner] of Object.entries(one)) left.push(name, inner);
  }
}

function addFrom(given: string, found: Set<string>): void {
  const text = given.replaceAll('%40', '@');
  if (!text.includes('@')) return;
  for (let at = text.indexOf('@'); at !== -1 && found.size < MAX_FOUND; at = text.indexOf('@', at + 1)) {
    const [domain] = AFTER.exec(text.slice(at + 1, at + 1 + MAX_ADDRESS_OCTETS)) ?? [];
    if (domain === undefined) continue;
    const domains = [domain, domain.split(BESIDE, 1)[0] ?? ''].map((one) => one.replace(/\.+$/, ''));
    for (const local of localsBefore(text, at)) for (const one of domains) if (local !== '' && one !== '') found.add(`${local}@${one}`);
  }
}

/** Candidates for the local part that ends there: the longest run, the run after the last bracket or sign, and a quoted one. */
function* localsBefore(text: string, at: number): Generator<string> {
  const [run = ''] = BEFORE.exec(text.slice(Math.max(0, at - MAX_ADDRESS_OCTETS), at)) ?? [];
  yield run;
  yield run.split(BESIDE).at(-1) ?? '';
  if (text[at - 1] !== '"') return;
  let from = text.lastIndexOf('"', at - 2);
  for (let tried = 0; from !== -1 && at - from <= MAX_QUOTED && tried < MAX_QUOTES; tried++) {
    yield text.slice(from, at);
    from = from === 0 ? -1 : text.lastIndexOf('"', from - 1);
  }
}
