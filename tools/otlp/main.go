// Command otlp takes metrics by OTLP over HTTP at the address of its argument, with the receiver of OpenTelemetry's own
// collector, and prints each batch as a line of JSON, by the collector's own marshaler.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)


func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: otlp ADDRESS:PORT")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	// As its file of configuration would have it.
	given := confmap.NewFromStringMap(map[string]any{
		"protocols": map[string]any{"http": map[string]any{"endpoint": address}},
	})
	if err := given.Unmarshal(config); err != nil {
		return err
	}
	print, err := consumer.NewMetrics(func(_ context.Context, taken pmetric.Metrics) error {
		line, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(taken)
		fmt.Println(string(line))
		return err
	})
	if err != nil {
		return err
	}
	receiver, err := factory.CreateMetrics(ctx, receivertest.NewNopSettings(factory.Type()), config, print)
	if err != nil {
		return err
	}
	if err := receiver.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	<-ctx.Done()
	return receiver.Shutdown(context.Background())
}
