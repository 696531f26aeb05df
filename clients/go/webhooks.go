package millrace

import (
	"context"
	"net/http"
)

// Webhooks has the calls about webhooks.
type Webhooks struct {
	transport *transport
}

// Create subscribes a URL to an event or several. The secret is shown once, here.
func (w *Webhooks) Create(ctx context.Context, params WebhookParams, options ...CallOption) (*WebhookWithSecret, error) {
	return get[WebhookWithSecret](ctx, w.transport, post("/v1/webhooks", params).with(options))
}

// List returns all webhooks of the key.
func (w *Webhooks) List(ctx context.Context) ([]Webhook, error) {
	found, err := get[WebhookList](ctx, w.transport, &request{method: http.MethodGet, path: "/v1/webhooks"})
	if err != nil {
		return nil, err
	}
	return found.Data, nil
}

// Get returns a webhook, without its secret.
func (w *Webhooks) Get(ctx context.Context, id string) (*Webhook, error) {
	return get[Webhook](ctx, w.transport, &request{method: http.MethodGet, path: webhookPath(id)})
}

// Update replaces URL, Events, Filter or Enabled: those that are not empty.
func (w *Webhooks) Update(ctx context.Context, id string, changes WebhookUpdate) (*Webhook, error) {
	return get[Webhook](ctx, w.transport, &request{method: http.MethodPatch, path: webhookPath(id), body: changes})
}

// Delete removes the webhook and its deliveries.
func (w *Webhooks) Delete(ctx context.Context, id string) error {
	return w.transport.call(ctx, &request{method: http.MethodDelete, path: webhookPath(id)}, nil)
}

// RotateSecret makes a new secret. For 24 hours deliveries are signed with the old one too.
func (w *Webhooks) RotateSecret(ctx context.Context, id string, options ...CallOption) (*WebhookWithSecret, error) {
	return get[WebhookWithSecret](ctx, w.transport, post(webhookPath(id)+"/rotate-secret", nil).with(options))
}

// Test sends a test event at once, and says what the receiver answered.
func (w *Webhooks) Test(ctx context.Context, id string, options ...CallOption) (*WebhookTest, error) {
	return get[WebhookTest](ctx, w.transport, post(webhookPath(id)+"/test", nil).with(options))
}

// ListParams says how a list is read.
type ListParams struct {
	// Limit is the number of items on a page.
	Limit *int `json:"limit,omitempty"`
	// Cursor of the page to begin with; the first one when it is empty.
	Cursor string `json:"cursor,omitempty"`
}

// Deliveries returns past and pending deliveries, the newest first. Params may be nil.
func (w *Webhooks) Deliveries(ctx context.Context, id string, params *ListParams) *Pager[WebhookDelivery] {
	return listOf[WebhookDelivery](ctx, w.transport, webhookPath(id)+"/deliveries", params)
}

// Redeliver sends a delivery again.
func (w *Webhooks) Redeliver(ctx context.Context, id, delivery string, options ...CallOption) (*WebhookDelivery, error) {
	path := webhookPath(id) + "/deliveries/" + segment(delivery) + "/redeliver"
	return get[WebhookDelivery](ctx, w.transport, post(path, nil).with(options))
}

func webhookPath(id string) string {
	return "/v1/webhooks/" + segment(id)
}

func listOf[T any](ctx context.Context, t *transport, path string, params *ListParams) *Pager[T] {
	var list ListParams
	if params != nil {
		list = *params
	}
	return newPager[T](ctx, t, list.Cursor, func(cursor string) *request {
		page := list
		page.Cursor = cursor
		return &request{method: http.MethodGet, path: path, query: queryOf(page)}
	})
}
