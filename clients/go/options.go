package millrace

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// settings are what a client was created with.
type settings struct {
	apiKey           string
	baseURL          string
	timeout          time.Duration
	maxAttempts      int
	retryDelay       time.Duration
	waitForRateLimit bool
	header           map[string]string
	httpClient       *http.Client
}

// Option changes how a client works.
type Option func(*settings)

// WithAPIKey sets the API key; else it is the environment variable MILLRACE_API_KEY.
func WithAPIKey(key string) Option {
	return func(s *settings) { s.apiKey = key }
}

// WithBaseURL sets the address before /v1; else it is the environment variable MILLRACE_BASE_URL.
func WithBaseURL(address string) Option {
	return func(s *settings) { s.baseURL = address }
}

// WithTimeout bounds the time until a connection is open, until the answer begins, and between two pieces of it.
// It is 30 seconds by default. One attempt takes at most twice as long, except a stream.
func WithTimeout(limit time.Duration) Option {
	return func(s *settings) { s.timeout = limit }
}

// WithMaxAttempts sets the number of attempts of one call, the first included: 4 by default.
func WithMaxAttempts(count int) Option {
	return func(s *settings) { s.maxAttempts = count }
}

// WithRetryDelay sets how long the first pause between two attempts is at most: half a second by default.
func WithRetryDelay(longest time.Duration) Option {
	return func(s *settings) { s.retryDelay = longest }
}

// WithWaitForRateLimit makes a call wait for the quota as long as the service says, up to 15 minutes in all.
func WithWaitForRateLimit() Option {
	return func(s *settings) { s.waitForRateLimit = true }
}

// WithHTTPClient takes the transport of an HTTP client of your own, for a proxy or certificates. Redirects are not
// followed, and its Timeout is not used.
func WithHTTPClient(client *http.Client) Option {
	return func(s *settings) { s.httpClient = client }
}

// WithHeader adds a header to each request. Those of the library win.
func WithHeader(name, value string) Option {
	return func(s *settings) {
		header := maps.Clone(s.header)
		if header == nil {
			header = map[string]string{}
		}
		header[name] = value
		s.header = header
	}
}

func newSettings(options []Option) (*settings, error) {
	s := &settings{
		apiKey:      os.Getenv("MILLRACE_API_KEY"),
		baseURL:     os.Getenv("MILLRACE_BASE_URL"),
		timeout:     30 * time.Second,
		maxAttempts: 4,
		retryDelay:  500 * time.Millisecond,
	}
	return s.with(options)
}

// with returns other settings. It fails when they cannot work.
func (s settings) with(options []Option) (*settings, error) {
	for _, option := range options {
		option(&s)
	}
	if s.apiKey == "" || strings.ContainsFunc(s.apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("millrace: the API key must be printable ASCII without spaces; use WithAPIKey or set MILLRACE_API_KEY")
	}
	address, err := url.Parse(s.baseURL)
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" ||
		address.User != nil || strings.ContainsAny(s.baseURL, "?# ") {
		return nil, errors.New("millrace: the base URL must be http(s)://host without credentials, query or fragment; " +
			"use WithBaseURL or set MILLRACE_BASE_URL")
	}
	s.baseURL = strings.TrimRight(s.baseURL, "/")
	if s.timeout <= 0 || s.maxAttempts < 1 || s.retryDelay < 0 {
		return nil, fmt.Errorf("millrace: the timeout must be above 0 (it is %v), the attempts at least 1 (%d), the delay at least 0 (%v)",
			s.timeout, s.maxAttempts, s.retryDelay)
	}
	return &s, nil
}

// CallOption changes one call.
type CallOption func(*request)

// WithIdempotencyKey sets the Idempotency-Key of a call that is a POST, so that you can repeat the call yourself
// and pay once. Without it each call has a random one.
func WithIdempotencyKey(key string) CallOption {
	return func(r *request) { r.idempotencyKey = key }
}

// WithResponse stores the status, the quota and the credits of the call's last answer. Use it instead of
// Client.LastResponse when goroutines share the client.
func WithResponse(into *LastResponse) CallOption {
	return func(r *request) { r.into = into }
}
