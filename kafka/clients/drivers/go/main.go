// Drives franz-go: commands are lines of JSON on stdin, events are lines of JSON on stdout. Each `start` is a client of its own.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type command struct {
	ID         int    `json:"id"`
	Do         string `json:"do"`
	Role       string `json:"role"`
	Bootstrap  string `json:"bootstrap"`
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
	Partition  int    `json:"partition"`
	Value      string `json:"value"`
	Backoff    int    `json:"backoff"`
	Timeout    int    `json:"timeout"`
	Rack       string `json:"rack"`
	Reset      string `json:"reset"`
}

var out sync.Mutex

func tell(event map[string]any) {
	text, _ := json.Marshal(event)
	out.Lock()
	defer out.Unlock()
	fmt.Println(string(text))
}

type session struct {
	client *kgo.Client
	cancel context.CancelFunc
}

func options(c command) []kgo.Opt {
	backoff := time.Duration(c.Backoff) * time.Millisecond
	return []kgo.Opt{
		kgo.SeedBrokers(strings.Split(c.Bootstrap, ",")...),
		kgo.MetadataMinAge(backoff),
		kgo.MetadataMaxAge(time.Minute),
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
				tell(map[string]any{"id": id, "event": "truncated", "partition": partition, "offset": loss.ResetTo, "error": err.Error()})
			} else {
				tell(map[string]any{"id": id, "event": "error", "partition": partition, "error": err.Error()})
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			tell(map[string]any{"id": id, "event": "delivered", "partition": r.Partition, "offset": r.Offset, "value": string(r.Value), "epoch": r.LeaderEpoch})
		})
	}
}

func produce(s *session, c command) {
	s.client.Produce(context.Background(), &kgo.Record{Topic: c.Topic, Partition: int32(c.Partition), Value: []byte(c.Value)}, func(r *kgo.Record, err error) {
		if err != nil {
			tell(map[string]any{"id": c.ID, "event": "failed", "partition": r.Partition, "value": c.Value, "error": err.Error()})
		} else {
			tell(map[string]any{"id": c.ID, "event": "acked", "partition": r.Partition, "value": c.Value, "offset": r.Offset})
		}
	})
}

func main() {
	sessions := map[int]*session{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), 1<<20)
	tell(map[string]any{"event": "ready"})
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tell(map[string]any{"event": "broken", "error": err.Error()})
			continue
		}
		switch c.Do {
		case "start":
			make := produceWith
			if c.Role == "consumer" {
				make = consumeWith
			}
			client, err := make(c)
			if err != nil {
				tell(map[string]any{"id": c.ID, "event": "broken", "error": err.Error()})
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			sessions[c.ID] = &session{client, cancel}
			if c.Role == "consumer" {
				go poll(ctx, c.ID, client)
			}
		case "produce":
			if s := sessions[c.ID]; s != nil {
				produce(s, c)
			}
		case "starts_over":
			if s := sessions[c.ID]; s != nil {
				go func() {
					s.client.PurgeTopicsFromClient(c.Topic)
					produce(s, c)
				}()
				for i := 0; i < 8; i++ { // others that it drops, which take their turn after the topic
					time.Sleep(time.Millisecond)
					go s.client.PurgeTopicsFromClient(fmt.Sprintf("other-%d", i))
				}
			}
		default:
			tell(map[string]any{"id": c.ID, "event": "broken", "error": "the driver of franz-go has no " + c.Do})
		case "stop":
			if s := sessions[c.ID]; s != nil {
				delete(sessions, c.ID)
				id := c.ID
				go func() {
					s.cancel()
					s.client.CloseAllowingRebalance()
					tell(map[string]any{"id": id, "event": "stopped"})
				}()
			}
		}
	}
}
