# frozen_string_literal: true

module Millrace
  # Sends requests: attempts, pauses, time limits, and the reading of answers.
  class Transport
    USER_AGENT = "millrace-ruby/#{VERSION} (#{RUBY_ENGINE} #{RUBY_VERSION})".freeze
    TIMEOUTS = [Net::OpenTimeout, Net::ReadTimeout, Net::WriteTimeout, Errno::ETIMEDOUT].freeze
    FAILURES = [
      *TIMEOUTS, SystemCallError, SocketError, IOError, OpenSSL::SSL::SSLError, Zlib::Error,
      Net::ProtocolError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError
    ].freeze

    # Ends an attempt that takes too long in all.
    class Overdue < StandardError; end

    attr_reader :options, :last_response

    def initialize(options, connections)
      @options = options
      @connections = connections
      @prefix = URI(options.base_url).path
      @last_response = nil
    end

    # The same connections with other options, and a last answer of its own.
    def with(**changes)
      self.class.new(options.with(**changes), @connections)
    end

    # The record of an answer.
    def record(model, request)
      answer(request) { |response, body| Policy.record(model, request.call, response, body) }
    end

    # What the block makes of the answer and its body, after as many attempts as it takes.
    def answer(request, &read)
      retries = Retries.new(options)
      sent = headers(request)
      content = content_of(request)
      begin
        attempt(request, sent, content, &read)
      rescue CallError => e
        return if e.code == "not_found" && request.verb == "DELETE" && retries.sent.positive?

        sleep(retries.pause_after(e))
        retry
      end
    end

    # One attempt at an answer that is read piece by piece. `opened` gets the connection, and nil when it
    # is no longer that of the stream. What the block raises is raised as it is.
    def stream(request, idle: options.timeout, opened: nil)
      refusal = String.new
      response = exchange(request, headers(request), nil, idle:, opened:) do |found, piece|
        found.code.to_i < 300 ? yield(found, piece) : gather(refusal, piece, request, found)
      end
      raise Policy.refused(request.call, response, refusal, options.api_key) if response.code.to_i >= 300

      response
    end

    # Asks until the block returns an answer, else nil and the seconds to wait before it is asked again.
    def poll(timeout, what)
      deadline = timeout && (now + timeout)
      while true
        found, pause = yield
        return found if found
        raise Policy.timed_out("#{what} is not finished in time") if deadline && now + pause > deadline

        sleep(pause)
      end
    end

    def close
      @connections.close
    end

    def inspect
      "#<#{self.class} #{options.inspect}>"
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def attempt(request, headers, content)
      body = String.new
      limit = request.timeout || options.timeout
      response = Timeout.timeout(2 * limit, Overdue) do
        exchange(request, headers, content, limit:) { |found, piece| gather(body, piece, request, found) }
      end
      status = response.code.to_i
      if status >= 300 && status != request.also
        raise Policy.refused(request.call, response, body, options.api_key)
      end

      yield response, body.force_encoding(Encoding::UTF_8)
    rescue Overdue
      raise Policy.timed_out("#{request.call}: the answer took too long"), cause: nil
    end

    def gather(body, piece, request, response)
      body << piece
      return if body.bytesize <= Policy::MAX_BYTES

      raise Policy.bad_body(request.call, "the answer is larger than #{Policy::MAX_BYTES} bytes", response)
    end

    # Sends the request, and yields the answer with each piece of its body. An exception of any kind, also one that
    # another thread raises here, ends the connection.
    def exchange(request, headers, content, limit: options.timeout, idle: limit, opened: nil)
      http = @connections.take
      opened&.call(http)
      response = nil
      ours = true
      connect(http, limit)
      http.request(message(request, headers, content)) do |found|
        response = found
        http.read_timeout = idle
        @last_response = Policy.last_response(found, options.api_key)
        read(found) do |piece|
          ours = false
          yield found, piece
          ours = true
        end
      end
      finished = true
      response
    rescue *FAILURES => e
      raise unless ours

      raise failure(request, response, e), cause: e.message.include?(options.api_key) ? nil : e
    ensure
      opened&.call(nil)
      finished ? @connections.keep(http) : (http && Connections.finish(http))
    end

    def connect(http, limit)
      http.open_timeout = http.read_timeout = http.write_timeout = limit
      http.start unless http.started?
    end

    # net/http takes a body that broke off for a whole one.
    def read(response)
      left = response.content_length unless response["content-encoding"] || response["transfer-encoding"]
      response.read_body do |piece|
        left -= piece.bytesize if left
        yield piece
      end
      raise EOFError, "end of file reached" if left&.positive?
    end

    def message(request, headers, content)
      path = @prefix + request.path
      path += "?#{request.query}" unless request.query.to_s.empty?
      sent = Net::HTTPGenericRequest.new(request.verb, !content.nil?, true, path, headers)
      sent.body = content
      sent.content_length = 0 if content.nil? && request.verb == "POST"
      sent
    end

    # They are the same in each attempt.
    def headers(request)
      headers = {
        "authorization" => "Bearer #{options.api_key}",
        "accept" => "application/json",
        "user-agent" => USER_AGENT,
        **(request.headers || {}).transform_keys(&:downcase)
      }
      headers["content-type"] = "application/json" if request.body
      headers["idempotency-key"] = request.idempotency_key || SecureRandom.uuid if request.verb == "POST"
      { **options.headers.to_h { |name, value| [name.to_s.downcase, value] }, **headers }
    end

    def content_of(request)
      request.body ? JSON.generate(request.body) : request.content
    end

    def failure(request, response, error)
      call = request.call
      return Policy.timed_out("#{call}: no answer in time") if TIMEOUTS.any? { |kind| error.is_a?(kind) }

      words = Policy.redact(error.message, options.api_key)
      if response && response.code.to_i < 300
        return Policy.bad_body(call, "the answer broke off: #{words}", response)
      end

      ConnectionFailedError.new("#{call}: #{words} (network)", code: "network", retryable: true)
    end
  end

  private_constant :Transport
end
