/** What each plugin costs, as series. Pure. */
import type { PluginMeasures } from "@svc/sdk/plugins";
import { type Family, type Sample, text } from "./exposition.ts";

/** Always told, so that a series is 0 and not gone when its state is left; any other state is told while it lasts. */
const STATES = ["active", "disabled", "blocked", "pending", "failed", "quarantined", "stopped"] as const;

const seconds = (ms: number) => ms / 1_000;

export function pluginSeries(plugins: readonly PluginMeasures[]): Family[] {
  const each = (value: (plugin: PluginMeasures) => number | null): Sample[] =>
    plugins.flatMap((plugin) => {
      const figure = value(plugin);
      return figure === null ? [] : [{ labels: { plugin: plugin.id }, value: figure }];
    });
  const counter = (name: string, help: string, value: (plugin: PluginMeasures) => number): Family => {
    return { name: `svc_plugin_${name}`, help, type: "counter", samples: each(value) };
  };
  const gauge = (name: string, help: string, value: (plugin: PluginMeasures) => number | null): Family => {
    return { name: `svc_plugin_${name}`, help, type: "gauge", samples: each(value) };
  };
  return [
    {
      name: "svc_plugin_info",
      help: "Plugins of this gateway",
      type: "gauge",
      samples: plugins.map(({ id, version }) => ({ labels: { plugin: id, version }, value: 1 })),
    },
    {
      name: "svc_plugin_state",
      help: "1 for the state the plugin is in",
      type: "gauge",
      samples: plugins.flatMap(({ id, state }) =>
        [...new Set([...STATES, state])].map((one) => {
          return { labels: { plugin: id, state: one }, value: one === state ? 1 : 0 };
        }),
      ),
    },
    counter("calls_total", "Methods and routes answered, refusals included", ({ calls }) => calls),
    {
      name: "svc_plugin_call_duration_seconds",
      help: "How long they took",
      type: "histogram",
      samples: plugins.flatMap(durations),
    },
    gauge("calls_under_way", "Calls that are not answered yet", ({ inFlight }) => inFlight),
    counter("errors_total", "Errors charged to the plugin, whatever it was doing", ({ errors }) => errors),
    counter("hook_runs_total", "Runs of its taps", ({ hookRuns }) => hookRuns),
    counter(
      "hook_errors_total",
      "Runs of its taps that failed, or gave no answer in time",
      ({ hookErrors }) => hookErrors,
    ),
    counter("blocks_total", "Times it blocked the event loop for a second or more", ({ blocks }) => blocks),
    gauge("longest_block_seconds", "The longest of them", ({ longestBlockMs }) => seconds(longestBlockMs)),
    gauge("memory_bytes", "Memory of its own thread or process", ({ memoryBytes }) => memoryBytes),
    {
      name: "svc_rpc_calls_total",
      help: "Calls that reached the handler of their method, since they were first called",
      type: "counter",
      samples: plugins.flatMap(methodCalls),
    },
  ];
}

/** A limit of ours is exclusive, Prometheus' is inclusive; nothing takes exactly that long. */
function durations({ id, calls, callsMs, answers }: PluginMeasures): Sample[] {
  const bucket = (limit: number, value: number): Sample => {
    return { suffix: "_bucket", labels: { plugin: id, le: text(limit) }, value };
  };
  return [
    ...answers.map(({ belowMs, calls: below }) => bucket(seconds(belowMs), below)),
    bucket(Number.POSITIVE_INFINITY, calls),
    { suffix: "_sum", labels: { plugin: id }, value: seconds(callsMs) },
    { suffix: "_count", labels: { plugin: id }, value: calls },
  ];
}

/** Only of methods that somebody has called: a gateway has a few hundred, and most are never used. */
function methodCalls({ id, methods }: PluginMeasures): Sample[] {
  return methods
    .filter(({ ok, refused, failed }) => ok + refused + failed > 0)
    .flatMap(({ name, ...outcomes }) =>
      Object.entries(outcomes).map(([outcome, value]) => {
        return { labels: { plugin: id, method: name, outcome }, value };
      }),
    );
}
