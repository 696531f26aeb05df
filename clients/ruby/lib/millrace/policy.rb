# frozen_string_literal: true

module Millrace
  # The quota of the API key.
  class RateLimit < Model
    # Requests a minute; 0 is unlimited.
    field :limit
    # Requests that may be sent at once now.
    field :remaining
    # Seconds until all of them may be sent at once again.
    field :reset
  end

  # What an answer said besides its body.
  class LastResponse < Model
    field :status
    field :request_id
    field :credits_charged
    # It is the stored answer to an earlier request with the same Idempotency-Key.
    field :replayed
    alias replayed? replayed
    # nil for a call without a quota.
    field :rate_limit, RateLimit
  end

  # The attempts of one call.
  class Retries
    # Attempts that were sent.
    attr_reader :sent

    def initialize(options)
      @options = options
      @sent = 0
      restart
    end

    # A stream has brought something new.
    def restart
      @counted = 0
      @waited = 0.0
    end

    # Seconds to wait before the next attempt. Raises the error when there is none.
    def pause_after(error)
      @sent += 1
      error.attempts = @sent
      asked = error.retry_after || 0.0
      raise error unless error.retryable?
      return rate_limit_pause(error, asked) if @options.wait_for_rate_limit && error.status == 429

      @counted += 1
      raise error if @counted >= @options.max_attempts || asked > Policy::MAX_RETRY_AFTER

      longer(asked, @counted)
    end

    private

    # Costs no attempt.
    def rate_limit_pause(error, asked)
      pause = longer(asked, @counted + 1)
      @waited += pause
      raise error if @waited > Policy::MAX_RATE_LIMIT_WAIT

      pause
    end

    def longer(asked, attempt)
      jitter = rand
      backoff = jitter * [Policy::MAX_DELAY, @options.retry_delay * (2.0**[attempt - 1, 30].min)].min
      [backoff, asked * (1 + (jitter / 10))].max
    end
  end

  # What an answer means. Knows no sockets.
  module Policy
    MAX_BYTES = 16 * 1024 * 1024
    # More levels than any answer has.
    MAX_NESTING = 512
    MAX_DELAY = 8.0
    MAX_RETRY_AFTER = 60.0
    MAX_RATE_LIMIT_WAIT = 900.0
    RETRYABLE = [408, 425, 429, 500, 502, 503, 504].freeze

    module_function

    # What the headers of an answer say.
    def last_response(response, api_key)
      limit, remaining, reset = %w[limit remaining reset].map { |name| number(response["x-ratelimit-#{name}"]) }
      quota = { limit: limit.to_i, remaining: remaining.to_i, reset: } if limit && remaining && reset
      LastResponse.new(
        status: response.code.to_i,
        request_id: redact(response["x-request-id"], api_key),
        credits_charged: number(response["x-credits-charged"]).to_i,
        replayed: response["idempotency-replayed"] == "true",
        rate_limit: quota
      )
    end

    # The error that an answer of 300 and above is. `call` is the method and the path.
    def refused(call, response, body, api_key)
      status = response.code.to_i
      problem = problem_of(body)
      code, detail, retryable = problem ? told(problem, status) : guessed(status)
      items = problem_items(problem, api_key)
      detail = [detail, *items.first(3).map { |item| finding(item) }].join("; ")
      (ERROR_CLASSES[code] || ApiError).new(
        redact("#{call}: #{detail} (#{code}, status #{status})", api_key),
        code: redact(code, api_key),
        status:,
        request_id: redact(response["x-request-id"] || problem&.fetch(:request_id, nil), api_key),
        retryable:,
        retry_after: retry_after(response["retry-after"], response["date"]),
        errors: items
      )
    end

    # The JSON of a success. Raises "bad_body" for anything else.
    def parse_json(call, response, body, symbolize_names: true)
      JSON.parse(body, symbolize_names:, freeze: true, max_nesting: MAX_NESTING)
    rescue JSON::ParserError, EncodingError
      # Its message has a piece of the body.
      raise bad_body(call, "the answer is not JSON", response), cause: nil
    end

    # A record of an answer. Raises "bad_body" when it is no JSON object.
    def record(model, call, response, body)
      found = parse_json(call, response, body)
      raise bad_body(call, "the answer is not a JSON object", response) unless found.is_a?(Hash)

      checked(model, call, response, found)
    end

    def checked(model, call, response, found)
      wrong = found.is_a?(Hash) ? model.wrong_field(found) : "an item"
      raise bad_body(call, "the type of #{wrong} is not that which was promised", response) if wrong

      model.new(found)
    end

    # The page of a list. Raises "bad_body" for anything else.
    def page(model, call, response, body)
      found = record(Model, call, response, body).to_h
      data = found[:data]
      meta = found[:meta] || {}
      following, total = meta.values_at(:next_cursor, :total) if meta.is_a?(Hash)
      right = data.is_a?(Array) && meta.is_a?(Hash) && (following.nil? || following.is_a?(String))
      raise bad_body(call, "the answer is not a page", response) unless right && (total.nil? || total.is_a?(Integer))

      Page.new(data.map { |item| checked(model, call, response, item) }, following, total)
    end

    # Seconds until a verification is asked for again: what the service says, from 1 to 60.
    def poll_pause(response)
      (retry_after(response["retry-after"], response["date"]) || 1.0).clamp(1.0, MAX_RETRY_AFTER)
    end

    # An answer that is of no use, and may be better next time.
    def bad_body(call, detail, response = nil)
      status = response ? response.code.to_i : 200
      BadBodyError.new(
        "#{call}: #{detail} (bad_body, status #{status})",
        code: "bad_body", status:, request_id: response && response["x-request-id"], retryable: true
      )
    end

    def timed_out(what)
      TimedOutError.new("#{what} (timeout)", code: "timeout", retryable: true)
    end

    # Seconds to wait (RFC 9110, 10.2.3). A date is read against the answer's own Date.
    def retry_after(value, date)
      return if value.nil?

      number(value) || [0.0, Time.httpdate(value) - (date ? Time.httpdate(date) : Time.now)].max
    rescue ArgumentError
      nil
    end

    # The text without the key.
    def redact(text, api_key)
      text.gsub(api_key, MASK) if text.is_a?(String)
    end

    def number(text)
      text.to_f if text&.strip&.match?(/\A\d{1,15}(\.\d{1,9})?\z/)
    end

    def problem_of(body)
      problem = JSON.parse(body, symbolize_names: true)
      problem if problem.is_a?(Hash) && problem[:code].is_a?(String)
    rescue JSON::ParserError, EncodingError
      nil
    end

    def told(problem, status)
      detail = [problem[:detail], problem[:title], "refused"].find { |text| text.is_a?(String) && !text.empty? }
      retryable = problem[:retryable]
      [problem[:code], detail, [true, false].include?(retryable) ? retryable : RETRYABLE.include?(status)]
    end

    def guessed(status)
      return ["wrong_address", "this is not the data service", false] if status < 400 || status == 404

      ["http_#{status}", "the answer has no problem document", RETRYABLE.include?(status)]
    end

    def problem_items(problem, api_key)
      items = Array(problem && problem[:errors]).grep(Hash)
      items.map { |item| ProblemItem.new(item.transform_values { |text| redact(text.to_s, api_key).freeze }) }.freeze
    end

    def finding(item)
      [item.pointer, item.parameter, item.detail].reject { |text| text.to_s.empty? }.join(": ")
    end
  end

  private_constant :Retries, :Policy
end
