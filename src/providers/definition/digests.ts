/** Digests of a definition: a change of what is asked makes the ledger ask anew, a change of a mapping does not. Pure. */
import { createHash } from 'node:crypto';
import { isObject } from '../../util/is-object.ts';
import type { AnswerRules, Mapping, ProviderBatch, ProviderOperation, ProviderRequest } from '../compiled-provider.ts';

/** SHA-256, hex, of a value; the order of keys does not count. */
export function digestOf(value: unknown): string {
  const canonical = JSON.stringify(value, (_, member: unknown) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
  return createHash('sha256').update(canonical).digest('hex');
}

/**
 * The digest of everything that changes what an operation asks: not the address, the API key or how answers are read. Answers of verify are
 * stored as verdicts, so their mapping counts too.
 * @param headers sent with every request
 */
export function requestDigest(operation: ProviderOperation, headers: Readonly<Record<string, string>>): string {
  const { name, keys, request, batch } = operation;
  const asked = {
    name,
    keys,
    headers,
    request: request && askedBy(request),
    batch: batch && { ...askedBy(batch.request), ...matchedBy(batch) },
  };
  return digestOf(name === 'verify' ? { ...asked, read: readBy(operation) } : asked);
}

const text = (mapping: Mapping | null): string | null => mapping?.text ?? null;
const texts = (mappings: Readonly<Record<string, Mapping>>): Record<string, string> =>
  Object.fromEntries(Object.entries(mappings).map(([name, mapping]) => [name, mapping.text]));
const rules = (answers: AnswerRules): unknown =>
  Object.fromEntries(Object.entries(answers).map(([name, mapping]) => [name, text(mapping as Mapping | null)]));

/** They decide which answer belongs to which lookup: by wrong ones the ledger would keep one person's answer for another. */
const matchedBy = ({ items, itemId }: ProviderBatch): Record<string, unknown> => ({ items: text(items), itemId: text(itemId) });

function askedBy({ method, path, query, headers, body, bodyType }: ProviderRequest): Record<string, unknown> {
  return {
    method,
    path: path.map((part) => (typeof part === 'string' ? part : { expression: part.text })),
    query: texts(query),
    headers: texts(headers),
    body: text(body),
    bodyType: body === null ? null : bodyType,
  };
}

function readBy({ record, answers, batch, absent }: ProviderOperation): unknown {
  const read = { record: text(record), answers: rules(answers), batch: batch && readByBatch(batch) };
  return absent === undefined ? read : { ...read, absent };
}

function readByBatch({ itemStatus, answers }: ProviderBatch): unknown {
  return { itemStatus: text(itemStatus), answers: rules(answers) };
}
