/** The error codes of records, each with what happened and what to do. The report shows them, and docs/exit-codes.md lists them. Pure. */

interface RecordError {
  /** `http_5xx` stands for all codes from `http_500` on. */
  readonly codes: readonly string[];
  /** Text between backticks is code, as in the next. */
  readonly what: string;
  readonly next: string;
}

const RETRY = 'run `millrace retry`, which asks for these records alone';

export const RECORD_ERRORS: readonly RecordError[] = [
  {
    codes: ['no_key'],
    what: 'the record has nothing to look up: the columns of its keys are empty',
    next: 'fill them in the input, or name other columns with `--input.columns.email NAME`',
  },
  { codes: ['bad_email'], what: 'its e-mail address is not valid, and it has no other key', next: 'correct the address in the input' },
  {
    codes: ['bad_phone'],
    what: 'its phone number has no country code, and it has no other key',
    next: 'write it as `+12125550100` in the input',
  },
  {
    codes: ['bad_profile_url'],
    what: "its address is not that of a person's LinkedIn page",
    next: 'use `linkedin.com/in/...`',
  },
  {
    codes: ['bad_row'],
    what: 'the row cannot be read: an open quote, an overlong line, or not a JSON object',
    next: 'correct the line that the errors file names; it has the text of the line as `raw`',
  },
  {
    codes: ['timeout', 'http_408', 'http_504', 'http_524', 'request_timeout'],
    what: 'the service, or a gateway before it, did not answer in time, in all attempts',
    next: `${RETRY}; raise \`service.timeoutMs\` if the service is slow`,
  },
  { codes: ['network'], what: 'the connection failed or was cut, in all attempts', next: `check the network, then ${RETRY}` },
  { codes: ['bad_body'], what: 'the answers were cut off, or could not be read', next: `${RETRY}; report it to the service if it stays` },
  {
    codes: ['unavailable'],
    what: 'the provider was skipped (`onUnavailable: skip`), and nobody else knew the record',
    next: `when the provider is back, ${RETRY}`,
  },
  {
    codes: ['bad_shape', 'bad_mapping'],
    what: "the provider's answer is not as its definition says",
    next:
      'compare an answer with the definition: `millrace provider check`. A retry asks for a late answer with its ticket first; ' +
      'for one that came at once the provider may charge again',
  },
  {
    codes: ['no_request_value'],
    what: "the definition makes no request of this record's key",
    next: 'correct the request in the definition',
  },
  {
    codes: ['still_pending'],
    what: 'the provider promised an answer and did not give it in time',
    next: `${RETRY}: it pays for none again; raise \`poll.longestSeconds\` in the definition`,
  },
  {
    codes: ['ticket_lost'],
    what: 'the provider promised an answer, and no longer knows its ticket',
    next: `${RETRY}: the provider may charge for them again`,
  },
  {
    codes: ['no_result'],
    what: 'the service left the address or the lookup out of its answer: twice, or once where the answer was promised',
    next: `${RETRY}. A promised answer is asked for with its ticket first; for one that came at once the provider may charge again`,
  },
  {
    codes: ['http_429', 'rate_limited'],
    what: 'the service kept throttling this lookup while it answered others',
    next: `${RETRY}; lower \`service.rpm\` if it happens often`,
  },
  {
    codes: ['overloaded', 'disk_full', 'http_503'],
    what: 'the service had no room for the request, in all attempts',
    next: `wait until the service has recovered, then ${RETRY}`,
  },
  {
    codes: ['internal_error', 'http_5xx'],
    what: 'the service failed at this lookup, in all attempts, while it answered others',
    next: `${RETRY}; report its \`requestId\` to the service if it stays`,
  },
  {
    codes: ['validation_failed', 'invalid_parameter', 'unknown_parameter', 'invalid_json', 'http_400', 'http_422'],
    what: 'the service refused the key of this record',
    next: 'correct the key in the input; check `service.fields.domain` if all lookups by domain are refused',
  },
  {
    codes: ['payload_too_large', 'too_many_emails', 'http_413'],
    what: 'the service refused a request for this address alone as too large',
    next: 'correct the address in the input',
  },
  {
    codes: ['idempotency_mismatch', 'idempotency_in_flight', 'http_409'],
    what: 'the service has another request under the same `Idempotency-Key`',
    next: `${RETRY}, under new keys`,
  },
  { codes: ['miss'], what: 'the service answered that it does not know this address, instead of a verdict', next: RETRY },
  { codes: ['http_4xx'], what: 'the service refused this lookup', next: 'look the code up in the documentation of the service' },
  { codes: ['other'], what: 'further codes: only the first 32 are counted by name', next: 'see the errors file' },
];

const BY_CODE = new Map(RECORD_ERRORS.flatMap((error) => error.codes.map((code) => [code, error] as const)));

const UNKNOWN: RecordError = {
  codes: [],
  what: 'a code of the service itself',
  next: `look it up in the documentation of the service, then ${RETRY}`,
};

/** @param code without its step */
export function explainRecordError(code: string): Pick<RecordError, 'what' | 'next'> {
  return BY_CODE.get(code) ?? BY_CODE.get(code.replace(/^http_([45])\d\d$/, 'http_$1xx')) ?? UNKNOWN;
}

/** The rows of the table in docs/exit-codes.md. */
export function recordErrorRows(): string[] {
  return RECORD_ERRORS.map(({ codes, what, next }) => `| ${codes.map((code) => `\`${code}\``).join(', ')} | ${what} | ${next} |`);
}
