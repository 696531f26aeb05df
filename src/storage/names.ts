/** What a file is called until it is whole. Pure. */

export function partialPath(finalPath: string): string {
  return `${finalPath}.partial`;
}

/** In S3 it is made of several objects: eight digits of the run that wrote one, and a number or a word. */
const PART = /^(.+)\.partial\.([0-9a-f]{8}\.(?:\d+|upload))$/s;

export function partPath(finalPath: string, name: string): string {
  return `${partialPath(finalPath)}.${name}`;
}

/** Which file such an object belongs to, and its name in it; null: it is none. */
export function partOf(path: string): { readonly finalPath: string; readonly name: string } | null {
  const [, finalPath, name] = PART.exec(path) ?? [];
  return finalPath === undefined || name === undefined ? null : { finalPath, name };
}
