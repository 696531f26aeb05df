/** The beginning of an answer that `storedAnswer` wrote without a judgement. */
const UNJUDGED = /^\{"status":\d{3},"judged":false/;

/** False for a kept answer that the rules of the day have to judge. Pure, and without the engine of the mappings. */
export function isJudged(text: string): boolean {
  return !UNJUDGED.test(text);
}
