/** Writes the RBS signatures of what is generated, and of the calls whose keywords are. */
import type { Api, Enum, Field, Shape, Type } from './model.ts';
import { constantName, errorName, indented, rubyComment, signatureFile } from './ruby-text.ts';

const SCALARS = {
  string: 'String',
  integer: 'Integer',
  number: 'Numeric',
  boolean: 'bool',
  any: 'untyped',
  object: 'Hash[Symbol, untyped]',
} as const;

/** A call whose keywords are those of a shape. `before` and `after` are other parameters. */
interface Call {
  readonly owner: 'Client' | 'Batches' | 'Webhooks';
  readonly name: string;
  readonly about: string;
  readonly params: string;
  readonly before?: string;
  readonly after?: readonly string[];
  readonly returns: string;
}

const KEY = '?idempotency_key: String?';

const CALLS: readonly Call[] = [
  { owner: 'Client', name: 'enrich', about: 'A person; nil for a miss.', params: 'EnrichParams', after: [KEY], returns: 'Person?' },
  {
    owner: 'Client',
    name: 'reveal',
    about: 'Address and number of a person; nil for a miss.',
    params: 'RevealParams',
    after: [KEY],
    returns: 'RevealedContact?',
  },
  {
    owner: 'Client',
    name: 'verify',
    about: 'Whether mail to the address will arrive.',
    params: 'VerifyOptions',
    before: 'String email',
    after: [KEY],
    returns: 'Verification',
  },
  {
    owner: 'Client',
    name: 'verify_batch',
    about: 'The same of up to 1,000 addresses.',
    params: 'VerifyOptions',
    before: 'Array[String] emails',
    after: [KEY],
    returns: 'VerificationBatch',
  },
  {
    owner: 'Client',
    name: 'start_verification',
    about: 'The same in the background.',
    params: 'VerifyOptions',
    before: 'Array[String] emails',
    after: [KEY],
    returns: 'VerificationProgress',
  },
  {
    owner: 'Client',
    name: 'search_contacts',
    about: 'The contacts that match all filters.',
    params: 'ContactFilters',
    returns: 'Pager[Contact]',
  },
  { owner: 'Client', name: 'signals', about: 'Signals, the newest first.', params: 'SignalFilters', returns: 'Pager[Signal]' },
  { owner: 'Client', name: 'export_signals', about: 'Every signal that matches.', params: 'SignalFilters', returns: 'Stream[Signal]' },
  {
    owner: 'Client',
    name: 'stream_signals',
    about: 'Signals as they become known.',
    params: 'SignalFilters',
    after: ['?last_event_id: String?'],
    returns: 'EventStream[Signal]',
  },
  {
    owner: 'Batches',
    name: 'create',
    about: 'A job over lines or a file.',
    params: 'BatchParams',
    after: ['?lines: _Each[line]?', '?file: (String | Pathname | _Input)?', KEY],
    returns: 'Batch',
  },
  {
    owner: 'Batches',
    name: 'update',
    about: 'Raises the limit of credits.',
    params: 'BatchUpdate',
    before: 'String id',
    returns: 'Batch',
  },
  {
    owner: 'Webhooks',
    name: 'create',
    about: 'Subscribes a URL to an event or several.',
    params: 'WebhookParams',
    after: [KEY],
    returns: 'WebhookWithSecret',
  },
  {
    owner: 'Webhooks',
    name: 'update',
    about: 'Replaces what is given.',
    params: 'WebhookUpdate',
    before: 'String id',
    returns: 'Webhook',
  },
];

export function callSignatures({ params }: Api): string {
  const owners = [...new Set(CALLS.map(({ owner }) => owner))];
  return signatureFile([
    [
      '# A value of a filter. A range of numbers stands for the text `min-max`.',
      'type filter_value = String | Symbol | Numeric | Date | Time | Range[untyped]',
    ].join('\n'),
    ...owners.map((name) => {
      const calls = CALLS.filter(({ owner }) => owner === name).map((call) => {
        const shape = params.find((one) => one.name === call.params);
        if (shape === undefined) throw new Error(`the signature of ${call.name} has no parameters ${call.params}`);
        return callSignature(call, shape);
      });
      return `class ${name}\n${indented(calls.join('\n\n'))}\nend`;
    }),
  ]);
}

function callSignature({ name, about, before, after = [], returns }: Call, shape: Shape): string {
  const isQuery = shape.name.endsWith('Filters');
  const keywords = shape.fields.map((field) => {
    const type = paramType(field.type, isQuery);
    const keyword = field.required ? `${field.name}: ${type}` : `?${field.name}: ${optional(type)}`;
    return field.description === '' ? keyword : `${rubyComment(field.description)}\n${keyword}`;
  });
  const all = [...(before === undefined ? [] : [before]), ...keywords, ...after];
  return `${rubyComment(about)}\ndef ${name}: (\n${indented(all.join(',\n'))}\n) -> ${returns}`;
}

function paramType(type: Type, isQuery: boolean): string {
  switch (type.kind) {
    case 'list': {
      const item = paramType(type.of, isQuery);
      return type.orOne === true ? `${item} | Array[${item}]` : `Array[${item}]`;
    }
    case 'enum':
      return `${aliasName(type.name)} | Symbol`;
    case 'params':
    case 'object':
      return 'Hash[Symbol | String, untyped]';
    case 'map':
    case 'model':
    case 'union':
      throw new Error(`Ruby has no parameter of the kind ${type.kind}`);
    default:
      return isQuery && type.kind === 'string' ? 'filter_value' : SCALARS[type.kind];
  }
}

export function modelSignatures({ models }: Api): string {
  return signatureFile(models.map(({ name, fields }) => `class ${name} < Model\n${indented(fields.map(readerSignature).join('\n'))}\nend`));
}

function readerSignature({ name, type, required, nullable }: Field): string {
  const text = modelType(type);
  return `def ${name}: () -> ${nullable || !required ? optional(text) : text}`;
}

function modelType(type: Type): string {
  switch (type.kind) {
    case 'list':
      return `Array[${modelType(type.of)}]`;
    case 'map':
      return `Hash[Symbol, ${modelType(type.of)}?]`;
    case 'union':
      return `(${type.of.map(modelType).join(' | ')})`;
    case 'enum':
      return aliasName(type.name);
    case 'model':
    case 'params':
      return type.name;
    default:
      return SCALARS[type.kind];
  }
}

function optional(type: string): string {
  if (type === 'untyped') return type;
  return /^[\w[\]]+$/.test(type) || /^\(.*\)$/.test(type) ? `${type}?` : `(${type})?`;
}

export function enumSignatures({ enums }: Api): string {
  return signatureFile(enums.map(enumSignature));
}

function enumSignature({ name, values }: Enum): string {
  const literals = values.map((value) => `"${value}"`);
  const constants = values.map((value) => `${constantName(value)}: String`);
  return [
    '# One of the known values, or one that this version does not know.',
    `type ${aliasName(name)} = ${[...literals, 'String'].join(' | ')}`,
    `module ${name}\n${indented(constants.join('\n'))}\nend`,
  ].join('\n');
}

/** `VerifyMode` to `verify_mode`. */
function aliasName(name: string): string {
  return name.replaceAll(/(?<!^)(?=[A-Z])/g, '_').toLowerCase();
}

export function errorSignatures({ errors }: Api): string {
  return signatureFile(errors.map(({ code }) => `class ${errorName(code)} < ApiError\nend`));
}

export function versionSignature(): string {
  return signatureFile(['VERSION: String']);
}
