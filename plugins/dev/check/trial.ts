/** Runs a plugin in a gateway of its own and reloads it: does it start, does it leave anything behind? */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { connect } from "@svc/sdk/client";
import { describeViolations, type Clock, matches, type Plugin } from "@svc/sdk";
import { createGateway, type Gateway, methods, type Staged } from "@svc/host";
import { isLoadable, type PluginFinder, type PluginSource, systemClock } from "@svc/host/local";
import { failed, type Finding, type Problem, unless } from "./findings.ts";
import type { Setups } from "./setups.ts";

/** Params that must be answered, by method. */
export type Samples = Readonly<Record<string, readonly unknown[]>>;

export interface StartOptions {
  readonly source: PluginSource;
  readonly plugin: Plugin;
  readonly finder: PluginFinder;
  readonly stateDir: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Modules of further kinds of declaration. */
  readonly kinds: readonly string[];
}

export interface TrialOptions extends Omit<StartOptions, "plugin"> {
  readonly setups: Setups;
  readonly samples: Samples;
  /** Reloads that must leave everything as it was. */
  readonly reloads: number;
  /** Told of each check as soon as it is done. */
  found(finding: Finding): void;
}

/** Rounds of reloads over which the heap is measured; the least growth of them counts. */
const HEAP_ROUNDS = 3;
/** Bytes a reload may leave behind. Choice: far above what the engine itself keeps of so few. */
const BYTES_A_RELOAD = 48 * 1_024;

/** Reloads in a round that say something about a leak. */
const FEWEST_RELOADS = 10;

/** Kinds of resources that come and go by themselves. */
const FLEETING = /^(Timeout|Immediate|TickObject|FSReq|WriteWrap|ShutdownWrap|GetAddrInfo)/;

/**
 * Starts a gateway with the plugin and those it needs.
 * @returns also what the latest setup of the plugin declared, `undefined` when it has not been set up
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

/** @returns what its latest setup declared; `undefined`: it has not been set up */
export async function tryPlugin(options: TrialOptions): Promise<Staged | undefined> {
  const { plugin } = options.setups;
  const { found } = options;
  const clock = countingClock();
  const { gateway, latest } = await startTrial({ ...options, plugin }, clock);
  try {
    const report = gateway.plugins().find(({ id }) => id === plugin.id);
    const why = `it is ${report?.state ?? "not there"}: ${report?.reason ?? "no reason given"}`;
    const next = "correct that; for a plugin that needs a configuration: svc plugins check --config <file>";
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

/** Plugins of the bundle that provide what it cannot do without, and what those cannot; others are the host's own. */
async function providersOf(plugin: Plugin, finder: PluginFinder): Promise<string[]> {
  const needs = ({ requires = {} }: Plugin) =>
    Object.values(requires).flatMap((one) => (one.kind === "service" ? [one.id] : [])); // others are optional
  if (needs(plugin).length === 0) return [];
  const bundle = finder.bundle().filter(isLoadable);
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

/** Methods with samples answer them, and what they answer is what they say. */
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
      problems.push(failed(`there are samples for ${name}, which it does not serve`, "correct the file of samples"));
    for (const params of method ? sampled : []) {
      const answer = await client.request(name, params, { expectFinal: true }).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
      const asked = `${name} with ${JSON.stringify(params)}`;
      if ("error" in answer)
        problems.push(failed(`${asked} is refused: ${String(answer.error)}`, "answer it, or correct the sample"));
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
  await gateway.reload(id); // what is made once is made now
  const before = await settledHoldings(gateway, clock, undefined);
  for (let round = 0; round < reloads; round++) {
    const { ok, reason, rolledBack } = await gateway.reload(id);
    if (ok) continue;
    const why = `reload ${round + 1} of ${reloads} failed: ${reason ?? "no reason given"}${rolledBack ? " (rolled back)" : ""}`;
    await client.close();
    return [failed(why, "what start opens, the function it returns must close")];
  }
  const after = await settledHoldings(gateway, clock, before);
  const problems = [
    ...differences("declarations", before.declared, after.declared),
    ...unless(
      after.timers <= before.timers,
      failed(
        `${after.timers - before.timers} timers stay after ${reloads} reloads`,
        "end them in the stop of gateway.start, or use gateway.every and gateway.after",
      ),
    ),
    ...differences("open resources", before.resources, after.resources),
    ...unless(closed === 0, failed("a reload closed a connection", "leave connections alone")),
  ];
  await client.close();
  return problems;
}

/** As soon as there is no more than `before`, else after a while. */
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
  const next = "what start opens, the function it returns must close";
  return unless(more.length === 0, failed(`the reloads leave ${what} behind: ${text}`, next));
}

function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) if (!FLEETING.test(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

async function heapProblems(gateway: Gateway, id: string, reloads: number): Promise<Problem[]> {
  if (reloads < FEWEST_RELOADS) return []; // what the engine learns meanwhile would be all there is to see
  const grown: number[] = [];
  let before = await heapUsed();
  for (let round = 0; round < HEAP_ROUNDS; round++) {
    for (let count = 0; count < reloads; count++) await gateway.reload(id);
    const after = await heapUsed();
    grown.push((after - before) / reloads);
    before = after;
  }
  const least = Math.round(Math.min(...grown)); // a leak grows each time; what the engine learns does not
  const why = `each reload leaves ${Math.round(least / 1_024)} KiB of heap behind`;
  return unless(
    least <= BYTES_A_RELOAD,
    failed(why, "let go of what a generation held: listeners, maps and lists outside of setup"),
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
  /** Timers that plugins and the gateway wait for. */
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
