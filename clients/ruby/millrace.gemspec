# frozen_string_literal: true

require_relative "lib/millrace/version"

Gem::Specification.new do |spec|
  spec.name = "millrace"
  spec.version = Millrace::VERSION
  spec.authors = ["The Millrace authors"]
  spec.summary = "Client of the Millrace data service: enrich, reveal, verify and search business contacts."
  spec.homepage = "https://millrace.example"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  spec.description = "Every operation of the Millrace data service, with retries, streams, batches and webhook signatures. " \
                     "It needs nothing but the standard library."
  spec.metadata = {
    "bug_tracker_uri" => "https://millrace.example/issues",
    "changelog_uri" => "https://millrace.example/clients/ruby/CHANGELOG.md",
    "documentation_uri" => "https://millrace.example/clients/ruby/README.md",
    "source_code_uri" => "https://millrace.example/clients/ruby",
    "rubygems_mfa_required" => "true"
  }
  spec.files = Dir["{lib,sig}/**/*", "README.md", "CHANGELOG.md", "LICENSE", base: __dir__]
end
