/**
 * Runs a plugin in a separate gateway and reloads it: checks that the plugin starts, and that a reload leaves nothing
 * behind.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { connect } from "@svc/sdk/client";
import { describeViolations, type Clock, matches, type Plugin } from "@svc/sdk";
import { createGateway, type Gateway, methods, type Staged } from "@svc/host";
import { isLoadable, type PluginFinder, type PluginSource, systemClock } from "@svc/host/local";
import { failed, type Finding, type Problem, unless } from "./findings.ts";
import type { Setups } from "./setups.ts";

/** Params that methods must accept, by method. */
export type Samples = Readonly<Record<string, readonly unknown[]>>;

export interface StartOptions {
  readonly source: PluginSource;
  readonly plugin: Plugin;
  readonly finder: PluginFinder;
  readonly stateDir: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Modules with further kinds of declarations. */
  readonly kinds: readonly string[];
}

export interface TrialOptions extends Omit<StartOptions, "plugin"> {
  readonly setups: Setups;
  readonly samples: Samples;
  /** Number of reloads that must leave everything unchanged. */
  readonly reloads: number;
  /** Called when a check is done. */
  found(finding: Finding): void;
}

/** Number of measurements of heap growth; the smallest result counts. */
const HEAP_ROUNDS = 3;
/** Choice: maximum bytes that a reload may leave behind; far above the normal growth of the engine. */
const BYTES_A_RELOAD = 48 * 1_024;

/** Minimum number of reloads for a meaningful measurement. */
const FEWEST_RELOADS = 10;

/** Kinds of resources that appear and disappear by themselves. */
const FLEETING = /^(Timeout|Immediate|TickObject|FSReq|WriteWrap|ShutdownWrap|GetAddrInfo)/;

/**
 * Starts a gateway with the plugin and the plugins it needs.
 * @returns the declarations of the plugin's latest setup; `undefined` if the plugin was not set up
 */
export async function startTrial(
  { source, plugin, finder, stateDir, config, kinds }: StartOptions,
  clock: Clock,
): Promise<{ readonly gateway: Gateway; latest(): Staged | undefined }> {
  let latest: Staged | undefined;
  const gateway = await createGateway({
    plugins: await providersOf(plugin, finder),
    developed: () => source,
    kinds,
    tap({ conflict }) {
      conflict.tap({ name: "check", stage: -1 }, (staged) => {
        if (staged.plugin.id === plugin.id) latest = staged;
        return undefined as never; // no conflict
      });
    },
    config,
    stateDir,
    env: {},
    port: 0,
    logLevel: "silent",
    checkResults: true,
    drainMs: 200,
    clock,
  });
  return { gateway, latest: () => latest };
}

/** @returns the declarations of the plugin's latest setup; `undefined` if the plugin was not set up */
export async function tryPlugin(options: TrialOptions): Promise<Staged | undefined> {
  const { plugin } = options.setups;
  const { found } = options;
  const clock = countingClock();
  const { gateway, latest } = await startTrial({ ...options, plugin }, clock);
  try {
    const report = gateway.plugins().find(({ id }) => id === plugin.id);
    const why = `the plugin is ${report?.state ?? "not loaded"}: ${report?.reason ?? "no reason given"}`;
    const next = "fix the cause; for a plugin that needs a configuration: svc plugins check --config <file>";
    found({ check: "start", problems: unless(report?.state === "active", failed(why, next)) });
    if (report?.state !== "active") return latest();
    if (Object.keys(options.samples).length > 0)
      found({ check: "results", problems: await resultProblems(gateway, latest(), options) });
    found({ check: "reload", problems: await reloadProblems(gateway, clock, plugin.id, options.reloads) });
    found({ check: "memory", problems: await heapProblems(gateway, plugin.id, options.reloads) });
    return latest();
  } finally {
    await gateway.stop();
  }
}

/**
 * Bundled plugins that provide the services that the plugin requires, recursively; the host provides all other
 * services.
 */
async function providersOf(plugin: Plugin, finder: PluginFinder): Promise<string[]> {
  const needs = ({ requires = {} }: Plugin) =>
    Object.values(requires).flatMap((one) => (one.kind === "service" ? [one.id] : [])); // other kinds are optional
  if (needs(plugin).length === 0) return [];
  const bundle = finder
    .bundle()
    .filter(isLoadable)
    .filter(({ manifest }) => !manifest?.replaces);
  const known = await Promise.all(
    bundle.map(async (source) => ({
      id: source.manifest?.id ?? source.origin,
      code: await source.load().catch(() => undefined),
    })),
  );
  const chosen = new Set<string>();
  const add = (wanted: Plugin) => {
    for (const service of needs(wanted)) {
      const provider = known.find(({ code }) => code?.provides?.some(({ id }) => id === service));
      if (!provider?.code || provider.id === plugin.id || chosen.has(provider.id)) continue;
      chosen.add(provider.id);
      add(provider.code);
    }
  };
  add(plugin);
  return [...chosen];
}

/** Checks that each method with a sample accepts the sample, and returns what the schema of the method says. */
async function resultProblems(
  gateway: Gateway,
  staged: Staged | undefined,
  { samples }: TrialOptions,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const served = staged?.declared.of(methods) ?? [];
  const client = await connectTo(gateway);
  for (const [name, sampled] of Object.entries(samples)) {
    const method = served.find((one) => one.method.name === name)?.method;
    if (!method)
      problems.push(
        failed(`there are samples for ${name}, which the plugin does not serve`, "correct the samples file"),
      );
    for (const params of method ? sampled : []) {
      const answer = await client.request(name, params, { expectFinal: true }).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
      const asked = `${name} with ${JSON.stringify(params)}`;
      if ("error" in answer)
        problems.push(
          failed(`${asked} is refused: ${String(answer.error)}`, "accept the params, or correct the sample"),
        );
      else if (method && !matches(method.result, answer.value))
        problems.push(
          failed(`${asked}: ${describeViolations(method.result, answer.value)}`, "correct the result or its schema"),
        );
    }
  }
  await client.close();
  return problems;
}

function connectTo({ url, auth: { token } }: Gateway) {
  return connect({ url, ...(token === undefined ? {} : { token }) });
}

interface Holdings {
  readonly declared: Readonly<Record<string, number>>;
  readonly timers: number;
  readonly resources: Readonly<Record<string, number>>;
}

async function reloadProblems(gateway: Gateway, clock: CountingClock, id: string, reloads: number): Promise<Problem[]> {
  const client = await connectTo(gateway);
  let closed = 0;
  client.onClose(() => closed++);
  await gateway.reload(id); // the first reload creates everything that is created only once
  const before = await settledHoldings(gateway, clock, undefined);
  for (let round = 0; round < reloads; round++) {
    const { ok, reason, rolledBack } = await gateway.reload(id);
    if (ok) continue;
    const why = `reload ${round + 1} of ${reloads} failed: ${reason ?? "no reason given"}${rolledBack ? " (rolled back)" : ""}`;
    await client.close();
    return [failed(why, "close everything that start opens in the function it returns")];
  }
  const after = await settledHoldings(gateway, clock, before);
  const problems = [
    ...differences("declarations", before.declared, after.declared),
    ...unless(
      after.timers <= before.timers,
      failed(
        `${after.timers - before.timers} timers remain after ${reloads} reloads`,
        "stop them in the stop function of gateway.start, or use gateway.every and gateway.after",
      ),
    ),
    ...differences("open resources", before.resources, after.resources),
    ...unless(closed === 0, failed("a reload closed a connection", "do not close connections of clients")),
  ];
  await client.close();
  return problems;
}

/** Waits until there are no more resources than `before`, or for a limited time. */
async function settledHoldings(
  gateway: Gateway,
  clock: CountingClock,
  before: Holdings | undefined,
): Promise<Holdings> {
  const take = (): Holdings => ({ declared: gateway.holdings(), timers: clock.pending(), resources: resources() });
  let now = take();
  for (let turn = 0; turn < 40; turn++) {
    const isMore =
      before && (now.timers > before.timers || differences("", before.resources, now.resources).length > 0);
    if (before ? !isMore : turn > 3) break;
    await new Promise((resolve) => setTimeout(resolve, 25));
    now = take();
  }
  return now;
}

function differences(
  what: string,
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Problem[] {
  const more = Object.entries(after).filter(([kind, count]) => count > (before[kind] ?? 0));
  const text = more.map(([kind, count]) => `${count - (before[kind] ?? 0)} ${kind}`).join(", ");
  const next = "close everything that start opens in the function it returns";
  return unless(more.length === 0, failed(`reloads leave ${what} behind: ${text}`, next));
}

function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) if (!FLEETING.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

async function heapProblems(gateway: Gateway, id: string, reloads: number): Promise<Problem[]> {
  if (reloads < FEWEST_RELOADS) return []; // the growth of the engine itself would dominate
  const grown: number[] = [];
  let before = await heapUsed();
  for (let round = 0; round < HEAP_ROUNDS; round++) {
    for (let count = 0; count < reloads; count++) await gateway.reload(id);
    const after = await heapUsed();
    grown.push((after - before) / reloads);
    before = after;
  }
  const least = Math.round(Math.min(...grown)); // a leak grows each time; the engine itself does not
  const why = `each reload leaves ${Math.round(least / 1_024)} KiB of heap behind`;
  return unless(
    least <= BYTES_A_RELOAD,
    failed(why, "release in stop what the plugin holds: listeners, and maps and lists outside of setup"),
  );
}

async function heapUsed(): Promise<number> {
  setFlagsFromString("--expose_gc");
  const collect = runInNewContext("gc") as () => void;
  for (let turn = 0; turn < 3; turn++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10)); // finalizers
  }
  return process.memoryUsage().heapUsed;
}

interface CountingClock extends Clock {
  /** Number of pending timers of plugins and the gateway. */
  pending(): number;
}

function countingClock(): CountingClock {
  const waiting = new Set<object>();
  return {
    ...systemClock,
    pending: () => waiting.size,
    setTimeout(callback, ms) {
      const timer = {};
      waiting.add(timer);
      const cancel = systemClock.setTimeout(() => (waiting.delete(timer), callback()), ms);
      return () => (waiting.delete(timer), cancel());
    },
    setInterval(callback, ms) {
      const timer = {};
      waiting.add(timer);
      const cancel = systemClock.setInterval(callback, ms);
      return () => (waiting.delete(timer), cancel());
    },
  };
}
