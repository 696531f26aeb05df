import { VERDICT_FIELDS, VERDICT_OBJECTS } from '../client/answer-fields.ts';
import type { StepSpec } from './step-spec.ts';

/** The verdicts of the specification. With `output.split` each has a file, and rows with another verdict are in the whole alone. */
export const VERDICTS = ['deliverable', 'undeliverable', 'risky', 'unknown'] as const;

export const VERIFY: StepSpec<'verify', 'when' | 'patienceMs'> = {
  name: 'verify',
  description: 'Says whether an e-mail address takes mail.',
  words: /verif|validat|deliverab|email.?check|check.?email|bounce/i,
  isUsual: true,
  keys: ['email'],
  usual: ['email'],
  serviceScope: '',
  takesBadAddresses: true,
  follows: { step: 'enrich', field: 'email', unless: 'verified' },
  rank: 5,
  options: ['when', 'patienceMs'],
  fields: VERDICT_FIELDS,
  objects: VERDICT_OBJECTS,
  columns: ['result', 'confidence', 'reason', 'did_you_mean'],
  verdicts: { field: 'result', words: VERDICTS, settling: ['deliverable', 'undeliverable', 'risky'] },
};
