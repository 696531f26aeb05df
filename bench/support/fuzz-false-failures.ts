/** Failures of the fuzzer that are false, each with the reason. Any other failure is one of the service or its document. */

/** A check that failed, with the request and the answer. */
export interface Failure {
  readonly operation: string;
  readonly check: string;
  readonly message: string;
  readonly request: string;
  /** True when it was sent with an API key. */
  readonly hasKey: boolean;
  readonly status: number | null;
  readonly body: string;
}

interface Problem {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly code?: string; readonly parameter?: string; readonly pointer?: string }[];
}

interface FalseFailure {
  readonly why: string;
  readonly check: string;
  readonly is: (failure: Failure, problem: Problem) => boolean;
}

/**
 * A text of the right type and length that is no valid address, domain, number, URL, date or country, or an empty range. A schema cannot
 * express this.
 */
const NO_VALUE = [
  'format',
  'range',
  'date',
  'invalid_email',
  'invalid_domain',
  'invalid_phone',
  'invalid_url',
  'invalid_id',
  'invalid_name',
  'invalid_company',
  'empty',
  'insecure',
  'private_address',
  'credentials',
];

const has = ({ errors = [] }: Problem, codes: readonly string[]): boolean =>
  errors.length > 0 && errors.every(({ code = '' }) => codes.includes(code));
const TOO_LONG = 'path, query and headers of more than 16 KiB are refused with 431, whatever is in them';

const FALSE_FAILURES: readonly FalseFailure[] = [
  {
    why: 'the fuzzer sent the key that it says it left out; ignored_auth sends none',
    check: 'missing_required_header',
    is: ({ hasKey, message }) => hasKey && message.includes("'Authorization'"),
  },
  { why: TOO_LONG, check: 'positive_data_acceptance', is: ({ status }) => status === 431 },
  { why: TOO_LONG, check: 'negative_data_rejection', is: ({ status }) => status === 431 },
  {
    why: 'a text of the right shape that is no such value (an address, a domain, a URL, a range), which no schema says',
    check: 'positive_data_acceptance',
    is: (_failure, problem) => has(problem, NO_VALUE),
  },
  {
    why: 'a made-up cursor belongs to no list',
    check: 'positive_data_acceptance',
    is: (_failure, problem) =>
      has(problem, [...NO_VALUE, 'invalid_cursor', 'too_many']) && problem.errors?.some(({ code }) => code === 'invalid_cursor') === true,
  },
  {
    why: 'all filters of a search together take 200 values, which no schema says',
    check: 'positive_data_acceptance',
    is: ({ operation }, problem) => operation.endsWith(' /v1/contacts/search') && has(problem, [...NO_VALUE, 'too_many']),
  },
  {
    why: 'a filter of webhooks goes with some events, which no schema says',
    check: 'positive_data_acceptance',
    is: ({ operation }, problem) => operation.includes(' /v1/webhooks') && has(problem, [...NO_VALUE, 'not_for_event']),
  },
  {
    why: 'the options of a batch depend on its operation',
    check: 'positive_data_acceptance',
    is: ({ operation }, { errors = [] }) =>
      operation === 'POST /v1/batches' &&
      errors.length > 0 &&
      errors.every(({ pointer = '', code = '' }) => pointer.startsWith('/options') || NO_VALUE.includes(code)),
  },
  {
    why: 'a key has 20 webhooks at most',
    check: 'positive_data_acceptance',
    is: ({ operation }, { detail = '' }) => operation === 'POST /v1/webhooks' && detail.startsWith('a key may have '),
  },
  {
    why: 'a bulk takes more requests than the plan of the key has in a minute',
    check: 'positive_data_acceptance',
    is: ({ operation }, { detail = '' }) => operation === 'POST /v1/enrich/bulk' && detail.includes('will ever hold'),
  },
  {
    why: 'GraphQL refuses a document in errors, with 200',
    check: 'negative_data_rejection',
    is: ({ operation, status, body }) => operation === 'POST /v1/graphql' && status === 200 && body.startsWith('{"errors":'),
  },
  {
    why: 'a part is of the format of its job',
    check: 'positive_data_acceptance',
    is: ({ operation, status }) => operation === 'PUT /v1/batches/{id}/parts/{n}' && status === 415,
  },
  {
    why: 'a job without max_credits has none to raise',
    check: 'positive_data_acceptance',
    is: ({ operation }, { detail = '' }) => operation === 'PATCH /v1/batches/{id}' && detail.includes('max_credits'),
  },
];

/** The reason why a failure is false. Null for a true failure. */
export function reasonOf(failure: Failure): string | null {
  const problem = problemOf(failure.body);
  return FALSE_FAILURES.find(({ check, is }) => check === failure.check && is(failure, problem))?.why ?? null;
}

function problemOf(body: string): Problem {
  try {
    const read = JSON.parse(body) as unknown;
    return typeof read === 'object' && read !== null ? read : {};
  } catch {
    return {};
  }
}
