// A driver for franz-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const name = "franz-go"

type session struct {
	client *kgo.Client
	cancel context.CancelFunc
}

func options(c command) []kgo.Opt {
	backoff := time.Duration(c.Backoff) * time.Millisecond
	return []kgo.Opt{
		kgo.SeedBrokers(strings.Split(c.Bootstrap, ",")...),
		kgo.MetadataMinAge(backoff),
		kgo.MetadataMaxAge(time.Duration(c.MaxAge) * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return backoff }),
		kgo.DialTimeout(time.Second),
		kgo.UnknownTopicRetries(-1),
	}
}

func produceWith(c command) (*kgo.Client, error) {
	return kgo.NewClient(append(options(c),
		kgo.DisableIdempotentWrite(),
		kgo.MaxProduceRequestsInflightPerBroker(1),
		kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordDeliveryTimeout(time.Duration(c.Timeout)*time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
}

func consumeWith(c command) (*kgo.Client, error) {
	from := map[int32]kgo.Offset{}
	for p := 0; p < c.Partitions; p++ {
		from[int32(p)] = kgo.NewOffset().At(0)
	}
	reset := kgo.NoResetOffset()
	if c.Reset == "latest" {
		reset = kgo.NewOffset().AtEnd()
	}
	return kgo.NewClient(append(options(c),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.Topic: from}),
		kgo.ConsumeResetOffset(reset),
		kgo.Rack(c.Rack),
		kgo.FetchMaxWait(20*time.Millisecond))...)
}

func poll(ctx context.Context, id int, client *kgo.Client) {
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachError(func(_ string, partition int32, err error) {
			if errors.Is(err, context.Canceled) {
				return
			}
			var loss *kgo.ErrDataLoss
			if errors.As(err, &loss) {
				tell(id, "truncated", map[string]any{"partition": partition, "offset": loss.ResetTo, "error": err.Error()})
			} else {
				tell(id, "error", map[string]any{"partition": partition, "error": err.Error()})
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			tell(id, "delivered", map[string]any{"partition": r.Partition, "offset": r.Offset, "value": string(r.Value), "epoch": r.LeaderEpoch})
		})
	}
}

func produce(s *session, c command) {
	s.client.Produce(context.Background(), &kgo.Record{Topic: c.Topic, Partition: int32(c.Partition), Value: []byte(c.Value)}, func(r *kgo.Record, err error) {
		if err != nil {
			tell(c.ID, "failed", map[string]any{"partition": r.Partition, "value": c.Value, "error": err.Error()})
		} else {
			tell(c.ID, "acked", map[string]any{"partition": r.Partition, "value": c.Value, "offset": r.Offset})
		}
	})
}

func start(c command) (client, error) {
	made := produceWith
	if c.Role == "consumer" {
		made = consumeWith
	}
	own, err := made(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if c.Role == "consumer" {
		go poll(ctx, c.ID, own)
	}
	return &session{own, cancel}, nil
}

func (s *session) serve(c command) bool {
	switch c.Do {
	case "produce":
		produce(s, c)
	case "starts_over":
		go func() {
			s.client.PurgeTopicsFromClient(c.Topic)
			produce(s, c)
		}()
		for i := 0; i < 8; i++ { // other topics to drop, which are processed after the topic
			time.Sleep(time.Millisecond)
			go s.client.PurgeTopicsFromClient(fmt.Sprintf("other-%d", i))
		}
	default:
		return false
	}
	return true
}

func (s *session) stop(id int) {
	s.cancel()
	s.client.CloseAllowingRebalance()
	tell(id, "stopped", nil)
}
