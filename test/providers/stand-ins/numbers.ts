/**
 * A vendor of no real API with two endpoints that no standard step has: the line behind a number, and the technologies of a domain. A line
 * costs a credit where it is known; technologies cost half of one for each domain, known or not.
 */
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import { findCompany } from './world.ts';

const LINES = ['mobile', 'landline', 'voip'] as const;

/** A number of the range that is kept for films, for each of a thousand people. */
export function numberOf(person: number): string {
  return `+447700900${String(person % 1_000).padStart(3, '0')}`;
}

export function startNumbers(options: StandInOptions = {}): Promise<StandIn> {
  return startStandIn(options, (book) => (call) => answer(book, call));
}

function answer(book: StandInBook, call: StandInCall): StandInReply {
  if (call.headers.authorization !== `Bearer ${book.apiKey}`) return { status: 401, body: {} };
  if (book.windows('all', []).take(book.now()) !== null) return { status: 429, headers: { 'retry-after': '1' }, body: {} };
  if (call.path === '/technologies') return technologies(book, call.query.get('domain') ?? '');
  return line(book, decodeURIComponent(call.path.replace('/lines/', '')));
}

/** Every tenth number is not in use. */
function line(book: StandInBook, number: string): StandInReply {
  const person = Number(/^\+447700900(\d{3})$/.exec(number)?.[1] ?? 9);
  if (person % 10 === 9) return { status: 404, isMiss: true, body: { error: 'unknown_number' } };
  book.charge('phone', number);
  return { status: 200, body: { number, line_type: LINES[person % 3], carrier: `Carrier ${person % 4}`, roaming: person % 5 === 0 } };
}

function technologies(book: StandInBook, domain: string): StandInReply {
  book.charge('technologies', domain, 0.5);
  const company = findCompany({ domain });
  return { status: 200, body: { domain, items: company === null ? [] : ['Linux', `Tool ${company.number}`], score: 0.25 } };
}
