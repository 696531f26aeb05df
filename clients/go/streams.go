package millrace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"
)

// heartbeatsMissed is the time without any byte after which a live stream is broken: the service sends one every 15 seconds.
const heartbeatsMissed = 45 * time.Second

// Page is one page of a list.
type Page[T any] struct {
	Data []*T
	// NextCursor is empty on the last page.
	NextCursor string
	// Total is how many there are in all, of a search.
	Total int64
}

// Pager is a list that is requested page by page while it is read. Each iteration begins at the first page.
type Pager[T any] struct {
	ctx       context.Context
	transport *transport
	first     string
	request   func(cursor string) *request
}

func newPager[T any](ctx context.Context, t *transport, first string, r func(cursor string) *request) *Pager[T] {
	return &Pager[T]{ctx: ctx, transport: t, first: first, request: r}
}

// All returns an iterator over the items of all pages. An error ends it.
func (p *Pager[T]) All() iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for page, err := range p.Pages() {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// errNoPage is the cause of an answer that is no page of a list.
var errNoPage = errors.New("it has no list of records")

// Pages returns an iterator over the pages. An error ends it.
func (p *Pager[T]) Pages() iter.Seq2[*Page[T], error] {
	type body struct {
		Data *[]*T `json:"data"`
		Meta struct {
			NextCursor string `json:"next_cursor"`
			Total      int64  `json:"total"`
		} `json:"meta"`
	}
	return func(yield func(*Page[T], error) bool) {
		cursor := p.first
		seen := map[string]bool{cursor: true}
		for {
			r := p.request(cursor)
			var found body
			err := p.transport.call(p.ctx, r, func(_ int, _ http.Header, text []byte) error {
				found = body{}
				if err := unmarshal(text, &found); err != nil {
					return err
				}
				if found.Data == nil || slices.Contains(*found.Data, nil) {
					return errNoPage
				}
				return nil
			})
			if err != nil {
				yield(nil, err)
				return
			}
			next := found.Meta.NextCursor
			if next != "" && seen[next] {
				yield(nil, badBody(r.call(), "a page names an earlier one as the next", 200, "", nil))
				return
			}
			if !yield(&Page[T]{Data: *found.Data, NextCursor: next, Total: found.Meta.Total}, nil) || next == "" {
				return
			}
			cursor = next
			seen[cursor] = true
		}
	}
}

// lines reads an NDJSON answer. Number counts a line: with it a broken stream continues behind the last one.
func lines[T any](ctx context.Context, t *transport, r *request, number func(*T) int64) iter.Seq2[*T, error] {
	r.set("Accept", "application/x-ndjson")
	return func(yield func(*T, error) bool) {
		counted := retries{settings: t.settings}
		var last int64
		started, left := false, false
		take := func(line []byte) error {
			record := new(T)
			if err := unmarshal(line, record); err != nil {
				return err
			}
			if number != nil {
				if number(record) <= last {
					return nil
				}
				last = number(record)
			}
			started = true
			counted.restart()
			left = !yield(record, nil)
			if left {
				return errLeft
			}
			return nil
		}
		for {
			failed := t.readLines(ctx, r, t.settings.timeout, take)
			if left || failed == nil {
				return
			}
			if !started || number != nil {
				failed = t.pause(ctx, r, &counted, failed)
			}
			if failed != nil {
				yield(nil, failed)
				return
			}
		}
	}
}

// errLeft ends the reading of a stream that the caller has left.
var errLeft = errors.New("the caller left the stream")

// readLines makes one attempt at an answer, and takes each line that is not empty until take fails.
func (t *transport) readLines(ctx context.Context, r *request, idle time.Duration, take func([]byte) error) *Error {
	found, failed := t.stream(ctx, r, idle)
	if failed != nil {
		return failed
	}
	defer found.close()
	for line, failed := range found.lines() {
		if failed != nil {
			return failed
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := take(line); err != nil {
			return found.bad("a line is not the JSON that was promised", err)
		}
	}
	return nil
}

// lines returns the lines of the body without their ends. A line is valid until the next one.
func (a *answer) lines() iter.Seq2[[]byte, *Error] {
	return func(yield func([]byte, *Error) bool) {
		scanner := bufio.NewScanner(a)
		scanner.Buffer(make([]byte, 0, 64<<10), maxBytes)
		for scanner.Scan() {
			if !yield(scanner.Bytes(), nil) {
				return
			}
		}
		switch err := scanner.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, a.bad("a line is longer than 16 MiB", err))
		case err != nil:
			yield(nil, a.failed(err))
		}
	}
}

// EventStream is signals as they become known, without an end. It connects again by itself, behind the last event.
type EventStream struct {
	ctx       context.Context
	transport *transport
	request   *request
	last      string
}

// LastEventID is that of the last signal that was returned. Pass it to a later stream to continue there.
func (s *EventStream) LastEventID() string {
	return s.last
}

// All returns an iterator over the signals. Leaving it closes the connection; iterating again continues behind the
// last signal. An error ends it. One goroutine at a time may iterate.
func (s *EventStream) All() iter.Seq2[*Signal, error] {
	return func(yield func(*Signal, error) bool) {
		counted := retries{settings: s.transport.settings}
		left := false
		for {
			failed := s.connect(func(signal *Signal) bool {
				counted.restart()
				left = !yield(signal, nil)
				return !left
			})
			if left {
				return
			}
			if failed = s.transport.pause(s.ctx, s.request, &counted, failed); failed != nil {
				yield(nil, failed)
				return
			}
		}
	}
}

// connect reads events of one connection, as the HTML standard says (9.2.6).
func (s *EventStream) connect(take func(*Signal) bool) *Error {
	s.request.set("Accept", "text/event-stream")
	if s.last != "" {
		s.request.set("Last-Event-ID", s.last)
	}
	found, failed := s.transport.stream(s.ctx, s.request, heartbeatsMissed)
	if failed != nil {
		return failed
	}
	defer found.close()
	var data []byte
	id := s.last
	for line, failed := range found.lines() {
		if failed != nil {
			return failed
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "data":
			if len(data)+len(value) > maxBytes {
				return found.bad("an event is longer than 16 MiB", nil)
			}
			data = append(append(data, value...), '\n')
		case name == "id":
			id = value
		case len(line) == 0 && len(data) > 0:
			signal := new(Signal)
			if err := unmarshal(data, signal); err != nil {
				return found.bad("an event is not the JSON that was promised", err)
			}
			data = data[:0]
			s.last = id
			if !take(signal) {
				return nil
			}
		}
	}
	return found.bad("the stream ended", nil)
}
