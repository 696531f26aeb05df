/** A definition with every key, for a vendor without an OpenAPI document. Pure. */
import { STEPS } from '../../steps/registry.ts';

/** @param name of the provider @param today YYYY-MM-DD */
export function skeleton(name: string, today: string): string {
  return `# A provider definition with every key, by \`millrace provider new\`. Keys behind # are optional, and show a form, not a fact.
# docs/providers.md explains them. Fill in the address, the request and the record, then: millrace provider check ${name}.yaml

name: ${name}
# title: ${name}                           # for people
# documentation: [https://docs.example.com/enrich]   # the pages that it was written from
readOn: ${today}                         # the day on which they were read
# use: ./other.yaml                        # starts from another definition; keys here replace those there
# client: declared                         # built-in is for the definition millrace alone

baseUrl: https://api.example.com/v1        # TO FILL: the address in front of the paths
authentication:                            # how requests carry the API key; one of:
  bearer: true                             # Authorization: Bearer KEY
  # header: X-Api-Key                      # another header, with a prefix where the vendor wants one
  # prefix: "Token "
  # query: api_key                         # a parameter
  # body: api_key                          # a field of the body
  # basic: {user: name}                    # basic authentication; or {password: x}: the part that is left out is the API key
# headers: {Accept: application/json}      # sent with every request, as they stand
# tls: {caFile: ca.pem, certFile: client.pem, keyFile: client.key}
# timeoutMs: 30000                         # longest wait for one answer
# concurrency: auto                        # requests in flight at once
# idempotency: {header: Idempotency-Key}   # only where the vendor says that a repeated request is answered once
# absent: [locked@acme.example]            # texts that stand for no value, such as an address that was not unlocked

# defaultPlan: free                        # the plan of a job that names none
# quota:
#   plans:                                 # requests by plan; all windows of a plan hold at once; [] is no limit
#     free: [100/minute, 1000/month]
#     pro: [15/second, 500/minute]
#   headers:                               # only where the usual names (X-RateLimit-Remaining and the like) are not enough
#     - {window: day, limit: x-limit-day, remaining: x-left-day, used: x-used-day, reset: x-reset-day, resetUnit: seconds}
#     - {json: true, limit: x-limit, remaining: x-left}     # JSON by period

operations:                                # ${STEPS.join(', ')}: those that the vendor has
  enrich:
    keys: [email]                          # also linkedin_url, phone, name+domain, name+company, domain: the best one first
    request:
      method: GET
      # baseUrl: https://bulk.example.com  # in place of the address above
      path: /people/enrich                 # TO FILL. {...} holds an expression, put in percent-encoded: /people/{email}
      query:                               # name: expression; one that finds nothing is left out
        email: email
      # headers: {X-Trace: "'millrace'"}
      # body: {email: email}               # expressions at any depth, instead of query; method: POST
      # bodyType: json                     # or form
    answers:                               # expressions over status, headers, body; the first one that is true decides
      # suppressed: status = 451           # the person asked to be removed
      # wait: status = 429                 # later; costs no retry
      # outOfCredits: status = 402         # ends the job
      # denied: status = 401               # the API key is refused: ends the job
      # pending: status = 202              # the answer comes later; needs poll
      # match: status = 200 and $exists(body.data)
      # miss: status = 404
      # refused: status = 400              # asking again does not help
      # retry: status >= 500
      # waitSeconds: $number(headers.\`retry-after\`)
      # code: body.error.type              # the vendor's words for an error
      # message: body.error.message
    record:                                # TO FILL: our fields from the answer
      email: body.data.email
      # name: body.data.name
      # title: body.data.title
      # company: {name: body.data.company, domain: body.data.domain}
    # credits: "status = 200 ? 1 : 0"      # what an answer has cost
    creditsAtMost: 1                       # the most that one lookup costs, for limits and forecasts
    # creditsAt: answer                    # or submit: taken with the request, before the answer is known
    # batch:                               # one request for several lookups
    #   size: 100
    #   request: {method: POST, path: /people/bulk, body: {requests: "lookups.{'id': id, 'email': email}"}}
    #   items: body.results                # the list of answers
    #   itemStatus: status                 # the status of an entry; default: that of the request
    #   itemId: id                         # the id, or the key, of an entry; default: by position
    #   answers: {wait: status = 429}      # of the answer as a whole
    #   credits: body.credits_used         # of the whole request
    #   quota: {plans: {free: [10/minute]}}
    #   poll:                              # the answer to the batch comes later
    #     ticket: body.id
    #     request: {path: "/bulk/{ticket}"}
    #     next: body.next_page             # the next page of the results; nothing on the last one
    #     firstSeconds: 30
    #     everySeconds: 5
    #     growth: 1.5                      # each wait is longer than the one before by this factor
    #     longestSeconds: 600
    #     maxOpen: 10                      # tickets that may be open at once
    #     quota: {plans: {free: [60/minute]}}
    # poll:                                # the answer to one lookup comes later
    #   ticket: body.id
    #   request: {path: "/jobs/{ticket}"}
    #   firstSeconds: 5
    #   everySeconds: 5
    #   growth: 1
    #   longestSeconds: 600
    #   maxOpen: 100
    #   quota: {plans: {free: [60/minute]}}
    # quota: {plans: {free: [50/minute]}}  # where the vendor counts the endpoint apart

  # verify:                                # keys: [email]; the record has result, reason, confidence
  #   request: {path: /verify, query: {email: email}}
  #   record: {result: "body.status = 'valid' ? 'deliverable' : 'undeliverable'", reason: body.reason, confidence: body.score}
  # company:                               # keys: [domain]
  #   request: {path: "/companies/{domain}"}
  #   record: {name: body.name, employees: body.employees, industry: body.industry}
  # reveal:                                # contact details: email, mobile
  #   keys: [linkedin_url]
  #   request: {method: POST, path: /reveal, body: {url: linkedin_url}}
  #   record: {email: body.email, mobile: body.mobile}
  # phone:                                 # any other name is a custom step, with columns of its own
  #   keys: [phone]
  #   columns: {line_type: text}           # text, integer, number, boolean, list, any
  #   decides: true                        # the outcome of rows for which no standard step has a key
  #   request: {path: "/lines/{phone}"}
  #   record: {line_type: body.type}
`;
}
