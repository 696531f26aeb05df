/** Finds answers that mention the person behind an e-mail address. Pure. */
import { domainToUnicode } from 'node:url';

/** Characters before or after an address that make it another address. */
const BEFORE = /[\p{L}\p{N}._%+-]$/u;
const AFTER = /^(?:[\p{L}\p{N}-]|\.[\p{L}\p{N}])/u;

/**
 * Returns a test whether an answer's JSON has the address: in any case, with its domain in either form, escaped or not, alone or within a
 * text; but not as a part of a longer address.
 */
export function mentionsOf(email: string): (json: string) => boolean {
  const at = email.lastIndexOf('@');
  const unicode = `${email.slice(0, at + 1)}${domainToUnicode(email.slice(at + 1))}`;
  // The forms in JSON: the quotes of a quoted local part are escaped there.
  const forms = [...new Set([email, unicode])].map((form) => JSON.stringify(form.normalize('NFC')).slice(1, -1));
  return (json) => {
    const texts = json.includes('\\') ? [json, unescaped(json)] : [json];
    return texts.some((text) => {
      const normalised = text.toLowerCase().normalize('NFC');
      return forms.some((form) => contains(normalised, form));
    });
  };
}

/** Reads escapes such as `\u0040`; other text stays as it is. */
function unescaped(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
}

function contains(text: string, address: string): boolean {
  for (let found = text.indexOf(address); found !== -1; found = text.indexOf(address, found + 1)) {
    // Two code units on each side are enough to see one character.
    const before = text.slice(Math.max(0, found - 2), found);
    const after = text.slice(found + address.length, found + address.length + 3);
    if (!BEFORE.test(before) && !AFTER.test(after)) return true;
  }
  return false;
}
