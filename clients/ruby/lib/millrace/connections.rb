# frozen_string_literal: true

module Millrace
  # Open connections of a client that no call uses at the moment. Threads share it.
  class Connections
    MOST_IDLE = 100
    # The service ends a connection that was idle for 5 seconds.
    KEEP_ALIVE = 4

    def initialize(base_url, configure)
      @address = URI(base_url)
      @configure = configure
      @idle = []
      @lock = Mutex.new
      @process = Process.pid
    end

    # A connection for one call. It is new when it is not started.
    def take
      @lock.synchronize { idle.pop } || connection
    end

    # The answer was read to its end: another call may use the connection.
    def keep(http)
      kept = @lock.synchronize { idle.push(http) if idle.size < MOST_IDLE }
      self.class.finish(http) unless kept
    end

    def close
      @lock.synchronize { idle.shift(idle.size) }.each { |http| self.class.finish(http) }
    end

    def self.finish(http)
      http.finish if http.started?
    rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
      nil
    end

    private

    # A forked process leaves the connections to its parent.
    def idle
      unless @process == Process.pid
        @process = Process.pid
        @idle = []
      end
      @idle
    end

    def connection
      http = Net::HTTP.new(@address.hostname, @address.port, *proxy)
      http.use_ssl = @address.scheme == "https"
      http.keep_alive_timeout = KEEP_ALIVE
      # The library makes its own attempts, and counts them.
      http.max_retries = 0
      @configure&.call(http)
      http
    end

    # Host, port and credentials of the environment's proxy. net/http itself would use that of `http` for `https` too.
    def proxy
      found = @address.find_proxy(environment)
      return [nil] if found.nil?

      credentials = [found.user, found.password].map { |text| text && URI.decode_www_form_component(text) }
      [found.hostname, found.port, *credentials]
    end

    # Names are in lower case, because Ruby warns of others. A CGI script gets HTTP_PROXY from whoever calls it.
    def environment
      found = %w[http_proxy https_proxy no_proxy all_proxy].to_h do |name|
        upper = ENV.fetch(name.upcase, nil) unless name == "http_proxy" && ENV.key?("REQUEST_METHOD")
        [name, ENV[name] || upper]
      end
      all = found.delete("all_proxy")
      { **found, "http_proxy" => found["http_proxy"] || all, "https_proxy" => found["https_proxy"] || all }
    end
  end

  private_constant :Connections
end
