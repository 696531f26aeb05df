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
  spec.metadata["rubygems_mfa_required"] = "true"
  spec.files = Dir["{lib,sig}/**/*", "README.md", "CHANGELOG.md", "LICENSE", base: __dir__]
end
