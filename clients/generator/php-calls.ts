/** Writes the calls of the PHP library that take many parameters: traits whose methods have them as named arguments. */
import type { Api, Field, Type } from './model.ts';
import { camelCase, classFile, docblock, documentedType, namesIn, nativeType, orNull } from './php-names.ts';

/** An argument that is not in the document. */
interface Argument {
  readonly name: string;
  readonly type: string;
  /** Default: `type`. */
  readonly documented?: string;
  readonly about: string;
  /** Sent as this field; else it is passed on as it is. */
  readonly field?: string;
}

interface Call {
  readonly name: string;
  readonly params: string;
  readonly about: string;
  readonly returns: string;
  /** Default: `returns`. */
  readonly documented?: string;
  /** Arguments before the parameters, and behind the required ones. */
  readonly first?: readonly Argument[];
  /** Optional arguments at the end. */
  readonly last?: readonly Argument[];
}

const KEY: Argument = {
  name: 'idempotencyKey',
  type: '?string',
  about: 'to repeat this call yourself and pay once; else a random one',
};
const ID: Argument = { name: 'id', type: 'string', about: '' };
const EMAILS: Argument = { name: 'emails', type: 'array', documented: 'list<string>', about: 'at most 1,000', field: 'emails' };

const CALLS: Readonly<Record<string, readonly Call[]>> = {
  ClientCalls: [
    {
      name: 'enrich',
      params: 'EnrichParams',
      about:
        'Returns a person by e-mail, profile, phone, id, or name with domain; by the domain alone, the company. Null: nobody is known.',
      returns: '?Person',
      last: [KEY],
    },
    {
      name: 'enrichBulk',
      params: 'BulkEnrichParams',
      about: 'Enriches up to 100 people. The results have the order of the requests, whose names are those of the document.',
      returns: 'BulkEnrichment',
      last: [KEY],
    },
    {
      name: 'reveal',
      params: 'RevealParams',
      about: 'Returns the address and the number of a person, or null when the service knows nobody.',
      returns: '?RevealedContact',
      last: [KEY],
    },
    {
      name: 'verify',
      params: 'VerifyOptions',
      about: 'Says whether mail to an address will arrive.',
      returns: 'Verification',
      first: [{ name: 'email', type: 'string', about: '', field: 'email' }],
      last: [KEY],
    },
    {
      name: 'verifyBatch',
      params: 'VerifyOptions',
      about: 'Does the same for many addresses, in their order.',
      returns: 'VerificationBatch',
      first: [EMAILS],
      last: [KEY],
    },
    {
      name: 'startVerification',
      params: 'VerifyOptions',
      about: 'Does the same in the background: mail servers that say "later" are asked again. See waitForVerification().',
      returns: 'VerificationProgress',
      first: [EMAILS],
      last: [KEY],
    },
    {
      name: 'searchContacts',
      params: 'ContactFilters',
      about: 'Returns the contacts that match all filters. Their pages are requested while you iterate.',
      returns: 'Pager',
      documented: 'Pager<Contact>',
    },
    {
      name: 'signals',
      params: 'SignalFilters',
      about: 'Returns signals, the newest first. Their pages are requested while you iterate.',
      returns: 'Pager',
      documented: 'Pager<Signal>',
    },
    {
      name: 'exportSignals',
      params: 'SignalFilters',
      about: 'Streams every signal that matches, in the order in which they became known.',
      returns: '\\Generator',
      documented: '\\Generator<int, Signal>',
    },
    {
      name: 'streamSignals',
      params: 'SignalFilters',
      about: 'Streams signals as they become known, without an end. With `since`, known ones come first.',
      returns: 'EventStream',
      last: [{ name: 'lastEventId', type: '?string', about: 'of an earlier stream, to continue behind it' }],
    },
  ],
  WebhookCalls: [
    {
      name: 'create',
      params: 'WebhookParams',
      about: 'Subscribes `url` to `event` or `events`. The secret is shown once, here.',
      returns: 'WebhookWithSecret',
      last: [KEY],
    },
    {
      name: 'update',
      params: 'WebhookUpdate',
      about: 'Replaces `url`, `events`, `filter` or `enabled`.',
      returns: 'Webhook',
      first: [ID],
    },
  ],
  BatchCalls: [
    {
      name: 'create',
      params: 'BatchParams',
      about:
        'Creates a job over `lines` or a `file`, uploads its parts and completes it. Without either, the job stays open for uploadPart().',
      returns: 'Batch',
      last: [
        {
          name: 'lines',
          type: '?iterable',
          documented: 'iterable<array<string, mixed>|object|string>|null',
          about: 'objects with the names of the document, or texts of one line each',
        },
        { name: 'file', type: 'mixed', documented: 'string|resource|null', about: 'a path, or an open file' },
        KEY,
      ],
    },
    {
      name: 'update',
      params: 'BatchUpdate',
      about: 'Raises the limit of credits. A job that paused at it continues.',
      returns: 'Batch',
      first: [ID],
    },
  ],
};

/** Each method gives its named arguments, by the names of the document, to the method `<name>With` of the class. */
export function callFiles(api: Api): { readonly name: string; readonly text: string }[] {
  return Object.entries(CALLS).map(([name, calls]) => {
    const fields = calls.flatMap(({ params }) => fieldsOf(api, params));
    const enums = fields.flatMap(({ type }) => namesIn(type, 'enum').map((one) => `Millrace\\Enum\\${one}`));
    const text = calls.map((call) => method(api, call)).join('\n\n');
    const known = [...api.models.map((model) => `Model\\${model.name}`), 'Pager', 'EventStream'];
    const used = known.filter((one) => new RegExp(String.raw`\b(?:${one.split('\\').at(-1)})\b(?!::|With)`).test(signatures(calls)));
    const objects = text.includes('Json::object') ? ['Millrace\\Internal\\Json'] : [];
    const about = docblock('Calls with the parameters of the document as named arguments.', ['@internal'], '');
    return {
      name,
      text: classFile(
        'Millrace\\Calls',
        [...enums, ...objects, ...used.map((one) => `Millrace\\${one}`)],
        `${about}trait ${name}\n{\n${text}\n}`,
      ),
    };
  });
}

function signatures(calls: readonly Call[]): string {
  return calls.map(({ returns, documented = '' }) => `${returns} ${documented}`).join(' ');
}

function fieldsOf(api: Api, name: string): readonly Field[] {
  const shape = api.params.find((one) => one.name === name);
  if (shape === undefined) throw new Error(`the document has no parameters ${name}`);
  return shape.fields;
}

function method(api: Api, { name, params, about, returns, documented, first = [], last = [] }: Call): string {
  const fields = fieldsOf(api, params);
  const shape = (of: string): string => shapeOf(api, of);
  const ordered = [...fields.filter(isRequired), ...fields.filter((field) => !isRequired(field))];
  const given = [
    ...first.map((one) => ({ ...one, documented: one.documented ?? one.type, text: `${one.type} $${one.name}` })),
    ...ordered.map((field) => {
      const native = nativeType(field.type);
      const full = documentedType(field.type, shape);
      return isRequired(field)
        ? { name: camelCase(field.name), documented: full, about: field.description, text: `${native} $${camelCase(field.name)}` }
        : {
            name: camelCase(field.name),
            documented: full === 'mixed' ? full : `${full}|null`,
            about: field.description,
            text: `${orNull(native)} $${camelCase(field.name)} = null`,
          };
    }),
    ...last.map((one) => ({ ...one, documented: one.documented ?? one.type, text: `${one.type} $${one.name} = null` })),
  ];
  const tags = given.map((one) => `@param ${one.documented} $${one.name} ${one.about}`.trimEnd());
  const rows = [
    ...first.flatMap((one) => (one.field === undefined ? [] : [`            '${one.field}' => $${one.name},\n`])),
    ...fields.map((field) => `            '${field.name}' => ${sent(field)},\n`),
  ];
  const before = first.filter(({ field }) => field === undefined).map((one) => `$${one.name}, `);
  const after = last.map((one) => `, $${one.name}`);
  return [
    `${docblock(about, documented === undefined ? tags : [...tags, `@return ${documented}`], '    ')}    public function ${name}(`,
    `${given.map((one) => `        ${one.text},\n`).join('')}    ): ${returns} {`,
    `        return $this->${name}With(${before.join('')}[\n${rows.join('')}        ]${after.join('')});`,
    '    }',
  ].join('\n');
}

function isRequired({ required, nullable }: Field): boolean {
  return required && !nullable;
}

/** An empty array is a list in JSON, so objects are written as objects. */
function sent({ name, type }: Field): string {
  const value = `$${camelCase(name)}`;
  return type.kind === 'object' || type.kind === 'params' ? `Json::object(${value})` : value;
}

/** An array shape. Names in arrays are those of the document. */
function shapeOf(api: Api, name: string): string {
  const rows = fieldsOf(api, name).map((field) => {
    const type: Type = field.type;
    return `${field.name}${field.required ? '' : '?'}: ${documentedType(type, (of) => shapeOf(api, of))}`;
  });
  return `array{${rows.join(', ')}}`;
}
