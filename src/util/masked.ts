/** Shows what a value looks like without showing whose it is. Pure. */

/** The longest text that is shown. */
const LONGEST = 48;
const HIDDEN = '***';

/** `a***@acme.example`, `+44 *** 01`, `linkedin.com/in/a***`, `A*** L***`. Domains are shown whole. At most 48 characters. */
export function masked(text: string): string {
  const bare = text
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
    .slice(0, 4 * LONGEST);
  const shown = bare.includes('@')
    ? bare.replaceAll(/([^\s@<>"'=:;,]{0,64})@/g, (_, local: string) => `${local.slice(0, 1)}${HIDDEN}@`)
    : (bare.match(/\d/g) ?? []).length >= 7 && !bare.includes('/')
      ? `${bare.slice(0, 3)} ${HIDDEN} ${bare.slice(-2)}`
      : bare.includes('/')
        ? bare.replace(/\/(in|pub)\/([^/?#])[^?#]*/i, `/$1/$2${HIDDEN}`).replace(/[?#].*$/, '')
        : /^\S+\.\S{2,}$/.test(bare)
          ? bare
          : words(bare);
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}...` : shown;
}

function words(text: string): string {
  return text.replaceAll(/([\p{L}\p{N}])[\p{L}\p{M}\p{N}]+/gu, `$1${HIDDEN}`);
}
