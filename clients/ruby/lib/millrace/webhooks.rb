# frozen_string_literal: true

module Millrace
  # The calls about webhooks. The signature of a delivery is checked by Millrace.verify_webhook.
  class Webhooks
    def initialize(transport)
      @transport = transport
    end

    # Subscribes `url` to `event` or `events`. The secret is shown once, here.
    def create(idempotency_key: nil, **params)
      request = Request.new(verb: "POST", path: "/v1/webhooks", body: Requests.body(params), idempotency_key:)
      @transport.record(WebhookWithSecret, request)
    end

    # All webhooks of the key.
    def list
      @transport.record(WebhookList, Request.new(verb: "GET", path: "/v1/webhooks")).data
    end

    # A webhook, without its secret.
    def get(id)
      @transport.record(Webhook, Request.new(verb: "GET", path: path(id)))
    end

    # Replaces `url`, `events`, `filter` or `enabled`.
    def update(id, **changes)
      @transport.record(Webhook, Request.new(verb: "PATCH", path: path(id), body: Requests.body(changes)))
    end

    # Removes the webhook and its deliveries.
    def delete(id)
      @transport.answer(Request.new(verb: "DELETE", path: path(id))) { nil }
    end

    # A new secret. For 24 hours deliveries are signed with the old one too.
    def rotate_secret(id, idempotency_key: nil)
      post(WebhookWithSecret, path(id, "/rotate-secret"), idempotency_key)
    end

    # Sends a test event at once, and says what the receiver answered.
    def test(id, idempotency_key: nil)
      post(WebhookTest, path(id, "/test"), idempotency_key)
    end

    # Past and pending deliveries, the newest first.
    def deliveries(id, limit: nil)
      Pager.new(@transport, WebhookDelivery) do |cursor|
        Request.new(verb: "GET", path: path(id, "/deliveries"), query: Requests.query({ limit:, cursor: }))
      end
    end

    # Sends a delivery again.
    def redeliver(id, delivery, idempotency_key: nil)
      post(WebhookDelivery, path(id, "/deliveries/", delivery, "/redeliver"), idempotency_key)
    end

    private

    def post(model, path, idempotency_key)
      @transport.record(model, Request.new(verb: "POST", path:, idempotency_key:))
    end

    def path(id, *rest)
      Requests.path("/v1/webhooks/", id, *rest)
    end
  end
end
