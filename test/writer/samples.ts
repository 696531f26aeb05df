/** Results and texts as hostile as a service or an input can make them. */
import * as fc from '../support/fast-check.ts';
import type { CompiledJob } from '../../src/definition/compiled-job.ts';
import type { RecordResult } from '../../src/processor/result.ts';
import type { InputManifest, InputRecord } from '../../src/formats/input-record.ts';

const SHARP = [
  '"',
  '""',
  ',',
  ';',
  '\t',
  '|',
  '\n',
  '\r',
  '\r\n',
  '\0',
  '=1+1',
  '+1',
  '-1',
  '@x',
  "'",
  ' ',
  'é',
  '漢字',
  '👩‍💻',
  '\ufeff',
  '\u2028',
  '\ud800',
  '\udc00',
  '\\',
  '\\"',
  'null',
  '{}',
  '__proto__',
];

/** Any text, composed of characters that break formats. */
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.oneof(fc.constantFrom(...SHARP), fc.string({ maxLength: 6 })), { maxLength: 6 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constant(''),
);

function answered(record: fc.Arbitrary<Readonly<Record<string, unknown>>>): fc.Arbitrary<RecordResult['answers'][string]> {
  return record.map((value) => ({ record: value, text: JSON.stringify(value) }));
}

const anyValue = fc.oneof(
  text,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(text, { maxLength: 3 }),
  fc.dictionary(text, text, { maxKeys: 2 }),
);
const person = fc.record({
  email: anyValue,
  name: text,
  title: anyValue,
  company: fc.option(fc.record({ name: anyValue, employees: anyValue, stack: fc.array(text, { maxLength: 3 }) })),
  verified: anyValue,
  extra: anyValue,
});
const company = fc.record({
  name: anyValue,
  domain: text,
  employees: anyValue,
  revenue: anyValue,
  industry: anyValue,
  stack: fc.array(text, { maxLength: 3 }),
  extra: anyValue,
});
const verdict = fc.record({
  email: text,
  result: fc.oneof(fc.constantFrom('deliverable', 'risky', '__proto__', 'constructor', 'toString'), text),
  confidence: fc.option(fc.integer({ min: 0, max: 100 })),
  reason: fc.option(text),
});

export const result: fc.Arbitrary<RecordResult> = fc.record({
  outcome: fc.constantFrom('matched', 'no_match', 'invalid', 'suppressed', 'failed'),
  error: fc.option(text),
  answers: fc.record(
    { enrich: answered(person), verify: answered(verdict), company: answered(company), reveal: answered(person) },
    { requiredKeys: [] },
  ),
  failure: fc.constant(null),
});

export function csvRecord(values: readonly string[], number = 0): InputRecord {
  return {
    file: 0,
    line: number + 2,
    end: { file: 0, line: number + 3, offset: number + 1, frame: null },
    values,
    json: null,
    email: '',
    domain: '',
    linkedinUrl: '',
    bad: null,
    raw: null,
    surplus: false,
  };
}

export function jsonRecord(json: string, bad: string | null = null, raw: string | null = null): InputRecord {
  return { ...csvRecord([]), values: null, json, bad, raw };
}

export function manifestOf(columns: readonly string[]): InputManifest {
  return { format: 'csv', files: [], columns, keyName: { email: columns[0] ?? null, domain: null, linkedin_url: null } };
}

export function jobFor(output: Partial<CompiledJob['output']>, steps: CompiledJob['steps'] = ['enrich', 'verify']): CompiledJob {
  return {
    steps,
    ownSteps: [],
    namesProviders: false,
    output: { uri: 'out', format: 'csv', compression: 'none', fields: null, escapeFormulas: false, ...output },
  } as unknown as CompiledJob;
}
