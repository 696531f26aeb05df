# frozen_string_literal: true

require "json"
require "net/http"
require "openssl"
require "securerandom"
require "set"
require "time"
require "timeout"
require "uri"
require "zlib"

# Client of the Millrace data service: enrich, reveal, verify and search business contacts.
#
#   client = Millrace::Client.new(api_key: "...", base_url: "https://api.example.com")
#   puts client.enrich(email: "ana@acme.example")&.name
#
# Every error of a call is a Millrace::CallError.
module Millrace
end

require_relative "millrace/version"
require_relative "millrace/enums"
require_relative "millrace/errors"
require_relative "millrace/codes"
require_relative "millrace/model"
require_relative "millrace/models"
require_relative "millrace/options"
require_relative "millrace/policy"
require_relative "millrace/requests"
require_relative "millrace/csv_records"
require_relative "millrace/lines"
require_relative "millrace/connections"
require_relative "millrace/transport"
require_relative "millrace/streams"
require_relative "millrace/webhooks"
require_relative "millrace/batches"
require_relative "millrace/signatures"
require_relative "millrace/client"
