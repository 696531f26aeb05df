/** The fields of a vendor's answer, and which of ours they become. */
import { describe, expect, it } from 'vitest';
import { guessRecord } from '../../../src/providers/new/guess-record.ts';
import { fieldsOfAnswer } from '../../../src/providers/new/schema-fields.ts';
import { OpenApiDocument } from '../../../src/providers/new/openapi-document.ts';
import type { OperationName } from '../../../src/providers/compiled-provider.ts';
import { openapi } from './support.ts';

function guessed(operation: OperationName, media: object): Readonly<Record<string, string>> {
  const document = new OpenApiDocument(JSON.stringify(openapi({})), 'x');
  const { fields } = guessRecord(fieldsOfAnswer(document, { content: { 'application/json': media } }), operation);
  return Object.fromEntries(fields.map(({ name, expression }) => [name, expression]));
}

describe('the record of a person', () => {
  const example = {
    request: { email: 'ada@example.com' },
    data: {
      person: {
        fullName: 'Ada',
        work_email: 'ada@example.com',
        'job-title': 'Engineer',
        linkedin: 'https://l',
        employment_history: [{ company_name: 'Old' }],
      },
      company: { name: 'Example', domain: 'example.com', employees: 5, size: '1-10' },
    },
  };

  it('a person is found in an example, with the fields of the company apart', () => {
    expect(guessed('enrich', { example })).toEqual({
      email: 'body.data.person.work_email',
      name: 'body.data.person.fullName',
      title: 'body.data.person.`job-title`',
      linkedin_url: 'body.data.person.linkedin',
      'company.name': 'body.data.company.name',
      'company.domain': 'body.data.company.domain',
      'company.employees': 'body.data.company.employees',
    });
  });

  it('a field of another type is not taken', () => {
    const schema = {
      properties: { email: { type: 'array', items: { type: 'string' } }, name: { type: ['string', 'null'] }, title: { type: 'integer' } },
    };
    expect(guessed('enrich', { schema })).toEqual({ name: 'body.name' });
  });
});

describe('a verdict', () => {
  it('gets our word for each word of the vendor', () => {
    const schema = {
      properties: {
        status: { type: 'string', enum: ['ok', 'email_invalid', 'catch_all', 'disposable', 'unknown', 'mystery'] },
        score: { type: 'number' },
      },
    };
    expect(guessed('verify', { schema })).toEqual({
      result: [
        "body.status = 'ok' ? 'deliverable'",
        "body.status = 'email_invalid' ? 'undeliverable'",
        "body.status in ['catch_all', 'disposable'] ? 'risky'",
        "body.status = 'unknown' ? 'unknown'",
        'body.status',
      ].join(' :\n'),
      confidence: 'body.score',
    });
  });

  it('a verdict may be true or false', () => {
    expect(guessed('verify', { schema: { properties: { is_valid: { type: 'boolean' } } } })).toEqual({
      result: "body.is_valid ? 'deliverable' : 'undeliverable'",
    });
  });

  it('a verdict may be in a list', () => {
    expect(guessed('verify', { example: [{ verdict: 'good' }] })['result']).toMatch(/^body\[0\]\.verdict/);
  });
});
