# frozen_string_literal: true

module Millrace
  # The calls about batches: files of up to ten million lines.
  class Batches
    SETTLED = %w[completed failed cancelled expired paused].freeze
    TYPES = { "ndjson" => "application/x-ndjson", "csv" => "text/csv" }.freeze
    private_constant :SETTLED, :TYPES

    def initialize(transport)
      @transport = transport
    end

    # A job of an `operation` over `lines` or a `file`: its parts are uploaded, and it is completed. Without either,
    # the job stays open for #upload_part.
    #
    # `lines` are hashes, other objects with `to_h`, or texts of one line each, from anything with `each`. `file` is a
    # path or an open file.
    def create(operation:, lines: nil, file: nil, idempotency_key: nil, **params)
      raise ArgumentError, "pass lines or file, not both" if lines && file

      params[:format] ||= "csv" if file && csv?(file)
      body = Requests.body({ operation:, **params })
      batch = @transport.record(Batch, Request.new(verb: "POST", path: "/v1/batches", body:, idempotency_key:))
      return batch unless lines || file

      upload(batch, lines, file)
      complete(batch.id)
    rescue CallError => e
      e.batch_id = batch&.id
      raise
    end

    # The jobs of the key, the newest first.
    def list(limit: nil)
      Pager.new(@transport, Batch) do |cursor|
        Request.new(verb: "GET", path: "/v1/batches", query: Requests.query({ limit:, cursor: }))
      end
    end

    # The job as it is now.
    def get(id)
      @transport.record(Batch, Request.new(verb: "GET", path: path(id)))
    end

    # Raises the limit of credits; a job that paused at it goes on.
    def update(id, max_credits:)
      @transport.record(Batch, Request.new(verb: "PATCH", path: path(id), body: { max_credits: }))
    end

    # A part of whole lines, at most 64 MiB. The same number again replaces it.
    def upload_part(id, number, content, format: "ndjson")
      request = Request.new(verb: "PUT", path: path(id, "/parts/", number), content:)
      request.headers = { "Content-Type" => TYPES.fetch(format.to_s) }
      @transport.record(BatchPart, request)
    end

    # All parts are there: the job begins.
    def complete(id, idempotency_key: nil)
      post(path(id, "/complete"), idempotency_key)
    end

    # Ends the job.
    def cancel(id, idempotency_key: nil)
      post(path(id, "/cancel"), idempotency_key)
    end

    # Removes a job that has ended, with its results.
    def delete(id)
      @transport.answer(Request.new(verb: "DELETE", path: path(id))) { nil }
    end

    # Waits until the job has ended or is paused; with `timeout` at most that many seconds.
    def wait(id, timeout: nil)
      pause = nil
      @transport.poll(timeout, "batch #{id}") do
        batch = get(id)
        pause = pause ? [10.0, pause * 1.5].min : 1.0
        SETTLED.include?(batch.state) ? [batch, nil] : [nil, pause]
      end
    end

    # The results in the order of the input, all or those of a `set`. A broken stream continues by itself.
    def results(id, set: nil)
      request = Request.new(verb: "GET", path: path(id, "/results"), query: Requests.query({ set: }))
      Stream.new(@transport, request, BatchLine, :line)
    end

    private

    def upload(batch, lines, file)
      number = 0
      cutter = PartCutter.new { |part| upload_part(batch.id, number += 1, part, format: batch.format) }
      if file
        PartCutter.each_line(file, batch.format == "csv") { |line| cutter << line }
      else
        lines.each { |line| cutter << PartCutter.to_line(line) }
      end
      cutter.finish
    end

    def post(path, idempotency_key)
      @transport.record(Batch, Request.new(verb: "POST", path:, idempotency_key:))
    end

    def path(id, *rest)
      Requests.path("/v1/batches/", id, *rest)
    end

    def csv?(file)
      File.extname((file.respond_to?(:path) ? file.path : file).to_s).casecmp?(".csv")
    end
  end
end
