# frozen_string_literal: true

require "csv"
require "minitest/autorun"
require "millrace"
require "pp"
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

  # A client of a service that keeps its connections, and notes the number of that of each request.
  def client_of_connections(count)
    server = TCPServer.new("127.0.0.1", 0)
    @service = Thread.new do
      count.times do |number|
        socket = server.accept
        Thread.new do
          while socket.gets("\r\n\r\n")
            @requests << number
            socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
          end
        end
      end
    end
    Millrace::Client.new(api_key: "key-1", base_url: "http://127.0.0.1:#{server.addr[1]}")
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
    filters = { title: :cto, headcount: 50..500, founded: (2020..), open_roles: (...10) }
    days = { updated_since: Date.new(2026, 1, 2), job_changed_since: Time.at(0) }
    client.search_contacts(**filters, **days, has_email: true, country: nil).to_a
    assert_equal "GET /v1/contacts/search?title=cto&headcount=50-500&founded=2020-&open_roles=-9&" \
                 "updated_since=2026-01-02&job_changed_since=1970-01-01&has_email=true HTTP/1.1",
                 @requests.pop.lines.first.chomp
  end

  def test_a_long_search_is_sent_as_a_body_with_the_same_values
    client = client_of(answer('{"data":[],"meta":{}}'))
    client.search_contacts(domain: ["acme.example"] * 400, headcount: 50.., updated_since: Time.at(0)).to_a
    sent = JSON.parse(@requests.pop.split("\r\n\r\n").last)
    assert_equal ["50-", "1970-01-01"], sent.values_at("headcount", "updated_since")
  end

  def test_what_the_block_of_a_stream_raises_is_raised_and_ends_the_connection
    retryable = Millrace::TimedOutError.new("later", code: "timeout", retryable: true)
    [Errno::ENOSPC.new, IOError.new, retryable, StopIteration.new].each do |raised|
      client = client_of(answer("{\"line\":1}\n{\"line\":2}\n"))
      assert_same(raised, assert_raises(raised.class) { client.batches.results("bat_1").each { raise raised } })
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

  def test_a_stream_that_ended_has_no_connection_to_close
    client = client_of_connections(2)
    stream = client.export_signals
    assert_equal 1, stream.count
    stream.close
    client.health
    assert_equal [0, 0], Array.new(2) { @requests.pop }
  end

  def test_a_stream_can_be_closed_during_a_pause
    problem = '{"code":"overloaded","detail":"later","retryable":true}'
    client = client_of(answer(problem, "503 Service Unavailable", "Retry-After: 59\r\n"))
    stream = client.stream_signals
    reader = Thread.new { stream.to_a }
    @service.join
    Thread.pass until client.last_response
    stream.close
    assert_equal [], reader.value
  end

  def test_a_verification_without_a_limit_of_its_own_has_that_of_the_client
    client = client_of(->(socket) { socket.read }, timeout: 0.1, max_attempts: 1)
    Timeout.timeout(4) { assert_raises(Millrace::TimedOutError) { client.verify("a@acme.example") } }
  end

  def test_the_block_of_a_client_configures_tls
    key = OpenSSL::PKey::EC.generate("prime256v1")
    certificate = certificate_of(key)
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(certificate, key)
    tcp = TCPServer.new("127.0.0.1", 0)
    server = OpenSSL::SSL::SSLServer.new(tcp, context)
    @service = Thread.new do
      assert_raises(OpenSSL::SSL::SSLError) { server.accept }
      serve(server.accept, answer('{"status":"ok"}'))
    end
    options = { api_key: "key-1", base_url: "https://127.0.0.1:#{tcp.addr[1]}", max_attempts: 1 }
    error = assert_raises(Millrace::ConnectionFailedError) { Millrace::Client.new(**options).health }
    assert_match(/certificate/, error.message)
    store = OpenSSL::X509::Store.new.add_cert(certificate)
    assert_equal "ok", Millrace::Client.new(**options) { |http| http.cert_store = store }.health.status
  end

  # Signed by itself.
  def certificate_of(key)
    certificate = OpenSSL::X509::Certificate.new
    certificate.version = 2
    certificate.serial = 1
    certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=127.0.0.1")
    certificate.public_key = key
    certificate.not_before = Time.now - 60
    certificate.not_after = Time.now + 3600
    factory = OpenSSL::X509::ExtensionFactory.new(certificate, certificate)
    certificate.add_extension(factory.create_extension("subjectAltName", "IP:127.0.0.1"))
    certificate.sign(key, "SHA256")
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

  def test_a_compressed_body_that_breaks_off_is_not_taken_for_a_whole_one
    body = Zlib.gzip('{"status":"ok"}')
    head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\nContent-Length: #{body.bytesize}\r\n\r\n"
    client = client_of(head + body[..-12], head + body)
    assert_equal "ok", client.health.status
  end

  def test_records_and_clients_print_no_secret
    webhook = Millrace::WebhookWithSecret.new({ id: "wh_1", secret: "whsec_1", url: "https://#{'a' * 70}.example" })
    assert_equal "#<Millrace::WebhookWithSecret\n id=\"wh_1\",\n secret=\"[redacted]\",\n url=\"#{webhook.url}\">\n",
                 PP.pp(webhook, +"")
    assert_includes "#{webhook}", "secret=\"[redacted]\""
    assert_equal "#<Millrace::Person>", Millrace::Person.new({ name: nil }).inspect
  end

  def test_an_error_matches_patterns_and_hides_the_key
    body = '{"code":"rate_limited","detail":"key-1 is slow","retryable":false}'
    client = client_of(answer(body, "429 Too Many Requests", "Retry-After: 7\r\n"))
    error = assert_raises(Millrace::RateLimitedError) { client.health }
    assert((error in { code: "rate_limited", status: 429, retry_after: 7.0 }))
    assert_equal "GET /healthz: [redacted] is slow (rate_limited, status 429)", error.message
    assert_nil error.cause
  end

  def test_the_cause_of_an_error_shows_no_key
    client = client_of("HTTP/1.1 key-1\r\n\r\n", max_attempts: 1)
    error = assert_raises(Millrace::ConnectionFailedError) { client.health }
    assert_equal 'GET /healthz: wrong status line: "HTTP/1.1 [redacted]" (network)', error.message
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

  def test_parts_end_with_a_line_and_a_line_of_csv_ends_outside_quotes
    long = "\"#{"x" * (3 << 20)}\",1\r\n"
    rows = ["a,b\n", "\"two\nlines\",\"\"\"quoted\"\"\"\r\n", long, long, "last"]
    client = client_of(answer('{"id":"bat_1","format":"csv"}'), *Array.new(3) { answer("{}") })
    client.batches.create(operation: "enrich", format: "csv", file: StringIO.new(rows.join))
    @service.join
    sent = Array.new(@requests.size) { @requests.pop.split("\r\n\r\n", 2) }
    assert_equal [rows[..2].join, "#{long}last\n"], sent[1..2].map(&:last)
    assert_equal ["PUT /v1/batches/bat_1/parts/1", "PUT /v1/batches/bat_1/parts/2", "POST /v1/batches/bat_1/complete"],
                 sent[1..].map { |head, _| head[/\A\S+ \S+/] }
  end

  def test_a_failed_upload_says_which_job_stays_open
    client = client_of(answer('{"id":"bat_1","format":"csv"}'), answer("no", "400 Bad Request"))
    error = assert_raises(Millrace::ApiError) { client.batches.create(operation: "enrich", file: StringIO.new("a\n")) }
    assert_equal "bat_1", error.batch_id
  end

  def test_a_forked_process_uses_connections_of_its_own
    skip "there is no fork" unless Process.respond_to?(:fork)
    client = client_of_connections(2)
    client.health
    child = fork { exit!(client.health.is_a?(Millrace::Health)) }
    Process.wait(child)
    assert_predicate $?, :success?
    client.health
    assert_equal [0, 1, 0], Array.new(3) { @requests.pop }
  end

  def test_headers_of_a_delivery_come_in_every_form
    secret = "whsec_#{['0123456789abcdef'].pack('m0')}"
    body = '{"type":"funding.round","timestamp":"2026-01-01T00:00:00Z","data":{"id":"sg_1"}}'
    time = Time.now.to_i.to_s
    signature = "v1,#{[OpenSSL::HMAC.digest('SHA256', '0123456789abcdef', "msg_1.#{time}.#{body}")].pack('m0')}"
    values = ["msg_1", time, "v1,none #{signature}"]
    [
      %w[webhook-id webhook-timestamp webhook-signature],
      %w[HTTP_WEBHOOK_ID HTTP_WEBHOOK_TIMESTAMP HTTP_WEBHOOK_SIGNATURE],
      %i[Webhook_Id Webhook_Timestamp Webhook_Signature]
    ].each do |names|
      event = Millrace.verify_webhook(body, names.zip(values).to_h, ["whsec_AAAA", secret])
      assert((event in { id: "msg_1", type: "funding.round", data: Millrace::Signal }))
    end
    lists = { "webhook-id" => ["msg_1"], "webhook-timestamp" => [time], "webhook-signature" => [signature] }
    assert_equal "msg_1", Millrace.verify_webhook(body, lists, secret).id
    assert_raises(Millrace::WebhookSignatureError) { Millrace.verify_webhook("#{body} ", lists, secret) }
    assert_raises(ArgumentError) { Millrace.verify_webhook(body, lists, "whsec_?") }
    assert_raises(ArgumentError) { Millrace.verify_webhook("", lists, secret) }
  end
end
