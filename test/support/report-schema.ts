/** docs/report.schema.json, for the tests that hold reports to it. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export const REPORT_SCHEMA = JSON.parse(readFileSync(new URL('../../docs/report.schema.json', import.meta.url), 'utf8')) as {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
};

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
formats.default(ajv);
const validate = ajv.compile(REPORT_SCHEMA);

/** The reasons why a report does not obey the schema. Empty for a valid one. */
export function schemaFaults(report: unknown): string[] {
  validate(report);
  return (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
}

/** The report within the output of `millrace status --json`, which has more keys. */
export function reportInStatus(text: string): Record<string, unknown> {
  const { state: _, position, share, expected, retry, updatedAt, shards, ...report } = JSON.parse(text) as Record<string, unknown>;
  void [position, share, expected, retry, updatedAt, shards];
  return report;
}
