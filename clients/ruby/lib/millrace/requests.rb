# frozen_string_literal: true

module Millrace
  # One call. `content` is sent as it is, `body` as JSON. `also` is a status of 300 and above that is an answer too.
  Request = Struct.new(
    :verb, :path, :query, :body, :content, :headers, :idempotency_key, :timeout, :also, keyword_init: true
  ) do
    def call
      "#{verb} #{path}"
    end
  end

  # How parameters become paths, queries and bodies.
  module Requests
    LONGEST_QUERY = 4_000

    module_function

    # A path of literal parts (with a slash) and of values, which are encoded.
    def path(*parts)
      parts.map { |part| part.is_a?(String) && part.start_with?("/") ? part : segment(part) }.join
    end

    def segment(value)
      URI.encode_www_form_component(value.to_s).gsub("+", "%20")
    end

    # A list becomes a parameter for each of its items; nil is left out.
    def query(params)
      URI.encode_www_form(filters(params))
    end

    # Filters as the service writes them: a time is its day in UTC.
    def filters(params)
      plain(params.compact, "%F")
    end

    # The parameters without those that are nil.
    def body(params)
      plain(params.compact)
    end

    # Seconds that a verification may take, with its `timeout_ms`.
    def verify_timeout(params, timeout)
      wanted = params[:timeout_ms]
      wanted ? [(wanted / 1000.0) + 5, timeout].max : timeout
    end

    # Values of Ruby as the service writes them: times in UTC, a range of numbers as `min-max`.
    def plain(value, time = "%FT%TZ")
      case value
      when Hash then value.transform_values { |item| plain(item, time) }
      when Array, Set then value.map { |item| plain(item, time) }
      when Time, DateTime then value.to_time.getutc.strftime(time)
      when Range then "#{value.begin}-#{value.exclude_end? && value.end.is_a?(Integer) ? value.end - 1 : value.end}"
      else value
      end
    end
  end

  private_constant :Request, :Requests
end
