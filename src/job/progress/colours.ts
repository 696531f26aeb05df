/** Colours on a terminal. */
import { styleText } from 'node:util';

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red';
/** A text in a style, or as it is where there are no colours. */
export type Paint = (style: Style, text: string) => string;

export const plain: Paint = (_style, text) => text;

/**
 * Whether and how to colour: `FORCE_COLOR` decides, else `NO_COLOR` (https://no-color.org) and `TERM=dumb` forbid it, else a terminal has
 * colours.
 */
export function paintFor(out: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint {
  const forced = env['FORCE_COLOR'];
  const isWanted =
    forced !== undefined ? forced !== '0' && forced !== 'false' : !env['NO_COLOR'] && env['TERM'] !== 'dumb' && out.isTTY === true;
  return isWanted ? (style, text) => styleText(style, text, { validateStream: false }) : plain;
}
