/** The next signals of a stream as text, in steps: a stream may have hundreds of thousands of them. */
import type { Steps } from '../../util/steps.ts';
import type { Signal, SignalFeed, SignalFilter } from '../store/rows/signal-feed.ts';

/** Signals that are read in one step, and the units of work of each. */
const [SIGNALS_A_STEP, SIGNAL_UNITS] = [25, 3];
/** A text is complete when it has this many characters. */
const COMPLETE_TEXT = 32_768;

export interface SignalText {
  readonly text: string;
  /** How many signals are in it. */
  readonly count: number;
  /** The position in the stream up to which signals were examined. */
  readonly upTo: number;
}

export interface SignalsAsked {
  readonly feed: SignalFeed;
  readonly filter: SignalFilter;
  /** One signal as text. */
  readonly write: (signal: Signal) => string;
}

/** The signals behind `from`, up to a complete text, `most` of them, or the end of what is known. */
export function* nextText({ feed, filter, write }: SignalsAsked, from: number, most: number): Steps<SignalText> {
  let [text, count, upTo] = ['', 0, from];
  while (text.length < COMPLETE_TEXT && count < most) {
    const found = feed.following(filter, upTo, Math.min(most - count, SIGNALS_A_STEP));
    text += found.signals.map(write).join('');
    count += found.signals.length;
    if (found.upTo === upTo) break;
    upTo = found.upTo;
    yield SIGNALS_A_STEP * SIGNAL_UNITS;
  }
  return { text, count, upTo };
}
