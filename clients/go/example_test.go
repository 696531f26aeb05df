package millrace_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace.example/millrace"
)

var (
	ctx    = context.Background()
	client *millrace.Client
)

// TestMain runs the examples against the service of MILLRACE_BASE_URL, which is `millrace serve --sample`. Without it
// they are left out.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("MILLRACE_BASE_URL") == "" {
		fmt.Fprintln(os.Stderr, "SKIPPED: the examples (set MILLRACE_BASE_URL and MILLRACE_API_KEY)")
		if err := flag.Set("test.run", "^Test"); err != nil {
			log.Fatal(err)
		}
	} else {
		var err error
		if client, err = millrace.NewClient(); err != nil {
			log.Fatal(err)
		}
	}
	os.Exit(m.Run())
}

func ExampleClient_Verify() {
	verdict, err := client.Verify(ctx, "imani.irving@gmial.com", &millrace.VerifyOptions{Mode: millrace.VerifyModeSyntax})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdict.Result, verdict.DidYouMean)
	// Output: risky imani.irving@gmail.com
}

func ExampleClient_Company() {
	company, err := client.Company(ctx, "nobody.example")
	switch {
	case errors.Is(err, millrace.ErrNoMatch):
		fmt.Println("not known")
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(company.Name)
	}
	// Output: not known
}

func ExampleClient_Reveal() {
	contact, err := client.Reveal(ctx, millrace.RevealParams{LinkedInURL: "https://profiles.example/in/imani-irving-1001"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(contact.Name, contact.Email)
	// Output: Imani Irving imani.irving@cobalt-materials.example
}

func ExampleClient_SearchContacts() {
	directors := millrace.ContactFilters{Title: []string{"director"}, Country: []string{"FR", "DE"}, HasEmail: millrace.Ptr(true)}
	for contact, err := range client.SearchContacts(ctx, directors).All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(strings.Contains(strings.ToLower(contact.Title), "director"))
		break
	}
	// Output: true
}

func ExampleClient_GraphQL() {
	answer, err := client.GraphQL(ctx, millrace.GraphQLParams{
		Query:     "query ($d: String!) { company(domain: $d) { name } }",
		Variables: map[string]any{"d": "cobalt-materials.example"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer.Data))
	// Output: {"company":{"name":"Cobalt Materials"}}
}

func ExampleError() {
	_, err := client.Enrich(ctx, millrace.EnrichParams{Email: "ana@acme.example", MinLikelihood: millrace.Ptr(300)})
	var failed *millrace.Error
	if errors.Is(err, millrace.ErrValidationFailed) && errors.As(err, &failed) {
		fmt.Println(failed.Status, failed.Errors[0].Pointer, failed.Retryable, failed.Attempts)
	}
	// Output: 422 /min_likelihood false 1
}

func ExampleWithWaitForRateLimit() {
	patient, err := millrace.NewClient(millrace.WithMaxAttempts(2), millrace.WithWaitForRateLimit())
	if err != nil {
		log.Fatal(err)
	}
	defer patient.Close()

	var last millrace.LastResponse
	_, err = patient.Company(ctx, "cobalt-materials.example", millrace.WithResponse(&last))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(last.Status, last.CreditsCharged)
	// Output: 200 1
}

func ExampleClient_StreamSignals() {
	stream := client.StreamSignals(ctx, millrace.SignalFilters{Since: "2000-01-01"}, "")
	for signal, err := range stream.All() { // known ones first, then new ones as they come; it connects again by itself
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(signal.ID != "", stream.LastEventID() != "")
		break
	}
	// Output: true true
}

func ExampleBatches_Create() {
	type lead struct {
		CustomID string `json:"custom_id"`
		Email    string `json:"email"`
	}
	leads := []lead{{"a", "jerome.noel@tundra-logistics.example"}, {"b", "nobody@acme.example"}}
	params := millrace.BatchParams{Operation: millrace.BatchOperationEnrich, Options: map[string]any{"fields": []string{"name"}}}
	batch, err := client.Batches.Create(ctx, params, millrace.Lines(slices.Values(leads)))
	if err != nil {
		log.Fatal(err)
	}

	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if batch, err = client.Batches.Wait(within, batch.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.State, batch.Counts.Succeeded, batch.Counts.NotFound)
	for line, err := range client.Batches.Results(ctx, batch.ID, millrace.BatchLineStatusSucceeded) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(line.CustomID, string(line.Record))
	}
	// Output:
	// completed 1 1
	// a {"name":"Jérôme Noël"}
}

func ExampleWebhooks_Create() {
	webhook, err := client.Webhooks.Create(ctx, millrace.WebhookParams{
		Event: millrace.EventNameFundingRound, URL: "https://hooks.acme.example/millrace",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(webhook.Events, len(webhook.Secret) > 0) // keep the secret: it is shown once
	if err := client.Webhooks.Delete(ctx, webhook.ID); err != nil {
		log.Fatal(err)
	}
	// Output: [funding.round] true
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	event, err := millrace.VerifyWebhook(body, r.Header, os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		http.Error(w, "not signed by the service", http.StatusUnauthorized)
		return
	}
	switch data := event.Data.(type) {
	case *millrace.Signal:
		fmt.Println(data.Type, data.Company.Name)
	case *millrace.WebhookTestEvent:
		fmt.Println("a test")
	}
	w.WriteHeader(http.StatusNoContent)
}

func ExampleVerifyWebhook() {
	answer := httptest.NewRecorder()
	receive(answer, httptest.NewRequest(http.MethodPost, "/millrace", strings.NewReader("{}")))
	fmt.Println(answer.Code)
	// Output: 401
}
