/** Values in messages. Pure. */

/** Characters after which values are cut. */
const MAX_SHOWN = 80;

/** A value for a message: as JSON, cut, and without the credentials of a URL. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = withoutCredentials(JSON.stringify(value) ?? typeof value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Removes user names, passwords and queries of URLs, which may be secrets. */
function withoutCredentials(text: string): string {
  return text.replaceAll(/(:\/\/)[^/\s"]*@/g, '$1***@').replaceAll(/(:\/\/[^\s"?]*\?)[^\s"]*/g, '$1***');
}
