/**
 * Objects that are written only when they still are what the writer knows: what locks and checkpoints in S3 rest on.
 * Servers differ. AWS wants the ETag of `If-Match` with its quotes, Ceph's gateway takes it only without; others have no
 * conditional writes (501), or take no notice of the condition.
 */
import { faultOf } from './failure.ts';
import type { S3Access } from './objects.ts';
import { getSmall, putSmall } from './small-object.ts';
import type { S3Place } from './uri.ts';

/** Of no object. */
const NO_ETAG = '"00000000000000000000000000000000"';

type Style = 'quoted' | 'bare';

export class ConditionalObjects {
  readonly #access: S3Access;
  /** How this server takes an ETag; null: not known yet. */
  #style: Style | null = null;
  #supported = true;

  constructor(access: S3Access) {
    this.#access = access;
  }

  /** False: it is known that this server writes whatever the condition. */
  get supported(): boolean {
    return this.#supported;
  }

  /**
   * Writes the object if it is the one with this ETag; null: if there is none. Without conditional writes it just writes.
   * @returns the new ETag; null when it is another by now. @throws as the SDK does
   */
  async put(place: S3Place, bytes: Buffer, expected: string | null): Promise<string | null> {
    if (!this.#supported) return this.#write(place, bytes, {});
    const styles: readonly Style[] = this.#style === null ? ['quoted', 'bare'] : [this.#style];
    for (const style of styles) {
      const tried = await this.#try(place, bytes, expected, style);
      if (tried !== 'other style') return tried.etag;
    }
    return null;
  }

  /**
   * Finds out whether the conditions of the server hold, on an object that is ours and is written again as it is.
   * @returns its ETag by then; null when it is another's by now
   */
  async probe(place: S3Place, bytes: Buffer, etag: string): Promise<string | null> {
    for (const condition of [{ IfNoneMatch: '*' }, { IfMatch: NO_ETAG }]) {
      try {
        const written = await this.#write(place, bytes, condition);
        this.#supported = false;
        return written;
      } catch (error) {
        // A missing object is 404 for some; refused is refused.
        if (!['changed', 'no_object'].includes(faultOf(error))) this.#notSupportedElse(error);
      }
    }
    return etag;
  }

  async #try(place: S3Place, bytes: Buffer, expected: string | null, style: Style): Promise<{ readonly etag: string | null } | 'other style'> {
    try {
      const etag = await this.#write(place, bytes, expected === null ? { IfNoneMatch: '*' } : { IfMatch: style === 'bare' ? expected.replaceAll('"', '') : expected });
      if (expected !== null) this.#style = style;
      return { etag };
    } catch (error) {
      const fault = faultOf(error);
      if (fault !== 'changed' && fault !== 'no_object') {
        this.#notSupportedElse(error);
        return { etag: await this.#write(place, bytes, {}) };
      }
      const now = await getSmall(this.#access, place, Infinity);
      // An attempt has arrived whose answer was lost.
      if (now?.bytes.equals(bytes) === true) return { etag: now.etag };
      return now !== null && now.etag === expected ? 'other style' : { etag: null };
    }
  }

  #notSupportedElse(error: unknown): void {
    if (faultOf(error) !== 'unsupported') throw error;
    this.#supported = false;
  }

  #write(place: S3Place, bytes: Buffer, condition: { readonly IfMatch?: string; readonly IfNoneMatch?: string }): Promise<string> {
    // A browser shows a page only if it is told that it is one.
    const type = place.key.endsWith('.html') ? { ContentType: 'text/html; charset=utf-8' } : {};
    return putSmall(this.#access, place, bytes, { ...condition, ...type });
  }
}
