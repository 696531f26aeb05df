/** Looks on while a declared client makes a call: for `millrace provider check`. Types only. */
import type { Answer } from '../../client/answer.ts';
import type { TransportRequest } from '../../client/transport.ts';
import type { AnswerRules } from '../compiled-provider.ts';

/** The rules that decide what an answer means, in the order in which they are asked. */
export type RuleName = Exclude<keyof AnswerRules, 'waitSeconds' | 'code' | 'message'>;

export interface CallWatch {
  /** The request as it goes onto the wire, with the API key in it. */
  asked(origin: string, request: TransportRequest): void;
  /** The answer, with the API key masked. */
  answered(answer: Answer): void;
  /** @param rule null when none is true @param rules of the operation or of its batch */
  judged(rules: AnswerRules, rule: RuleName | null): void;
}
