package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"millrace.example/millrace"
	"millrace.example/millrace/internal/lines"
)

// outcomeOf is what a call came to.
func outcomeOf(result any, err error) map[string]any {
	var failed *millrace.Error
	var forged *millrace.WebhookSignatureError
	switch {
	case err == nil:
		return map[string]any{"result": result}
	case errors.As(err, &forged):
		return map[string]any{"error": map[string]any{"code": "signature", "message": err.Error()}}
	case !errors.As(err, &failed):
		return map[string]any{"error": map[string]any{"code": "configuration", "message": err.Error()}}
	default:
		shown := map[string]any{
			"message": err.Error(), "code": failed.Code, "status": failed.Status, "request_id": textOrNil(failed.RequestID),
			"retryable": failed.Retryable, "errors": raw(failed.Errors), "attempts": failed.Attempts,
		}
		if failed.RetryAfter > 0 {
			shown["retry_after"] = failed.RetryAfter.Seconds()
		}
		return map[string]any{"error": shown}
	}
}

// record is an answer of the service.
type record interface{ RawJSON() json.RawMessage }

// raw is the JSON of a record, or of each of a list.
func raw[T record](records []T) []json.RawMessage {
	list := []json.RawMessage{}
	for _, one := range records {
		list = append(list, one.RawJSON())
	}
	return list
}

func one[T record](record T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return record.RawJSON(), nil
}

// found is one, or nothing for a miss.
func found[T record](record T, err error) (any, error) {
	if errors.Is(err, millrace.ErrNoMatch) {
		return nil, nil
	}
	return one(record, err)
}

// all takes items, at most as many as were asked for.
func all[T record](items iter.Seq2[T, error], take int) ([]json.RawMessage, error) {
	list := []json.RawMessage{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		list = append(list, item.RawJSON())
		if len(list) == take {
			break
		}
	}
	return list, nil
}

func call(client *millrace.Client, name string, args map[string]any) (any, error) {
	ctx := context.Background()
	if name == "cancelled" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		timer := time.AfterFunc(duration(args["after"]), cancel)
		defer timer.Stop()
		name, args = args["call"].(string), args["args"].(map[string]any)
	}
	if limit, ok := args["timeout"]; ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, duration(limit))
		defer cancel()
	}
	var options []millrace.CallOption
	if key, ok := args["idempotency_key"].(string); ok {
		options = append(options, millrace.WithIdempotencyKey(key))
	}
	if about, ok := strings.CutPrefix(name, "webhooks."); ok {
		return callWebhooks(ctx, client, about, args, options)
	}
	if about, ok := strings.CutPrefix(name, "batches."); ok {
		return callBatches(ctx, client, about, args, options)
	}
	take := number(args["take"])
	id, _ := args["id"].(string)
	switch name {
	case "describe":
		return forms(client), nil
	case "at_once":
		return atOnce(client, args), nil
	case "csv_records":
		var found [][]int
		for _, text := range texts(args["texts"]) {
			found = append(found, recordLengths(text))
		}
		return found, nil
	case "enrich":
		return found(client.Enrich(ctx, to[millrace.EnrichParams](args), options...))
	case "enrich_bulk":
		return one(client.EnrichBulk(ctx, to[millrace.BulkEnrichParams](args).Requests, options...))
	case "reveal":
		return found(client.Reveal(ctx, to[millrace.RevealParams](args), options...))
	case "verify":
		settings := to[millrace.VerifyOptions](args)
		return one(client.Verify(ctx, args["email"].(string), &settings, options...))
	case "verify_batch":
		settings := to[millrace.VerifyOptions](args)
		return one(client.VerifyBatch(ctx, texts(args["emails"]), &settings, options...))
	case "start_verification":
		return one(client.StartVerification(ctx, texts(args["emails"]), nil, options...))
	case "get_verification":
		done, progress, err := client.GetVerification(ctx, id)
		if done == nil && err == nil {
			return one(progress, err)
		}
		return one(done, err)
	case "wait_for_verification":
		return one(client.WaitForVerification(ctx, id))
	case "search_contacts":
		return all(client.SearchContacts(ctx, to[millrace.ContactFilters](args)).All(), take)
	case "search_contacts.pages":
		return pages(client.SearchContacts(ctx, to[millrace.ContactFilters](args)).Pages(), take)
	case "company":
		return found(client.Company(ctx, args["domain"].(string)))
	case "signals":
		return all(client.Signals(ctx, to[millrace.SignalFilters](args)).All(), take)
	case "export_signals":
		return all(client.ExportSignals(ctx, to[millrace.SignalFilters](args)), take)
	case "stream_signals":
		last, _ := args["last_event_id"].(string)
		stream := client.StreamSignals(ctx, to[millrace.SignalFilters](args), last)
		items, err := all(stream.All(), take)
		return map[string]any{"items": items, "last_event_id": stream.LastEventID()}, err
	case "graphql":
		operation, _ := args["operation_name"].(string)
		params := millrace.GraphQLParams{Query: args["query"].(string), Variables: args["variables"], OperationName: operation}
		return one(client.GraphQL(ctx, params, options...))
	case "health":
		return one(client.Health(ctx))
	case "ready":
		return one(client.Ready(ctx))
	case "openapi":
		return client.OpenAPI(ctx)
	case "verify_webhook":
		header := http.Header{}
		for name, value := range args["headers"].(map[string]any) {
			header[name] = []string{fmt.Sprint(value)}
		}
		event, err := millrace.VerifyWebhook([]byte(args["body"].(string)), header, texts(args["secrets"])...)
		if err != nil {
			return nil, err
		}
		return map[string]any{"id": event.ID, "type": event.Type, "timestamp": event.Timestamp, "data": event.RawData}, nil
	}
	log.Fatalf("no such call: %s", name)
	return nil, nil
}

// atOnce returns the different names that calls at once get.
func atOnce(client *millrace.Client, args map[string]any) []string {
	var all sync.WaitGroup
	names := make([]string, number(args["count"]))
	for i := range names {
		all.Add(1)
		go func() {
			defer all.Done()
			found, err := call(client, args["call"].(string), args["args"].(map[string]any))
			if err != nil {
				names[i] = err.Error()
				return
			}
			names[i], _ = plain(found).(map[string]any)["name"].(string)
		}()
	}
	all.Wait()
	slices.Sort(names)
	return slices.Compact(names)
}

func recordLengths(text string) []int {
	lengths := []int{}
	first := true
	for record, err := range lines.Records(strings.NewReader(text)) {
		if err != nil {
			log.Fatal(err)
		}
		content := strings.TrimSuffix(strings.TrimSuffix(string(record), "\n"), "\r")
		if first {
			content = strings.TrimPrefix(content, "\ufeff")
			first = false
		}
		if strings.Trim(content, " \t") != "" {
			lengths = append(lengths, len(content))
		}
	}
	return lengths
}

func callWebhooks(
	ctx context.Context, client *millrace.Client, name string, args map[string]any, options []millrace.CallOption,
) (any, error) {
	webhooks := client.Webhooks
	id, _ := args["id"].(string)
	switch name {
	case "create":
		return one(webhooks.Create(ctx, to[millrace.WebhookParams](args), options...))
	case "create.describe":
		made, err := webhooks.Create(ctx, to[millrace.WebhookParams](args), options...)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(made)
		return forms(made) + forms(*made) + string(text), err
	case "list":
		list, err := webhooks.List(ctx)
		return raw(list), err
	case "get":
		return one(webhooks.Get(ctx, id))
	case "update":
		return one(webhooks.Update(ctx, id, to[millrace.WebhookUpdate](args)))
	case "delete":
		return nil, webhooks.Delete(ctx, id)
	case "rotate_secret":
		return one(webhooks.RotateSecret(ctx, id, options...))
	case "test":
		return one(webhooks.Test(ctx, id, options...))
	case "deliveries":
		params := to[millrace.ListParams](args)
		return all(webhooks.Deliveries(ctx, id, &params).All(), number(args["take"]))
	case "redeliver":
		return one(webhooks.Redeliver(ctx, id, args["delivery"].(string), options...))
	}
	log.Fatalf("no such call: webhooks.%s", name)
	return nil, nil
}

func callBatches(
	ctx context.Context, client *millrace.Client, name string, args map[string]any, options []millrace.CallOption,
) (any, error) {
	batches := client.Batches
	id, _ := args["id"].(string)
	set, _ := args["set"].(string)
	switch name {
	case "create":
		return one(batches.Create(ctx, to[millrace.BatchParams](args), sourceOf(args), options...))
	case "create_big":
		lines := func(yield func(map[string]string) bool) {
			for i := range number(args["lines"]) {
				line := map[string]string{"custom_id": fmt.Sprintf("%0200d", i), "email": fmt.Sprintf("person%d@nobody.example", i)}
				if !yield(line) {
					return
				}
			}
		}
		return one(batches.Create(ctx, to[millrace.BatchParams](args), millrace.Lines(lines)))
	case "count_results":
		count, last := 0, int64(0)
		for line, err := range batches.Results(ctx, id, "") {
			if err != nil {
				return nil, err
			}
			count, last = count+1, line.Line
		}
		return map[string]any{"count": count, "last": last}, nil
	case "upload_part":
		return one(batches.UploadPart(ctx, id, number(args["number"]), []byte(args["content"].(string))))
	case "complete":
		return one(batches.Complete(ctx, id, options...))
	case "list":
		params := to[millrace.ListParams](args)
		return all(batches.List(ctx, &params).All(), number(args["take"]))
	case "get":
		return one(batches.Get(ctx, id))
	case "update":
		return one(batches.Update(ctx, id, to[millrace.BatchUpdate](args)))
	case "cancel":
		return one(batches.Cancel(ctx, id, options...))
	case "delete":
		return nil, batches.Delete(ctx, id)
	case "wait":
		return one(batches.Wait(ctx, id))
	case "results":
		return all(batches.Results(ctx, id, millrace.BatchLineStatus(set)), number(args["take"]))
	}
	log.Fatalf("no such call: batches.%s", name)
	return nil, nil
}

func sourceOf(args map[string]any) *millrace.Source {
	if path, ok := args["file"].(string); ok {
		return millrace.File(path)
	}
	if lines, ok := args["lines"].([]any); ok {
		return millrace.Lines(slices.Values(lines))
	}
	return nil
}

func pages(source iter.Seq2[*millrace.Page[millrace.Contact], error], take int) (any, error) {
	list := []map[string]any{}
	for page, err := range source {
		if err != nil {
			return nil, err
		}
		list = append(list, map[string]any{"count": len(page.Data), "total": page.Total, "next_cursor": textOrNil(page.NextCursor)})
		if len(list) == take {
			break
		}
	}
	return list, nil
}

// to reads arguments as parameters. A single value stands for a list of one.
func to[T any](args map[string]any) T {
	var params T
	kind := reflect.TypeFor[T]()
	given := map[string]any{}
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		value, ok := args[name]
		if !ok {
			continue
		}
		if _, isList := value.([]any); kind.Field(i).Type.Kind() == reflect.Slice && !isList {
			value = []any{value}
		}
		given[name] = value
	}
	text, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(text, &params)
	}
	if err != nil {
		log.Fatal(err)
	}
	return params
}

func texts(value any) []string {
	list := []string{}
	if items, ok := value.([]any); ok {
		for _, item := range items {
			list = append(list, fmt.Sprint(item))
		}
		return list
	}
	return append(list, fmt.Sprint(value))
}

func number(value any) int {
	given, _ := value.(float64)
	return int(given)
}

// forms are the textual forms that people print.
func forms(value any) string {
	return fmt.Sprintf("%v %+v %#v %s %x %q", value, value, value, value, value, value)
}
