/** Names of unfinished files. Pure. */

export function partialPath(finalPath: string): string {
  return `${finalPath}.partial`;
}

/** The name of an S3 object that holds a part of an unfinished file: eight digits of its run, then a number or the word "upload". */
const PART = /^(.+)\.partial\.([0-9a-f]{8}\.(?:\d+|upload))$/s;

export function partPath(finalPath: string, name: string): string {
  return `${partialPath(finalPath)}.${name}`;
}

/** Splits the name of such an object into the file and the part. Null for other names. */
export function partOf(path: string): { readonly finalPath: string; readonly name: string } | null {
  const [, finalPath, name] = PART.exec(path) ?? [];
  return finalPath === undefined || name === undefined ? null : { finalPath, name };
}
