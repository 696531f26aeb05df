import { createWriteStream } from 'node:fs';
import { once } from 'node:events';

/** A permutation of numbers. Keys are as unordered as real addresses, which a store by key must cope with. */
export function scattered(i: number): string {
  return (Math.imul(i, 2_654_435_761) >>> 0).toString(36);
}

/** Writes a file of leads with eight columns, one row in ten with a quoted cell. All addresses differ, or `people` people repeat. */
export async function writeLeads(path: string, rows: number, people = Infinity): Promise<void> {
  const file = createWriteStream(path);
  file.write('First Name,Last Name,Work Email,Company,Website,Job Title,Country,Notes\n');
  let text = '';
  for (let i = 0; i < rows; i++) {
    const company = i % 10 === 0 ? `"Works ${i % 500}, Inc."` : `Works ${i % 500}`;
    text +=
      `Ada${i % 97},Example${i % 89},${scattered(i % people)}.example@works${(i % people) % 500}.example,${company},` +
      `https://works${i % 500}.example/about,Engineer,NL,lead ${i}\n`;
    if (text.length > 1 << 20) {
      if (!file.write(text)) await once(file, 'drain');
      text = '';
    }
  }
  file.end(text);
  await once(file, 'finish');
}
