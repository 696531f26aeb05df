# frozen_string_literal: true

require "csv"
require "minitest/autorun"
require "millrace"
require "socket"
require "stringio"

# What the scenarios of the conformance suite cannot see. The service is a socket that gives one answer after the other.
class MillraceTest < Minitest::Test
  CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  def setup
    @requests = Queue.new
  end

  # A client of a service that gives these answers: texts, or procs that get the socket.
  def client_of(*answers, **options)
    server = TCPServer.new("127.0.0.1", 0)
    @service = Thread.new do
      answers.each { |answer| serve(server.accept, answer) }
    ensure
      server.close
    end
    url = "http://127.0.0.1:#{server.addr[1]}"
    Millrace::Client.new(api_key: "key-1", base_url: url, retry_delay: 0.01, **options)
  end

  def serve(socket, answer)
    request = +""
    request << socket.readline until request.end_with?("\r\n\r\n")
    length = request[/content-length: (\d+)/i, 1].to_i
    @requests << (request + socket.read(length))
    answer.is_a?(String) ? socket.write(answer) : answer.call(socket)
  rescue SystemCallError, IOError
    nil
  ensure
    socket.close
  end

  def answer(body, status = "200 OK", headers = "")
    "HTTP/1.1 #{status}\r\n#{headers}Content-Length: #{body.bytesize}\r\nConnection: close\r\n\r\n#{body}"
  end

  def chunk(text)
    "#{text.bytesize.to_s(16)}\r\n#{text}\r\n"
  end

  def test_a_model_reads_known_and_unknown_fields
    person = Millrace::Person.new({ name: "Ana", company: { name: "Acme", moons: 2 }, new_field: [1] })
    assert_equal "Ana", person.name
    assert_nil person.title
    assert_equal [1], person[:new_field]
    assert_equal 2, person.dig("company", :moons)
    assert_equal '{"name":"Ana","company":{"name":"Acme","moons":2},"new_field":[1]}', person.to_json
    refute_respond_to person, :new_field
  end

  def test_a_model_is_a_frozen_value
    person = Millrace::Person.new({ name: "Ana" })
    assert_predicate person, :frozen?
    assert_equal person, Millrace::Person.new({ name: "Ana" })
    refute_equal person, Millrace::Contact.new({ name: "Ana" })
    assert_equal 1, [person, Millrace::Person.new({ name: "Ana" })].uniq.size
  end

  def test_patterns_match_known_fields_that_were_not_sent
    person = Millrace::Person.new({ name: "Ana", company: { domain: "acme.example" } })
    matched = person in { name: "Ana", title: nil, company: Millrace::Company => company }
    assert matched
    assert_equal "acme.example", company.domain
    refute((person in { no_such_field: nil }))
    assert_nil Millrace::VerificationFlags.new({}).disposable
  end

  def test_a_broken_client_setting_is_an_argument_error
    assert_raises(ArgumentError) { Millrace::Client.new(api_key: "a key", base_url: "http://x") }
    assert_raises(ArgumentError) { Millrace::Client.new(api_key: "key", base_url: "ftp://x") }
    assert_raises(ArgumentError) { Millrace::Client.new(api_key: "key", base_url: "http://x", timeout: 0) }
  end

  def test_dates_times_ranges_and_symbols_are_written_as_the_service_reads_them
    client = client_of(answer('{"data":[],"meta":{}}'))
    filters = { title: :cto, headcount: 50..500, founded: (2020..), open_roles: (...10), updated_since: Date.new(2026, 1, 2) }
    client.search_contacts(**filters, job_changed_since: Time.at(0), has_email: true, country: nil).to_a
    assert_equal "GET /v1/contacts/search?title=cto&headcount=50-500&founded=2020-&open_roles=-9&" \
                 "updated_since=2026-01-02&job_changed_since=1970-01-01T00%3A00%3A00Z&has_email=true HTTP/1.1",
                 @requests.pop.lines.first.chomp
  end

  def test_what_the_block_of_a_stream_raises_is_raised_and_ends_the_connection
    [Errno::ENOSPC, IOError, Millrace::CallError, StopIteration].each do |kind|
      client = client_of(answer("{\"line\":1}\n{\"line\":2}\n"))
      assert_raises(kind) { client.batches.results("bat_1").each { raise kind } }
      @service.join
      assert_equal 1, @requests.size
      @requests.clear
    end
  end

  def test_a_stream_can_be_closed_by_another_thread
    opened = Queue.new
    client = client_of(lambda do |socket|
      socket.write(CHUNKED + chunk("id: 7\ndata: {\"id\":\"sg_1\"}\n\n"))
      socket.read
    end)
    stream = client.stream_signals
    reader = Thread.new { stream.each { |signal| opened << signal.id } }
    assert_equal "sg_1", opened.pop
    stream.close
    assert reader.join(10), "the stream goes on"
    assert_predicate stream, :closed?
    assert_equal "7", stream.last_event_id
    assert_empty stream.to_a
  end

  def test_a_stream_can_be_closed_in_its_own_block
    client = client_of(CHUNKED + chunk("data: {\"id\":\"sg_1\"}\n\ndata: {\"id\":\"sg_2\"}\n\n"))
    stream = client.stream_signals
    seen = []
    stream.each do |signal|
      seen << signal.id
      stream.close
    end
    assert_equal ["sg_1"], seen
  end

  def test_a_timeout_of_the_caller_ends_a_call_at_once_and_is_not_repeated
    client = client_of(->(socket) { socket.read })
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { client.health } }
    @service.join
    assert_equal 1, @requests.size
  end

  def test_an_answer_whose_headers_dribble_takes_at_most_twice_the_time_limit
    stop = false
    client = client_of(lambda do |socket|
      socket.write("HTTP/1.1 200 OK\r\nX-Slow: ")
      socket.write("x") && sleep(0.02) until stop
    end, timeout: 0.2, max_attempts: 1)
    error = assert_raises(Millrace::TimedOutError) { client.health }
    assert_equal "timeout", error.code
  ensure
    stop = true
  end

  def test_a_body_that_breaks_off_is_not_taken_for_a_whole_one
    broken = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"
    client = client_of(broken, answer('{"status":"ok"}'))
    assert_equal "ok", client.health.status
  end

  def test_an_error_matches_patterns_and_hides_the_key
    body = '{"code":"rate_limited","detail":"key-1 is slow","retryable":false}'
    client = client_of(answer(body, "429 Too Many Requests", "Retry-After: 7\r\n"))
    error = assert_raises(Millrace::RateLimitedError) { client.health }
    assert((error in { code: "rate_limited", status: 429, retry_after: 7.0 }))
    assert_equal "GET /healthz: [redacted] is slow (rate_limited, status 429)", error.message
    assert_nil error.cause
  end

  def test_lines_may_be_hashes_texts_rows_of_csv_and_records
    rows = CSV.parse("email\nana@acme.example\n", headers: true)
    lines = ['{"a":1}', { at: Time.at(0) }, rows[0], Millrace::Contact.new({ id: "c" })]
    client = client_of(answer('{"id":"bat_1","format":"ndjson"}'), answer("{}"), answer("{}"))
    client.batches.create(operation: :enrich, lines:)
    @requests.pop
    sent = @requests.pop.split("\r\n\r\n").last
    assert_equal "{\"a\":1}\n{\"at\":\"1970-01-01T00:00:00Z\"}\n{\"email\":\"ana@acme.example\"}\n{\"id\":\"c\"}\n", sent
  end

  def test_a_failed_upload_says_which_job_stays_open
    client = client_of(answer('{"id":"bat_1","format":"csv"}'), answer("no", "400 Bad Request"))
    error = assert_raises(Millrace::ApiError) { client.batches.create(operation: "enrich", file: StringIO.new("a\n")) }
    assert_equal "bat_1", error.batch_id
  end

  def test_a_forked_process_uses_connections_of_its_own
    skip "there is no fork" unless Process.respond_to?(:fork)
    kept = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    twice = lambda do |socket|
      socket.write(kept)
      @requests << socket.gets("\r\n\r\n")
      socket.write(kept)
    end
    client = client_of(twice, answer("{}"))
    client.health
    child = fork { exit!(client.health.is_a?(Millrace::Health)) }
    client.health
    Process.wait(child)
    assert_predicate $?, :success?
  end

  def test_headers_of_a_delivery_come_in_every_form
    secret = "whsec_#{['0123456789abcdef'].pack('m0')}"
    body = '{"type":"funding.round","timestamp":"2026-01-01T00:00:00Z","data":{"id":"sg_1"}}'
    time = Time.now.to_i.to_s
    signature = "v1,#{[OpenSSL::HMAC.digest('SHA256', '0123456789abcdef', "msg_1.#{time}.#{body}")].pack('m0')}"
    values = ["msg_1", time, "v1,none #{signature}"]
    [%w[webhook-id webhook-timestamp webhook-signature], %w[HTTP_WEBHOOK_ID HTTP_WEBHOOK_TIMESTAMP HTTP_WEBHOOK_SIGNATURE],
     %i[Webhook_Id Webhook_Timestamp Webhook_Signature]].each do |names|
      event = Millrace.verify_webhook(body, names.zip(values).to_h, ["whsec_AAAA", secret])
      assert((event in { id: "msg_1", type: "funding.round", data: Millrace::Signal }))
    end
    lists = { "webhook-id" => ["msg_1"], "webhook-timestamp" => [time], "webhook-signature" => [signature] }
    assert_equal "msg_1", Millrace.verify_webhook(body, lists, secret).id
    assert_raises(Millrace::WebhookSignatureError) { Millrace.verify_webhook("#{body} ", lists, secret) }
    assert_raises(Millrace::WebhookSignatureError) { Millrace.verify_webhook(body, lists, "whsec_?") }
  end
end
