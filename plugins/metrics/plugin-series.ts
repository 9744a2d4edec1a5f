/** Series of the resources and calls of each plugin. Pure. */
import type { PluginMeasures } from "@svc/sdk/plugins";
import { type Family, type Sample, text } from "./exposition.ts";

/** Always exported, so that a series becomes 0 and does not vanish; any other state is exported only while it lasts. */
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
      help: "1 for the current state of the plugin, 0 for other states",
      type: "gauge",
      samples: plugins.flatMap(({ id, state }) =>
        [...new Set([...STATES, state])].map((one) => {
          return { labels: { plugin: id, state: one }, value: one === state ? 1 : 0 };
        }),
      ),
    },
    counter("calls_total", "Completed calls of methods and routes, including refusals", ({ calls }) => calls),
    {
      name: "svc_plugin_call_duration_seconds",
      help: "Duration of calls of methods and routes",
      type: "histogram",
      samples: plugins.flatMap(durations),
    },
    gauge("calls_under_way", "Calls in flight", ({ inFlight }) => inFlight),
    counter("errors_total", "Errors attributed to the plugin", ({ errors }) => errors),
    counter("hook_runs_total", "Runs of the plugin's hook handlers", ({ hookRuns }) => hookRuns),
    counter(
      "hook_errors_total",
      "Runs of the plugin's hook handlers that failed or timed out",
      ({ hookErrors }) => hookErrors,
    ),
    counter("blocks_total", "Times the plugin blocked the event loop for at least one second", ({ blocks }) => blocks),
    gauge("longest_block_seconds", "Longest block of the event loop", ({ longestBlockMs }) => seconds(longestBlockMs)),
    gauge("memory_bytes", "Memory of the plugin's own thread or process", ({ memoryBytes }) => memoryBytes),
    {
      name: "svc_rpc_calls_total",
      help: "Calls that reached the handler of their method",
      type: "counter",
      samples: plugins.flatMap(methodCalls),
    },
  ];
}

/** The host's limits are exclusive, those of Prometheus inclusive; no duration is exactly a limit. */
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

/** Series of methods that were called: a gateway has a few hundred methods, and most are never called. */
function methodCalls({ id, methods }: PluginMeasures): Sample[] {
  return methods
    .filter(({ ok, refused, failed }) => ok + refused + failed > 0)
    .flatMap(({ name, ...outcomes }) =>
      Object.entries(outcomes).map(([outcome, value]) => {
        return { labels: { plugin: id, method: name, outcome }, value };
      }),
    );
}
