package millrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCSVLineEndsOutsideQuotes(t *testing.T) {
	long := `"` + strings.Repeat("x\n", 30_000) + `",1` + "\r\n"
	text := "a,b\r\n\"two\nlines\",\"\"\"quoted\"\"\"\r\n" + long + "last"
	var found []string
	for line, err := range wholeLines(strings.NewReader(text), true) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(line))
	}
	wanted := []string{"a,b\r\n", "\"two\nlines\",\"\"\"quoted\"\"\"\r\n", long, "last\n"}
	if !slices.Equal(found, wanted) {
		t.Errorf("got %d lines, the last %q", len(found), found[len(found)-1])
	}
}

func TestPartsHaveWholeLines(t *testing.T) {
	line := strings.Repeat("y", 1<<20-1) + "\n"
	source := Lines(slices.Values([]string{line, line, line, line, line, strings.Repeat(line, 5)}))
	var sizes []int
	for part, err := range parts(source.lines(false)) {
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(part, []byte("\n")) {
			t.Error("a part ends within a line")
		}
		sizes = append(sizes, len(part)>>20)
	}
	if !slices.Equal(sizes, []int{4, 1, 5}) {
		t.Errorf("parts of %v MiB", sizes)
	}
}

func TestUploadThatFailsNamesItsBatch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"id":"bat_1","format":"ndjson","state":"open"}`)
	}))
	defer server.Close()
	client, err := NewClient(WithAPIKey("key"), WithBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Batches.Create(context.Background(), BatchParams{Operation: BatchOperationVerify}, File("/no/such/file"))
	var failed *Error
	if !errors.As(err, &failed) || failed.BatchID != "bat_1" || failed.Retryable {
		t.Errorf("got %v", err)
	}
}

func TestDeadlineIsATimeoutThatErrorsIsFinds(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	client, err := NewClient(WithAPIKey("key"), WithBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = client.Company(ctx, "acme.example")
	if !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if len(asked) != 1 {
		t.Error("the request did not arrive once")
	}
}

func TestClientNeedsKeyAndAddress(t *testing.T) {
	t.Setenv("MILLRACE_API_KEY", "")
	t.Setenv("MILLRACE_BASE_URL", "")
	for _, options := range [][]Option{
		{WithBaseURL("http://api.example")},
		{WithAPIKey("key")},
		{WithAPIKey("a key"), WithBaseURL("http://api.example")},
		{WithAPIKey("key"), WithBaseURL("http://user@api.example")},
		{WithAPIKey("key"), WithBaseURL("http://api.example?x=1")},
		{WithAPIKey("key"), WithBaseURL("ftp://api.example")},
	} {
		if _, err := NewClient(options...); err == nil {
			t.Error("a client was created")
		}
	}
}
