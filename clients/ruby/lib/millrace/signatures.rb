# frozen_string_literal: true

module Millrace
  # A delivery whose signature is right. Its id is the same at each attempt to deliver it: store the ids that you have
  # seen.
  class WebhookEvent < Model
    field :id
    field :type
    field :timestamp
    field :data

    # The record of the type, such as a Signal of "funding.round"; a WebhookTestEvent of a test.
    def [](name)
      value = super
      return value unless name.to_sym == :data && value.is_a?(Hash)

      model = value[:test] == true ? WebhookTestEvent : EVENT_MODELS[type]
      model ? model.new(value) : value
    end
  end

  # The event of a delivery, by Standard Webhooks. Raises WebhookSignatureError unless the service signed it within
  # `tolerance` seconds. Raises ArgumentError without a usable secret or a body: then no delivery could be checked.
  #
  # `body` is the exact bytes that came, not parsed. `headers` are those of Rack, Rails, WEBrick or a hash of your own.
  # `secrets` is "whsec_...", or several while a secret is replaced.
  def self.verify_webhook(body, headers, secrets, tolerance: 300)
    Signatures.verify(body, headers, secrets, tolerance)
  end

  # Signatures of webhook deliveries.
  module Signatures
    NAMES = %w[webhook-id webhook-timestamp webhook-signature].freeze

    module_function

    def verify(body, headers, secrets, tolerance)
      keys = (Array(secrets).empty? ? [""] : Array(secrets)).map { |secret| key(secret) }
      id, timestamp, signatures = required(headers)
      check_time(timestamp, tolerance)
      unless body.is_a?(String) && !body.empty?
        raise ArgumentError, "body: pass the bytes as they came; a framework that has read them leaves none"
      end

      body = body.b
      signed = "#{id}.#{timestamp}.".b + body
      wanted = keys.map { |key| "v1,#{[OpenSSL::HMAC.digest('SHA256', key, signed)].pack('m0')}" }
      fits = signatures.split.product(wanted).map { |one, other| OpenSSL.secure_compare(one, other) }
      raise WebhookSignatureError, "no signature of the delivery fits its body and the secret" if fits.none?

      event(id, body)
    end

    # Rack has a header as HTTP_WEBHOOK_ID.
    def required(headers)
      given = headers.to_h { |name, value| [name.to_s.downcase.tr("_", "-").delete_prefix("http-"), value] }
      NAMES.map do |name|
        value = Array(given[name]).first.to_s
        raise WebhookSignatureError, "the delivery has no header #{name}" if value.empty?

        value
      end
    end

    def check_time(timestamp, tolerance)
      unless timestamp.match?(/\A\d{1,12}\z/)
        raise WebhookSignatureError, "webhook-timestamp is not a whole number of seconds"
      end
      return if (Time.now.to_f - timestamp.to_i).abs <= tolerance

      raise WebhookSignatureError, "webhook-timestamp is more than #{tolerance} seconds away from now"
    end

    def key(secret)
      text = secret.to_s.delete_prefix("whsec_")
      raise ArgumentError, "secrets: the secret is empty" if text.empty?
      raise ArgumentError, "secrets: the secret is not whsec_ and Base64" unless text.match?(%r{\A[A-Za-z0-9+/]+={0,2}\z})

      text.unpack1("m0")
    rescue ArgumentError => e
      raise e.message.start_with?("secrets") ? e : ArgumentError.new("secrets: the secret is not whsec_ and Base64")
    end

    def event(id, body)
      sent = JSON.parse(body.force_encoding(Encoding::UTF_8), symbolize_names: true, freeze: true)
      return WebhookEvent.new(sent.merge(id:)) if sent.is_a?(Hash) && sent[:type].is_a?(String) && sent[:data]

      raise WebhookSignatureError, "the body of the delivery is not an event"
    rescue JSON::ParserError, EncodingError
      raise WebhookSignatureError, "the body of the delivery is not an event", cause: nil
    end
  end

  private_constant :Signatures
end
