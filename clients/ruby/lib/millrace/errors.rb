# frozen_string_literal: true

module Millrace
  # Whatever this library raises on purpose, but for an ArgumentError.
  class Error < StandardError; end

  # A call without the answer that it asked for.
  class CallError < Error
    # The code of the service, or "network", "timeout", "bad_body", "wrong_address", "http_<status>".
    attr_reader :code
    # The HTTP status; 0 without an answer.
    attr_reader :status
    # Of the answer: give it to the support of the service.
    attr_reader :request_id
    # Whether the same call may succeed later.
    attr_reader :retryable
    alias retryable? retryable
    # Seconds that the service asked to wait; nil when it did not say.
    attr_reader :retry_after
    # What is wrong and where: a list of ProblemItem.
    attr_reader :errors
    # Attempts of this call.
    attr_accessor :attempts
    # The job that stays open when the upload of its parts failed.
    attr_accessor :batch_id

    def initialize(message = nil, code: nil, status: 0, request_id: nil, retryable: false, retry_after: nil, errors: [])
      super(message)
      @code = code
      @status = status
      @request_id = request_id
      @retryable = retryable
      @retry_after = retry_after
      @errors = errors
      @attempts = 1
      @batch_id = nil
    end

    # For pattern matching: `case error in {code: "rate_limited", retry_after: Float => seconds}`.
    def deconstruct_keys(_names)
      { message:, code:, status:, request_id:, retryable:, retry_after:, errors:, attempts:, batch_id: }
    end
  end

  # An answer of the service that says no. Each code has a class of its own.
  class ApiError < CallError; end

  # No answer came: "network".
  class ConnectionFailedError < CallError; end

  # No answer came in time: "timeout".
  class TimedOutError < ConnectionFailedError; end

  # The answer broke off, is too large, or is not what was promised: "bad_body".
  class BadBodyError < CallError; end

  # A webhook delivery that the service did not sign, or not now.
  class WebhookSignatureError < Error; end
end
