/**
 * Documents that were read a while ago: programs send the same one again and again, with other variables, and to parse and validate it
 * takes longer than all the rest.
 */
import type { DocumentNode, GraphQLSchema } from 'graphql';
import { readDocument } from './query-document.ts';

/** Characters of all texts that are kept: a parsed one takes up to some hundred bytes for each. */
const MOST_KEPT = 65_536;
/** Longer ones are read anew, so that one does not take the place of all others. */
const LONGEST_KEPT = 8_192;

export class Documents {
  readonly #schema: GraphQLSchema;
  /** By text, the one that was asked for last at the end. */
  readonly #kept = new Map<string, DocumentNode>();
  #length = 0;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** As `readDocument`; the same text may come to the same object. @throws Refusal */
  read(text: string): DocumentNode {
    const known = this.#kept.get(text);
    if (known !== undefined) this.#kept.delete(text);
    const document = known ?? readDocument(this.#schema, text);
    if (text.length > LONGEST_KEPT) return document;
    this.#kept.set(text, document);
    if (known === undefined) this.#makeRoom(text.length);
    return document;
  }

  /** The longest unused go first. */
  #makeRoom(length: number): void {
    this.#length += length;
    for (const text of this.#kept.keys()) {
      if (this.#length <= MOST_KEPT) return;
      this.#kept.delete(text);
      this.#length -= text.length;
    }
  }
}
