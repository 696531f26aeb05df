/**
 * Conditional writes (compare and swap): an object is replaced only if it still has the ETag that the writer knows. Locks and checkpoints
 * in S3 rest on them.
 * Servers differ. AWS wants the ETag of `If-Match` in quotes, Ceph's gateway only without. Others have no conditional writes (501), or
 * ignore the condition.
 */
import { faultOf } from './failure.ts';
import type { S3Access } from './objects.ts';
import { getSmall, putSmall } from './small-object.ts';
import type { S3Location } from './uri.ts';

/** An ETag that no object has. */
const NO_ETAG = '"00000000000000000000000000000000"';

type Style = 'quoted' | 'bare';

export class ConditionalObjects {
  readonly #access: S3Access;
  /** How this server takes an ETag. Null until it is known. */
  #style: Style | null = null;
  #supported = true;

  constructor(access: S3Access) {
    this.#access = access;
  }

  /** False when the server is known to ignore conditions. */
  get supported(): boolean {
    return this.#supported;
  }

  /**
   * Writes the object if its ETag is `expected`, or if it does not exist and `expected` is null. A server without conditional writes just
   * writes.
   * @returns the new ETag; null when the object has another ETag. @throws as the SDK does
   */
  async put(place: S3Location, bytes: Buffer, expected: string | null): Promise<string | null> {
    if (!this.#supported) return this.#write(place, bytes, {});
    const styles: readonly Style[] = this.#style === null ? ['quoted', 'bare'] : [this.#style];
    for (const style of styles) {
      const tried = await this.#try(place, bytes, expected, style);
      if (tried !== 'other style') return tried.etag;
    }
    return null;
  }

  /**
   * Tests whether the server honours conditions. It rewrites an object of this run with its own content.
   * @returns its ETag afterwards; null when another run has replaced it
   */
  async probe(place: S3Location, bytes: Buffer, etag: string): Promise<string | null> {
    for (const condition of [{ IfNoneMatch: '*' }, { IfMatch: NO_ETAG }]) {
      try {
        const written = await this.#write(place, bytes, condition);
        this.#supported = false;
        return written;
      } catch (error) {
        // A missing object is 404 on some servers. Either answer means that the condition was honoured.
        if (!['changed', 'no_object'].includes(faultOf(error))) this.#notSupportedElse(error);
      }
    }
    return etag;
  }

  async #try(
    place: S3Location,
    bytes: Buffer,
    expected: string | null,
    style: Style,
  ): Promise<{ readonly etag: string | null } | 'other style'> {
    try {
      const etag = await this.#write(
        place,
        bytes,
        expected === null ? { IfNoneMatch: '*' } : { IfMatch: style === 'bare' ? expected.replaceAll('"', '') : expected },
      );
      if (expected !== null) this.#style = style;
      return { etag };
    } catch (error) {
      const fault = faultOf(error);
      if (fault !== 'changed' && fault !== 'no_object') {
        this.#notSupportedElse(error);
        return { etag: await this.#write(place, bytes, {}) };
      }
      const now = await getSmall(this.#access, place, Infinity);
      // An earlier attempt was written although its answer was lost.
      if (now?.bytes.equals(bytes) === true) return { etag: now.etag };
      return now !== null && now.etag === expected ? 'other style' : { etag: null };
    }
  }

  #notSupportedElse(error: unknown): void {
    if (faultOf(error) !== 'unsupported') throw error;
    this.#supported = false;
  }

  #write(place: S3Location, bytes: Buffer, condition: { readonly IfMatch?: string; readonly IfNoneMatch?: string }): Promise<string> {
    // A browser shows a page only with this content type.
    const type = place.key.endsWith('.html') ? { ContentType: 'text/html; charset=utf-8' } : {};
    return putSmall(this.#access, place, bytes, { ...condition, ...type });
  }
}
