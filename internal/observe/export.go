package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type exporterOptions struct {
	traces, metrics string // URLs; "" = off
	headers         string
	resource        []attribute
	points          *metrics
	timeout         time.Duration
	delay, every    time.Duration
	queue           int
	log             *slog.Logger
}

// exporter sends in the background. Its goroutine starts with the first thing to send; a dead collector costs what doesn't fit
// into the queue, and never time.
type exporter struct {
	exporterOptions
	client *http.Client
	header http.Header

	mu      sync.Mutex
	started bool
	closed  bool
	waiting []spanMessage
	wake    chan struct{}
	end     chan struct{}
	done    chan struct{}
	cancel  context.CancelFunc
	dropped atomic.Int64
	told    atomic.Bool
}

// batchSize is how many spans go into one request.
const batchSize = 512

func newExporter(o exporterOptions) *exporter {
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	e := &exporter{exporterOptions: o, client: &http.Client{}, header: http.Header{"Content-Type": {"application/json"}}}
	for pair := range strings.SplitSeq(o.headers, ",") {
		k, v, ok := strings.Cut(pair, "=")
		if v, err := url.PathUnescape(strings.TrimSpace(v)); ok && err == nil {
			e.header.Set(strings.TrimSpace(k), v)
		}
	}
	e.wake, e.end, e.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	return e
}

func (e *exporter) add(s spanMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.waiting) >= e.queue {
		e.dropped.Add(1)
		return
	}
	e.waiting = append(e.waiting, s)
	e.start()
	if len(e.waiting) >= batchSize {
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
}

// start begins the goroutine. The lock is held.
func (e *exporter) start() {
	if e.started {
		return
	}
	e.started = true
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	go e.work(ctx)
}

func (e *exporter) work(ctx context.Context) {
	defer close(e.done)
	flush := time.NewTicker(e.delay)
	defer flush.Stop()
	measure := time.NewTicker(e.every)
	defer measure.Stop()
	for {
		select {
		case <-e.end:
			e.sendSpans(ctx)
			e.sendMetrics(ctx)
			return
		case <-e.wake:
			e.sendSpans(ctx)
		case <-flush.C:
			e.sendSpans(ctx)
		case <-measure.C:
			e.sendMetrics(ctx)
		}
	}
}

func (e *exporter) take() []spanMessage {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.waiting), batchSize)
	out := e.waiting[:n:n]
	e.waiting = e.waiting[n:]
	return out
}

func (e *exporter) sendSpans(ctx context.Context) {
	for batch := e.take(); len(batch) > 0; batch = e.take() {
		body, err := tracesBody(e.resource, batch)
		if err == nil {
			err = e.post(ctx, e.traces, body)
		}
		if err != nil {
			e.dropped.Add(int64(len(batch)))
			e.complain(err)
			return
		}
	}
}

func (e *exporter) sendMetrics(ctx context.Context) {
	if e.metrics == "" || e.points == nil {
		return
	}
	body, err := e.points.body(e.resource)
	if err == nil && body != nil {
		err = e.post(ctx, e.metrics, body)
	}
	if err != nil {
		e.complain(err)
	}
}

// complain says once that the collector can't be reached.
func (e *exporter) complain(err error) {
	if e.told.CompareAndSwap(false, true) {
		e.log.Warn("telemetry can't be sent; calls go on without it", "error", err)
	}
}

func (e *exporter) post(ctx context.Context, to string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send telemetry: %w", err)
	}
	req.Header = e.header.Clone()
	res, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("send telemetry: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("send telemetry: the collector answered %s", res.Status)
	}
	return nil
}

func (e *exporter) close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	if !e.started && e.points != nil {
		e.start() // metrics are sent at the end, spans or not
	}
	started := e.started
	e.mu.Unlock()
	if !started {
		return nil
	}
	close(e.end)
	defer e.client.CloseIdleConnections()
	select {
	case <-e.done:
		e.cancel()
		return nil
	case <-ctx.Done():
		e.cancel()
		<-e.done
		return errors.Join(errors.New("telemetry was cut off at the end"), context.Cause(ctx))
	}
}
