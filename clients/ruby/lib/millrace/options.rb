# frozen_string_literal: true

module Millrace
  # What a client was created with.
  class Options
    attr_reader :api_key, :base_url, :timeout, :max_attempts, :retry_delay, :wait_for_rate_limit, :headers

    def initialize(api_key:, base_url:, timeout:, max_attempts:, retry_delay:, wait_for_rate_limit:, headers: {})
      @api_key = setting(api_key, "MILLRACE_API_KEY")
      @base_url = setting(base_url, "MILLRACE_BASE_URL").sub(%r{/+\z}, "")
      @timeout = timeout
      @max_attempts = max_attempts
      @retry_delay = retry_delay
      @wait_for_rate_limit = wait_for_rate_limit
      @headers = headers
      check
      freeze
    end

    # The same with other settings, but for those that are nil.
    def with(**changes)
      same = { api_key:, base_url:, timeout:, max_attempts:, retry_delay:, wait_for_rate_limit:, headers: }
      self.class.new(**same, **changes.compact)
    end

    def inspect
      "base_url=#{base_url.inspect} api_key=#{MASK}"
    end

    private

    # What was given, else the environment variable, else nothing.
    def setting(given, variable)
      (given.nil? ? ENV.fetch(variable, "") : given).to_s
    end

    def check
      unless api_key.match?(/\A[!-~]+\z/)
        raise ArgumentError, "api_key: expected printable ASCII without spaces; pass it or set MILLRACE_API_KEY"
      end
      unless base_url.match?(%r{\Ahttps?://[^/?#@\s]+(/[^?#\s]*)?\z})
        raise ArgumentError,
              "base_url: expected http(s)://host without credentials or query; pass it or set MILLRACE_BASE_URL"
      end
      return if timeout.positive? && max_attempts >= 1 && retry_delay >= 0

      raise ArgumentError, "timeout must be above 0, max_attempts at least 1, retry_delay at least 0"
    end
  end

  private_constant :Options
end
