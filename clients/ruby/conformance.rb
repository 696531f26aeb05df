# frozen_string_literal: true

# The runner of the conformance suite: scenarios on standard input, a line of JSON for each on standard output.

$LOAD_PATH.unshift(File.join(__dir__, "lib"))
require "millrace"
require "pp"
require "stringio"

# Ends a call from another thread.
class Cancelled < StandardError; end

# One scenario, with one client for all of its steps.
class Scenario
  POSITIONAL = {
    "verify" => %w[email], "verify_batch" => %w[emails], "start_verification" => %w[emails],
    "enrich_bulk" => %w[requests], "company" => %w[domain], "graphql" => %w[query], "enrich" => [], "reveal" => []
  }.freeze
  PLACES = %w[id number delivery content].freeze

  def initialize(task)
    @task = task
    @options = task["options"].transform_keys(&:to_sym)
    @client = Millrace::Client.new(api_key: task["api_key"], base_url: task["base_url"], **@options)
    @outcomes = []
  end

  def run
    client = @client
    @task["steps"].each do |step|
      @client = step["with"] ? client.with_options(**symbols(step["with"])) : client
      @outcomes << plain({ **outcome(step), last_response: @client.last_response })
    end
    client.close
    @outcomes
  end

  private

  def outcome(step)
    args = resolve(step["args"] || {})
    result = nil
    (step["repeat"] || 1).times { result = call(step["call"], args) }
    { result: }
  rescue Millrace::CallError => e
    { error: e.deconstruct_keys(nil) }
  rescue ArgumentError => e
    { error: { code: "configuration", message: e.message } }
  rescue Millrace::WebhookSignatureError => e
    { error: { code: "signature", message: e.message } }
  rescue Cancelled
    { error: { code: "aborted", status: 0, retryable: false } }
  end

  def call(name, args)
    case name
    when "describe" then forms(@client) + forms(@client.webhooks) + forms(@client.batches)
    when "webhooks.create.describe" then forms(@client.webhooks.create(**symbols(args)))
    when "verify_webhook" then Millrace.verify_webhook(*args.values_at("body", "headers", "secrets"))
    when "csv_records" then args["texts"].map { |text| record_lengths(text) }
    when "at_once" then at_once(args).map(&:name).uniq
    when "forked" then forked(args)
    when "cancelled" then cancel(args)
    when "batches.create_big" then create_big(args)
    when "batches.count_results" then count_results(args["id"])
    when "search_contacts.pages" then pages(args)
    else operation(name, args)
    end
  end

  def operation(name, args)
    *owner, method = name.split(".")
    target = owner.inject(@client) { |object, part| object.public_send(part) }
    places = POSITIONAL.fetch(name, PLACES) & args.keys
    take = args["take"]
    answer = target.public_send(method, *args.values_at(*places), **symbols(args.except("take", *places)))
    return answer unless answer.is_a?(Millrace::Pager) || answer.is_a?(Millrace::Stream)

    items = take ? answer.first(take) : answer.to_a
    answer.is_a?(Millrace::EventStream) ? { items:, last_event_id: answer.last_event_id } : items
  end

  def cancel(args)
    caller = Thread.current
    timer = Thread.new { sleep(args["after"]) && caller.raise(Cancelled) }
    call(args["call"], args["args"])
  ensure
    timer&.kill
  end

  def at_once(args)
    Array.new(args["count"]) { Thread.new { call(args["call"], args["args"]) } }.map(&:value)
  end

  def record_lengths(text)
    lines = []
    Millrace.const_get(:PartCutter).each_line(StringIO.new(text), true) { |line| lines << line }
    contents = lines.map { |line| line.delete_suffix("\n").delete_suffix("\r") }
    contents[0] = contents[0].delete_prefix("\xEF\xBB\xBF".b)
    contents.reject { |content| content.match?(/\A[ \t]*\z/n) }.map(&:bytesize)
  end

  # The different names that each child gets.
  def forked(args)
    children = args["each"].map do |each|
      IO.popen("-") || begin
        names = Array.new(args["repeat"]) { call(args["call"], each).name }
        puts JSON.generate(names.uniq.sort)
        $stdout.flush
        exit!(0)
      end
    end
    children.map { |child| JSON.parse(child.read).tap { child.close } }
  end

  def create_big(args)
    lines = Enumerator.new do |list|
      args["lines"].times { |i| list << { custom_id: format("%0200d", i), email: "person#{i}@nobody.example" } }
    end
    @client.batches.create(operation: args["operation"], lines:)
  end

  def count_results(id)
    count = last = 0
    @client.batches.results(id).each do |line|
      count += 1
      last = line.line
    end
    { count:, last: }
  end

  def pages(args)
    found = @client.search_contacts(**symbols(args.except("take"))).pages.first(args["take"])
    found.map { |page| { count: page.count, total: page.total, next_cursor: page.next_cursor } }
  end

  def symbols(args)
    args.transform_keys(&:to_sym)
  end

  # The textual forms that people print.
  def forms(value)
    [value.inspect, value.to_s, PP.pp(value, +""), format("%p %s", value, value), JSON.generate(value)].join(" ")
  end

  # What the JSON of a value is, so that later steps can look into it.
  def plain(value)
    JSON.parse(JSON.generate(open(value)))
  end

  # A webhook with its secret, which its JSON masks.
  def open(value)
    case value
    when Millrace::Model then open(value.to_h)
    when Hash then value.transform_values { |item| open(item) }
    when Array then value.map { |item| open(item) }
    else value
    end
  end

  # "$0.id" is the id in the result of the first step.
  def resolve(value)
    case value
    when Hash then value.transform_values { |item| resolve(item) }
    when /\A\$\d/
      step, *path = value.delete_prefix("$").split(".")
      path.inject(@outcomes[step.to_i]["result"]) { |found, key| found.is_a?(Array) ? found[key.to_i] : found[key] }
    else value
    end
  end
end

# A line of /proc/self/status in MiB; nil where there is none.
def memory(field)
  File.foreach("/proc/self/status") { |line| return line.split[1].to_f / 1024 if line.start_with?("#{field}:") }
rescue SystemCallError
  nil
end

PRINTING = Mutex.new

def show(task, outcomes, memory_mib)
  line = JSON.generate({ name: task["name"], variant: task["variant"], outcomes:, memory_mib: })
  PRINTING.synchronize { puts(line) }
end

alone, together = JSON.parse($stdin.read)["scenarios"].partition { |task| task["alone"] }
alone.each do |task|
  before = memory("VmRSS")
  outcomes = Scenario.new(task).run
  show(task, outcomes, before && (memory("VmHWM") - before))
end
waiting = Queue.new
together.each { |task| waiting << task }
waiting.close
threads = Array.new(16) do
  Thread.new do
    while (task = waiting.pop)
      show(task, Scenario.new(task).run, nil)
    end
  end
end
threads.each(&:join)
