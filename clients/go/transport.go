package millrace

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

var userAgent = "millrace-go/" + Version + " (" + runtime.Version() + ")"

// errTimeLimit is the cause of an attempt that took too long.
var errTimeLimit = errors.New("the time limit passed")

// request is one call. Content is sent as it is, body as JSON.
type request struct {
	method, path   string
	query          string
	body           any
	content        []byte
	header         map[string]string
	idempotencyKey string
	timeout        time.Duration
	// also is a status of 300 and above that is an answer too.
	also int
	into *LastResponse
}

func (r *request) call() string {
	return r.method + " " + r.path
}

func (r *request) with(options []CallOption) *request {
	for _, option := range options {
		option(r)
	}
	return r
}

// transport sends requests: attempts, pauses, time limits, and the reading of answers.
type transport struct {
	settings *settings
	http     *http.Client
	last     atomic.Pointer[LastResponse]
}

func newTransport(s *settings) *transport {
	client := &http.Client{}
	if s.httpClient != nil {
		client.Transport = s.httpClient.Transport
		client.Jar = s.httpClient.Jar
	} else {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.DialContext = (&net.Dialer{}).DialContext
		own.TLSHandshakeTimeout = 0
		own.MaxIdleConns = 0
		own.MaxIdleConnsPerHost = 100
		own.Proxy = proxyOf
		own.IdleConnTimeout = 4 * time.Second
		client.Transport = own
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &transport{settings: s, http: client}
}

// proxyOf is the proxy of the environment. net/http reads all of it but ALL_PROXY, which NO_PROXY bounds too.
func proxyOf(r *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	all := firstOf(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	if proxy != nil || err != nil || all == "" || isExcepted(r.URL.Hostname(), r.URL.Port()) {
		return proxy, err
	}
	return url.Parse(all)
}

// isExcepted says whether NO_PROXY names a host, or a domain above it.
func isExcepted(host, port string) bool {
	if address := net.ParseIP(host); host == "localhost" || address.IsLoopback() {
		return true
	}
	for _, name := range strings.Split(firstOf(os.Getenv("NO_PROXY"), os.Getenv("no_proxy")), ",") {
		name = strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(name), "*"), "."))
		if name != "" && (host == name || strings.HasSuffix(host, "."+name) || host+":"+port == name) {
			return true
		}
	}
	return false
}

// with has the same connections, with other settings and a last answer of its own.
func (t *transport) with(s *settings) *transport {
	return &transport{settings: s, http: t.http}
}

// errNoObject is the cause of an answer that is other JSON than an object.
var errNoObject = errors.New("it is not a JSON object")

// unmarshal reads a JSON object.
func unmarshal(body []byte, into any) error {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return errNoObject
	}
	return json.Unmarshal(body, into)
}

// get returns the JSON object of an answer of 2xx.
func get[T any](ctx context.Context, t *transport, r *request) (*T, error) {
	var found *T
	err := t.call(ctx, r, func(_ int, _ http.Header, body []byte) error {
		found = new(T)
		return unmarshal(body, found)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// call makes attempts until read accepts an answer. Read is nil for a call without one.
func (t *transport) call(ctx context.Context, r *request, read func(int, http.Header, []byte) error) error {
	if err := t.prepare(r); err != nil {
		return err
	}
	counted := retries{settings: t.settings}
	for {
		failed := t.attempt(ctx, r, read)
		if failed == nil {
			return nil
		}
		if failed.Code == ErrNotFound && r.method == http.MethodDelete && counted.sent > 0 {
			return nil
		}
		if failed = t.pause(ctx, r, &counted, failed); failed != nil {
			return failed
		}
	}
}

// pause waits before the next attempt, or returns the error when there is none.
func (t *transport) pause(ctx context.Context, r *request, counted *retries, failed *Error) *Error {
	pause, again := counted.after(failed)
	if !again {
		return failed
	}
	return sleep(ctx, r.call(), pause)
}

func sleep(ctx context.Context, call string, pause time.Duration) *Error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx, call)
	}
}

func (t *transport) prepare(r *request) error {
	if r.body != nil {
		content, err := json.Marshal(r.body)
		if err != nil {
			return fmt.Errorf("millrace: %s: the parameters cannot be written as JSON: %w", r.call(), err)
		}
		r.content = content
		r.set("Content-Type", "application/json")
	}
	if r.method == http.MethodPost && r.idempotencyKey == "" {
		r.idempotencyKey = newUUID()
	}
	return nil
}

func (r *request) set(name, value string) {
	if r.header == nil {
		r.header = map[string]string{}
	}
	r.header[name] = value
}

func (t *transport) attempt(ctx context.Context, r *request, read func(int, http.Header, []byte) error) *Error {
	limit := max(r.timeout, t.settings.timeout)
	answer, failed := t.open(ctx, r, limit, limit, 2*limit)
	if failed != nil {
		return failed
	}
	defer answer.close()
	body, failed := answer.readAll()
	if failed != nil {
		return failed
	}
	if answer.StatusCode >= 300 && answer.StatusCode != r.also {
		return refused(r.call(), answer.StatusCode, answer.Header, body, t.settings.apiKey)
	}
	if read == nil {
		return nil
	}
	if err := read(answer.StatusCode, answer.Header, body); err != nil {
		return answer.bad("the answer is not the JSON that was promised", err)
	}
	return nil
}

// stream makes one attempt at an answer that is read piece by piece. Idle is the longest time between two pieces.
func (t *transport) stream(ctx context.Context, r *request, idle time.Duration) (*answer, *Error) {
	found, failed := t.open(ctx, r, t.settings.timeout, idle, 0)
	if failed != nil {
		return nil, failed
	}
	if found.StatusCode < 300 {
		return found, nil
	}
	defer found.close()
	body, failed := found.readAll()
	if failed != nil {
		return nil, failed
	}
	return nil, refused(r.call(), found.StatusCode, found.Header, body, t.settings.apiKey)
}

// open sends the request and waits for the headers of the answer. Total is the longest time for all of it; 0 is no limit.
func (t *transport) open(ctx context.Context, r *request, limit, idle, total time.Duration) (*answer, *Error) {
	within, cancel := context.WithCancelCause(ctx)
	found := &answer{transport: t, request: r, outer: ctx, inner: within, cancel: cancel, idle: idle}
	found.limit = time.AfterFunc(limit, func() { cancel(errTimeLimit) })
	if total > 0 {
		found.total = time.AfterFunc(total, func() { cancel(errTimeLimit) })
	}
	traced := httptrace.WithClientTrace(within, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { found.limit.Reset(limit) },
	})
	sent, err := http.NewRequestWithContext(traced, r.method, t.settings.baseURL+r.path, nil)
	if err != nil {
		found.close()
		return nil, newError(r.call(), ErrWrongAddress, "the address cannot be requested", nil)
	}
	sent.URL.RawQuery = r.query
	t.fill(sent, r, func() { found.limit.Reset(limit) })
	response, err := t.http.Do(sent)
	if err != nil {
		defer found.close()
		return nil, found.failed(err)
	}
	found.Response = response
	found.limit.Reset(idle)
	last := lastResponse(response, t.settings.apiKey)
	t.last.Store(last)
	if r.into != nil {
		*r.into = *last
	}
	return found, nil
}

// fill sets headers and body. The body cannot be rewound, so that net/http makes no attempt of its own at a POST.
func (t *transport) fill(sent *http.Request, r *request, progress func()) {
	if r.content != nil {
		sent.Body = io.NopCloser(&watched{Reader: bytes.NewReader(r.content), progress: progress})
		sent.ContentLength = int64(len(r.content))
	}
	for name, value := range t.settings.header {
		sent.Header.Set(name, value)
	}
	sent.Header.Set("Authorization", "Bearer "+t.settings.apiKey)
	sent.Header.Set("Accept", "application/json")
	sent.Header.Set("User-Agent", userAgent)
	for name, value := range r.header {
		sent.Header.Set(name, value)
	}
	if r.idempotencyKey != "" && r.method == http.MethodPost {
		sent.Header.Set("Idempotency-Key", r.idempotencyKey)
	}
}

// watched tells when a piece of the body is sent.
type watched struct {
	io.Reader
	progress func()
}

func (w *watched) Read(piece []byte) (int, error) {
	w.progress()
	return w.Reader.Read(piece)
}

// answer is a response whose body is read within time limits.
type answer struct {
	*http.Response
	transport *transport
	request   *request
	// outer is the context of the caller; inner ends with it, and at a time limit.
	outer, inner context.Context
	cancel       context.CancelCauseFunc
	limit, total *time.Timer
	idle         time.Duration
}

// Read reads a piece of the body, and begins the wait for the next.
func (a *answer) Read(piece []byte) (int, error) {
	count, err := a.Body.Read(piece)
	if count > 0 {
		a.limit.Reset(a.idle)
	}
	return count, err
}

func (a *answer) readAll() ([]byte, *Error) {
	body, err := io.ReadAll(io.LimitReader(a, maxBytes+1))
	if err != nil {
		return nil, a.failed(err)
	}
	if len(body) > maxBytes {
		return nil, a.bad(fmt.Sprintf("the answer is larger than %d bytes", maxBytes), nil)
	}
	return body, nil
}

// close ends the connection, unless the body was read to its end.
func (a *answer) close() {
	a.limit.Stop()
	if a.total != nil {
		a.total.Stop()
	}
	a.cancel(nil)
	if a.Response != nil {
		_ = a.Body.Close()
	}
}

// failed is the error that a failure of the connection is.
func (a *answer) failed(err error) *Error {
	var outside *url.Error
	if errors.As(err, &outside) {
		// Its message has the query.
		err = outside.Err
	}
	var network net.Error
	call, words := a.request.call(), redact(err.Error(), a.transport.settings.apiKey)
	switch {
	case a.outer.Err() != nil:
		return ended(a.outer, call)
	case errors.Is(context.Cause(a.inner), errTimeLimit) || (errors.As(err, &network) && network.Timeout()):
		return newError(call, ErrTimeout, "no answer in time", nil)
	case a.Response != nil && a.StatusCode < 300:
		return a.bad("the answer broke off: "+words, err)
	default:
		return newError(call, ErrNetwork, words, err)
	}
}

func (a *answer) bad(detail string, cause error) *Error {
	key := a.transport.settings.apiKey
	return badBody(a.request.call(), redact(detail, key), a.StatusCode, redact(a.Header.Get("X-Request-Id"), key), cause)
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
