# frozen_string_literal: true

module Millrace
  # One page of a list.
  class Page
    include Enumerable

    attr_reader :data
    # nil on the last page.
    attr_reader :next_cursor
    # Of a search: how many there are in all.
    attr_reader :total

    def initialize(data, next_cursor, total)
      @data = data.freeze
      @next_cursor = next_cursor
      @total = total
      freeze
    end

    def each(&block)
      return to_enum { data.size } unless block

      data.each(&block)
      self
    end
  end

  # A list that is requested page by page while it is iterated. Each iteration starts at the first page.
  class Pager
    include Enumerable

    def initialize(transport, model, cursor = nil, &request)
      @transport = transport
      @model = model
      @cursor = cursor
      @request = request
    end

    def each(&block)
      return to_enum unless block

      pages { |page| page.each(&block) }
    end

    # The same page by page.
    def pages
      return to_enum(:pages) unless block_given?

      cursor = @cursor
      seen = { cursor => true }
      begin
        page = fetch(@request.call(cursor), seen)
        yield page
        cursor = page.next_cursor
        seen[cursor] = true
      end while cursor
      self
    end

    def inspect
      "#<#{self.class} of #{@model}>"
    end

    private

    def fetch(request, seen)
      page = @transport.answer(request) { |response, body| Policy.page(@model, request.call, response, body) }
      return page unless page.next_cursor && seen.key?(page.next_cursor)

      raise Policy.bad_body(request.call, "a page names an earlier one as the next")
    end
  end

  # Records that arrive one at a time. Leaving the iteration ends the connection; each iteration asks again.
  class Stream
    include Enumerable

    # `position` names the field that numbers the records: with it a broken stream continues behind the last one.
    def initialize(transport, request, model, position = nil)
      @transport = transport
      @request = request
      @model = model
      @position = position
      @closed = false
      @connection = nil
    end

    def each
      return to_enum unless block_given?

      retries = Retries.new(@transport.options)
      last = nil
      outside = false
      begin
        records(last) do |record|
          last = record
          retries.restart
          outside = true
          yield record
          outside = false
          return self if @closed
        end
      rescue CallError => e
        return self if @closed && !outside
        # What the caller's own calls raise is theirs.
        raise if outside || (last && !resumes?)

        pause(retries.pause_after(e))
        retry
      end
      self
    end

    # Ends the iteration for good. Another thread, or the handler of a signal, may call it.
    def close
      @closed = true
      connection = @connection
      Connections.finish(connection) if connection
      nil
    end

    def closed?
      @closed
    end

    def inspect
      "#<#{self.class} of #{@model}>"
    end

    private

    def resumes?
      !@position.nil?
    end

    # The records of one connection, but for those up to the last one.
    def records(last)
      reader = LineReader.new
      response = pieces({ "Accept" => "application/x-ndjson" }) do |answer, piece|
        reader.feed(piece) { |line| new_record(answer, line, last) { |record| yield record } }
      end
      reader.finish { |line| new_record(response, line, last) { |record| yield record } } if response
    end

    def new_record(response, line, last)
      return if line.strip.empty?

      record = Policy.record(@model, @request.call, response, line.force_encoding(Encoding::UTF_8))
      yield record unless last && @position && record[@position] <= last[@position]
    end

    def pieces(headers, idle = @transport.options.timeout, &take)
      return if @closed

      @request.headers = headers
      @transport.stream(@request, idle:, opened: ->(http) { @connection = http }, &take)
    end

    # Looks at times whether the stream was closed: the handler of a signal can wake nothing else.
    def pause(seconds)
      until_then = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      while !@closed && (left = until_then - Process.clock_gettime(Process::CLOCK_MONOTONIC)).positive?
        sleep([left, 0.2].min)
      end
    end
  end

  # Records as they become known, without an end. It connects again by itself, behind the last event. Iterating again
  # continues there too.
  class EventStream < Stream
    # Seconds without any byte after which the connection is broken: the service sends a heartbeat every 15.
    HEARTBEATS_MISSED = 45

    # Of the last event that was yielded. Pass it to a later stream to continue there.
    attr_reader :last_event_id

    def initialize(transport, request, model, last_event_id)
      super(transport, request, model)
      @last_event_id = last_event_id
    end

    private

    def resumes?
      true
    end

    def records(_last)
      reader = EventReader.new
      headers = { "Accept" => "text/event-stream", "Last-Event-ID" => @last_event_id }.compact
      pieces(headers, HEARTBEATS_MISSED) do |response, piece|
        return if @closed

        reader.feed(piece) do |id, data|
          record = Policy.record(@model, @request.call, response, data.force_encoding(Encoding::UTF_8))
          @last_event_id = id || @last_event_id
          yield record
        end
      end
      raise Policy.bad_body(@request.call, "the stream ended")
    end
  end
end
