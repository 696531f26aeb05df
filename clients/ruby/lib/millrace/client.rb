# frozen_string_literal: true

module Millrace
  # The data service. Threads may share a client. Every call may raise a CallError.
  class Client
    # The calls about webhooks.
    attr_reader :webhooks
    # The calls about batches.
    attr_reader :batches

    # `api_key`:: else the environment variable MILLRACE_API_KEY
    # `base_url`:: the address before /v1; else the environment variable MILLRACE_BASE_URL
    # `timeout`:: seconds until a connection is open, until the answer begins, and between two pieces of it
    # `max_attempts`:: of one call, the first included
    # `retry_delay`:: seconds that the first pause between two attempts takes at most
    # `wait_for_rate_limit`:: wait for the quota as long as the service says, up to 15 minutes a call
    #
    # The block gets each new Net::HTTP before it connects, for certificates or a proxy of your own.
    def initialize(api_key: nil, base_url: nil, timeout: 30, max_attempts: 4, retry_delay: 0.5,
                   wait_for_rate_limit: false, &configure)
      options = Options.new(api_key:, base_url:, timeout:, max_attempts:, retry_delay:, wait_for_rate_limit:)
      use(Transport.new(options, Connections.new(options.base_url, configure)))
    end

    # A client with the same connections, and a last_response of its own: for one call, or several. `headers` are sent
    # beside those of the library, which win.
    def with_options(timeout: nil, max_attempts: nil, headers: nil)
      transport = @transport.with(timeout:, max_attempts:, headers:)
      self.class.allocate.tap { |client| client.send(:use, transport) }
    end

    # Quota, credits and request id of the last answer, whichever thread got it; nil before the first.
    def last_response
      @transport.last_response
    end

    # A person by `email`, `linkedin_url`, `phone`, `id`, or `name` with `domain`. `domain` alone finds the company.
    # Returns nil when the service knows nobody.
    def enrich(idempotency_key: nil, **params)
      lookup(Person, post("/v1/enrich", params, idempotency_key))
    end

    # Up to 100 people: `[{params: {email: ...}, metadata: ...}, ...]`. The results have this order.
    def enrich_bulk(requests, idempotency_key: nil)
      @transport.record(BulkEnrichment, post("/v1/enrich/bulk", { requests: requests.to_a }, idempotency_key))
    end

    # Address and number of a person. Returns nil when the service knows nobody.
    def reveal(idempotency_key: nil, **params)
      lookup(RevealedContact, post("/v1/contacts/reveal", params, idempotency_key))
    end

    # Whether mail to the address will arrive.
    def verify(email, idempotency_key: nil, **options)
      @transport.record(Verification, verification({ email:, **options }, idempotency_key))
    end

    # The same of up to 1,000 addresses, in their order.
    def verify_batch(emails, idempotency_key: nil, **options)
      @transport.record(VerificationBatch, verification({ emails: emails.to_a, **options }, idempotency_key))
    end

    # The same in the background: mail servers that say "later" are asked again. See #wait_for_verification.
    def start_verification(emails, idempotency_key: nil, **options)
      request = verification({ emails: emails.to_a, **options }, idempotency_key)
      request.headers = { "Prefer" => "respond-async" }
      @transport.record(VerificationProgress, request)
    end

    # The results, a VerificationBatch, or how far they are, a VerificationProgress.
    def get_verification(id)
      look_at_verification(id).first
    end

    # Waits for the results; with `timeout` at most that many seconds.
    def wait_for_verification(id, timeout: nil)
      @transport.poll(timeout, "verification #{id}") do
        found, pause = look_at_verification(id)
        found.is_a?(VerificationBatch) ? [found, nil] : [nil, pause]
      end
    end

    # The contacts that match all filters. The pages are requested while you iterate.
    def search_contacts(**filters)
      Pager.new(@transport, Contact, filters[:cursor]) do |cursor|
        page = Requests.filters({ **filters, cursor: })
        query = Requests.query(page)
        next post("/v1/contacts/search", page) if query.length > Requests::LONGEST_QUERY

        get("/v1/contacts/search", query)
      end
    end

    # The company of a domain. Returns nil when the service knows none.
    def company(domain)
      lookup(Company, get(Requests.path("/v1/companies/", domain)))
    end

    # Signals, the newest first. The pages are requested while you iterate.
    def signals(**filters)
      Pager.new(@transport, Signal, filters[:cursor]) do |cursor|
        get("/v1/signals", Requests.query({ **filters, cursor: }))
      end
    end

    # Every signal that matches, in the order in which they became known.
    def export_signals(**filters)
      Stream.new(@transport, get("/v1/signals", Requests.query(filters)), Signal)
    end

    # Signals as they become known, without an end; with `since`, first the known ones.
    def stream_signals(last_event_id: nil, **filters)
      EventStream.new(@transport, get("/v1/signals", Requests.query(filters)), Signal, last_event_id)
    end

    # `data` and `errors` as they came: a field that fails raises nothing.
    def graphql(query, variables: nil, operation_name: nil, idempotency_key: nil)
      body = { query:, variables:, operationName: operation_name }
      @transport.record(GraphQLResponse, post("/v1/graphql", body, idempotency_key))
    end

    # Whether the service lives.
    def health
      @transport.record(Health, get("/healthz"))
    end

    # Whether the service can work, and why not.
    def ready
      request = get("/readyz")
      request.also = 503
      @transport.record(Health, request)
    end

    # The description of the service: a hash with the names of the document, which are texts.
    def openapi
      request = get("/openapi.json")
      @transport.answer(request) do |response, body|
        Policy.parse_json(request.call, response, body, symbolize_names: false)
      end
    end

    # Ends the connections that no call uses. A later call opens another.
    def close
      @transport.close
    end

    def inspect
      "#<#{self.class} #{@transport.options.inspect}>"
    end
    alias to_s inspect

    private

    def use(transport)
      @transport = transport
      @webhooks = Webhooks.new(transport)
      @batches = Batches.new(transport)
    end

    def get(path, query = nil)
      Request.new(verb: "GET", path:, query:)
    end

    def post(path, params, idempotency_key = nil)
      Request.new(verb: "POST", path:, body: Requests.body(params), idempotency_key:)
    end

    def lookup(model, request)
      @transport.record(model, request)
    rescue NoMatchError
      nil
    end

    def verification(params, idempotency_key)
      request = post("/v1/emails/verify", params, idempotency_key)
      request.timeout = Requests.verify_timeout(params, @transport.options.timeout)
      request
    end

    # The state, and seconds to wait before it is asked for again.
    def look_at_verification(id)
      request = get(Requests.path("/v1/emails/verify/", id))
      @transport.answer(request) do |response, body|
        model = response.code == "200" ? VerificationBatch : VerificationProgress
        [Policy.record(model, request.call, response, body), Policy.poll_pause(response)]
      end
    end
  end
end
