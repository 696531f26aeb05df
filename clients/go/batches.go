package millrace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"
)

var settled = []BatchState{
	BatchStateCompleted, BatchStateFailed, BatchStateCancelled, BatchStateExpired, BatchStatePaused,
}

// Batches has the calls about batches.
type Batches struct {
	transport *transport
}

// Create makes a job of an operation, uploads the lines of source in parts, and completes it. Source is Lines, File
// or Reader; with nil the job stays open for UploadPart and Complete.
//
// When the upload fails, the job stays open, and the error is an *Error with its BatchID.
func (b *Batches) Create(ctx context.Context, params BatchParams, source *Source, options ...CallOption) (*Batch, error) {
	if source != nil && params.Format == "" {
		params.Format = source.format
	}
	batch, err := get[Batch](ctx, b.transport, post("/v1/batches", params).with(options))
	if err != nil || source == nil {
		return batch, err
	}
	completed, err := b.fill(ctx, batch, source)
	if err == nil {
		return completed, nil
	}
	var failed *Error
	if !errors.As(err, &failed) {
		failed = newError("upload", "bad_lines", err.Error(), err)
	}
	failed.BatchID = batch.ID
	return nil, failed
}

func (b *Batches) fill(ctx context.Context, batch *Batch, source *Source) (*Batch, error) {
	number := 0
	for part, err := range parts(source.lines(batch.Format == BatchFormatCSV)) {
		if err != nil {
			return nil, err
		}
		number++
		if _, err := b.upload(ctx, batch.ID, number, part, batch.Format); err != nil {
			return nil, err
		}
	}
	return b.Complete(ctx, batch.ID)
}

// List returns the jobs of the key, the newest first. Params may be nil.
func (b *Batches) List(ctx context.Context, params *ListParams) *Pager[Batch] {
	return listOf[Batch](ctx, b.transport, "/v1/batches", params)
}

// Get returns the job as it is now.
func (b *Batches) Get(ctx context.Context, id string) (*Batch, error) {
	return get[Batch](ctx, b.transport, &request{method: http.MethodGet, path: batchPath(id)})
}

// Update raises the limit of credits. A job that paused at it goes on.
func (b *Batches) Update(ctx context.Context, id string, changes BatchUpdate) (*Batch, error) {
	return get[Batch](ctx, b.transport, &request{method: http.MethodPatch, path: batchPath(id), body: changes})
}

// UploadPart uploads whole lines of NDJSON, at most 64 MiB. The same number again replaces the part.
func (b *Batches) UploadPart(ctx context.Context, id string, number int, content []byte) (*BatchPart, error) {
	return b.upload(ctx, id, number, content, BatchFormatNDJSON)
}

// UploadCSVPart uploads whole lines of a job whose format is CSV.
func (b *Batches) UploadCSVPart(ctx context.Context, id string, number int, content []byte) (*BatchPart, error) {
	return b.upload(ctx, id, number, content, BatchFormatCSV)
}

func (b *Batches) upload(ctx context.Context, id string, number int, content []byte, format BatchFormat) (*BatchPart, error) {
	mediaType := "application/x-ndjson"
	if format == BatchFormatCSV {
		mediaType = "text/csv"
	}
	r := &request{method: http.MethodPut, path: batchPath(id) + "/parts/" + strconv.Itoa(number), content: content}
	r.set("Content-Type", mediaType)
	return get[BatchPart](ctx, b.transport, r)
}

// Complete says that all parts are there: the job begins.
func (b *Batches) Complete(ctx context.Context, id string, options ...CallOption) (*Batch, error) {
	return get[Batch](ctx, b.transport, post(batchPath(id)+"/complete", nil).with(options))
}

// Cancel ends the job.
func (b *Batches) Cancel(ctx context.Context, id string, options ...CallOption) (*Batch, error) {
	return get[Batch](ctx, b.transport, post(batchPath(id)+"/cancel", nil).with(options))
}

// Delete removes a job that has ended, with its results.
func (b *Batches) Delete(ctx context.Context, id string) error {
	return b.transport.call(ctx, &request{method: http.MethodDelete, path: batchPath(id)}, nil)
}

// Wait waits until the job has ended or is paused, at most until the deadline of the context.
func (b *Batches) Wait(ctx context.Context, id string) (*Batch, error) {
	pause := time.Second
	for {
		batch, err := b.Get(ctx, id)
		if err != nil || slices.Contains(settled, batch.State) {
			return batch, err
		}
		if failed := sleep(ctx, fmt.Sprintf("batch %s is %s", id, batch.State), pause); failed != nil {
			return nil, failed
		}
		pause = min(10*time.Second, pause*3/2)
	}
}

// Results streams the results in the order of the input: those of a set, or all when it is empty. A stream that
// breaks off continues by itself.
func (b *Batches) Results(ctx context.Context, id string, set BatchLineStatus) iter.Seq2[*BatchLine, error] {
	r := &request{method: http.MethodGet, path: batchPath(id) + "/results"}
	if set != "" {
		r.query = "set=" + segment(string(set))
	}
	return lines(ctx, b.transport, r, func(line *BatchLine) int64 { return line.Line })
}

func batchPath(id string) string {
	return "/v1/batches/" + segment(id)
}
