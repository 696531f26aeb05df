// Package millrace is the client of the Millrace data service: enrich, reveal, verify and search business contacts.
//
//	client, err := millrace.NewClient(millrace.WithAPIKey("..."), millrace.WithBaseURL("https://api.example.com"))
//	person, err := client.Enrich(ctx, millrace.EnrichParams{Email: "ana@acme.example"})
//
// A failed call is repeated when that may help. Every error of a call is an [*Error].
package millrace

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// Client is the data service. Goroutines may share it.
type Client struct {
	// Webhooks has the calls about webhooks. The signature of a delivery is checked by VerifyWebhook.
	Webhooks *Webhooks
	// Batches has the calls about batches: files of up to ten million lines.
	Batches *Batches

	transport *transport
}

// NewClient returns a client. It fails without an API key and a base URL; see WithAPIKey and WithBaseURL.
func NewClient(options ...Option) (*Client, error) {
	s, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	return newClient(newTransport(s)), nil
}

// With returns a client with the same connections and a LastResponse of its own, for one call or several. Options are
// WithTimeout, WithMaxAttempts, WithHeader and others; the key, the address and the connections stay.
func (c *Client) With(options ...Option) (*Client, error) {
	s, err := c.transport.settings.with(options)
	if err != nil {
		return nil, err
	}
	s.apiKey, s.baseURL = c.transport.settings.apiKey, c.transport.settings.baseURL
	return newClient(c.transport.with(s)), nil
}

func newClient(t *transport) *Client {
	return &Client{Webhooks: &Webhooks{t}, Batches: &Batches{t}, transport: t}
}

// Close ends the connections that no call uses.
func (c *Client) Close() {
	c.transport.http.CloseIdleConnections()
}

// LastResponse describes the last answer, also that of an error. It is nil before the first answer.
func (c *Client) LastResponse() *LastResponse {
	return c.transport.last.Load()
}

// Format prints the client without its API key, whatever the verb.
func (c *Client) Format(state fmt.State, _ rune) {
	_, _ = fmt.Fprintf(state, "millrace.Client(%s, API key %s)", c.transport.settings.baseURL, mask)
}

// Enrich returns a person by Email, LinkedInURL, Phone, ID, or Name with Domain. Domain alone finds the company.
// The error matches ErrNoMatch when the service knows nobody.
func (c *Client) Enrich(ctx context.Context, params EnrichParams, options ...CallOption) (*Person, error) {
	return get[Person](ctx, c.transport, post("/v1/enrich", params).with(options))
}

// EnrichBulk enriches up to 100 people. The results have the order of the requests.
func (c *Client) EnrichBulk(ctx context.Context, requests []BulkItem, options ...CallOption) (*BulkEnrichment, error) {
	return get[BulkEnrichment](ctx, c.transport, post("/v1/enrich/bulk", BulkEnrichParams{Requests: requests}).with(options))
}

// Reveal returns the address and the number of a person. The error matches ErrNoMatch when the service knows nobody.
func (c *Client) Reveal(ctx context.Context, params RevealParams, options ...CallOption) (*RevealedContact, error) {
	return get[RevealedContact](ctx, c.transport, post("/v1/contacts/reveal", params).with(options))
}

// Verify says whether mail to the address will arrive. Settings may be nil.
func (c *Client) Verify(ctx context.Context, email string, settings *VerifyOptions, options ...CallOption) (*Verification, error) {
	return get[Verification](ctx, c.transport, verification(verifyBody{Email: email}, settings).with(options))
}

// VerifyBatch does the same for up to 1,000 addresses, in their order. Settings may be nil.
func (c *Client) VerifyBatch(
	ctx context.Context, emails []string, settings *VerifyOptions, options ...CallOption,
) (*VerificationBatch, error) {
	return get[VerificationBatch](ctx, c.transport, verification(verifyBody{Emails: emails}, settings).with(options))
}

// StartVerification does the same in the background: mail servers that say "later" are asked again.
// See WaitForVerification. Settings may be nil.
func (c *Client) StartVerification(
	ctx context.Context, emails []string, settings *VerifyOptions, options ...CallOption,
) (*VerificationProgress, error) {
	r := verification(verifyBody{Emails: emails}, settings).with(options)
	r.set("Prefer", "respond-async")
	return get[VerificationProgress](ctx, c.transport, r)
}

// GetVerification returns the results, or how far they are: one of the two is nil.
func (c *Client) GetVerification(ctx context.Context, id string) (*VerificationBatch, *VerificationProgress, error) {
	done, progress, _, err := c.poll(ctx, id)
	return done, progress, err
}

// WaitForVerification waits for the results, at most until the deadline of the context.
func (c *Client) WaitForVerification(ctx context.Context, id string) (*VerificationBatch, error) {
	for {
		done, _, pause, err := c.poll(ctx, id)
		if err != nil || done != nil {
			return done, err
		}
		if failed := sleep(ctx, "GET /v1/emails/verify/"+segment(id), pause); failed != nil {
			return nil, failed
		}
	}
}

func (c *Client) poll(ctx context.Context, id string) (*VerificationBatch, *VerificationProgress, time.Duration, error) {
	var done *VerificationBatch
	var progress *VerificationProgress
	pause := time.Second
	r := &request{method: http.MethodGet, path: "/v1/emails/verify/" + segment(id)}
	err := c.transport.call(ctx, r, func(status int, header http.Header, body []byte) error {
		if status == http.StatusOK {
			done = new(VerificationBatch)
			return unmarshal(body, done)
		}
		pause = min(maxRetryAfter, max(time.Second, retryAfter(header.Get("Retry-After"), header.Get("Date"))))
		progress = new(VerificationProgress)
		return unmarshal(body, progress)
	})
	if err != nil {
		return nil, nil, 0, err
	}
	return done, progress, pause, nil
}

// SearchContacts returns the contacts that match all filters.
func (c *Client) SearchContacts(ctx context.Context, filters ContactFilters) *Pager[Contact] {
	return newPager[Contact](ctx, c.transport, filters.Cursor, func(cursor string) *request {
		page := filters
		page.Cursor = cursor
		query := queryOf(page)
		if len(query) > longestQuery {
			return post("/v1/contacts/search", page)
		}
		return &request{method: http.MethodGet, path: "/v1/contacts/search", query: query}
	})
}

// Company returns the company of a domain. The error matches ErrNoMatch when the service knows none.
func (c *Client) Company(ctx context.Context, domain string, options ...CallOption) (*Company, error) {
	r := &request{method: http.MethodGet, path: "/v1/companies/" + segment(domain)}
	return get[Company](ctx, c.transport, r.with(options))
}

// Signals returns signals, the newest first.
func (c *Client) Signals(ctx context.Context, filters SignalFilters) *Pager[Signal] {
	return newPager[Signal](ctx, c.transport, filters.Cursor, func(cursor string) *request {
		page := filters
		page.Cursor = cursor
		return signals(page)
	})
}

// ExportSignals streams every signal that matches, in the order in which they became known. A stream that breaks
// off is an error: the service cannot continue an export.
func (c *Client) ExportSignals(ctx context.Context, filters SignalFilters) iter.Seq2[*Signal, error] {
	return lines[Signal](ctx, c.transport, signals(filters), nil)
}

// StreamSignals streams signals as they become known, without an end; with Since, first the known ones. It
// continues behind lastEventID, unless that is empty.
func (c *Client) StreamSignals(ctx context.Context, filters SignalFilters, lastEventID string) *EventStream {
	return &EventStream{ctx: ctx, transport: c.transport, request: signals(filters), last: lastEventID}
}

func signals(filters SignalFilters) *request {
	return &request{method: http.MethodGet, path: "/v1/signals", query: queryOf(filters)}
}

// GraphQLParams is a query with its variables, which may be any value that JSON can have.
type GraphQLParams struct {
	Query         string `json:"query"`
	Variables     any    `json:"variables,omitempty"`
	OperationName string `json:"operationName,omitempty"`
}

// GraphQL returns data and errors as they came: a field that fails is not an error of the call.
func (c *Client) GraphQL(ctx context.Context, params GraphQLParams, options ...CallOption) (*GraphQLResponse, error) {
	return get[GraphQLResponse](ctx, c.transport, post("/v1/graphql", params).with(options))
}

// Health says whether the service lives.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return get[Health](ctx, c.transport, &request{method: http.MethodGet, path: "/healthz"})
}

// Ready says whether the service can work, and why not.
func (c *Client) Ready(ctx context.Context) (*Health, error) {
	return get[Health](ctx, c.transport, &request{method: http.MethodGet, path: "/readyz", also: http.StatusServiceUnavailable})
}

// OpenAPI returns the description of the service.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	document, err := get[json.RawMessage](ctx, c.transport, &request{method: http.MethodGet, path: "/openapi.json"})
	if err != nil {
		return nil, err
	}
	return *document, nil
}

func post(path string, body any) *request {
	return &request{method: http.MethodPost, path: path, body: body}
}

type verifyBody struct {
	Email  string   `json:"email,omitempty"`
	Emails []string `json:"emails,omitempty"`
	VerifyOptions
}

// verification is a request whose time limit is long enough for its TimeoutMS.
func verification(body verifyBody, settings *VerifyOptions) *request {
	r := &request{method: http.MethodPost, path: "/v1/emails/verify"}
	if settings != nil {
		body.VerifyOptions = *settings
	}
	if body.TimeoutMS != nil {
		r.timeout = time.Duration(*body.TimeoutMS)*time.Millisecond + 5*time.Second
	}
	r.body = body
	return r
}
